"""How much of each block of a page is in its main content as people wrote it down: the share of its words that align.

The page's words and the reference's are aligned by their longest common subsequence, where a run of neighbours counts
half as much again, so that a menu's word does not take the place of the same word in the text.
"""

import re
from collections import Counter

import numpy as np
import numpy.typing as npt
from numba import njit

Words = npt.NDArray[np.int32]
_WORD = re.compile(r"\w+")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_SIGN_OR_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+")
_RUN = np.float32(1.5)
_MOST_CELLS = 1 << 31


def words_of(text: str, *, signs: bool = False) -> list[str]:
    """The words that the score counts; with `signs`, each character of a script that writes no spaces is one."""
    return (_SIGN_OR_WORD if signs else _WORD).findall(text.lower())


def word_f1(reference: Counter[str], found: Counter[str]) -> float:
    """F1 of two multisets of words; two empty ones are equal."""
    both = reference.total() + found.total()
    return 2 * (reference & found).total() / both if both else 1.0


@njit(cache=True, nogil=True)
def _aligned(page, reference):  # type: ignore[no-untyped-def]
    n, m = len(page), len(reference)
    best = np.zeros((2, m + 1), np.float32)
    matched = np.full((2, m + 1), np.float32(-1e9))  # the best that ends with a pair
    came = np.zeros((n + 1, m + 1), np.uint8)  # 1: skip of the page, 2: of the reference, 3: a pair; 4: after a pair
    for i in range(1, n + 1):
        now, before = i & 1, 1 - (i & 1)
        for j in range(1, m + 1):
            pair, follows = np.float32(-1e9), False
            if page[i - 1] == reference[j - 1]:
                alone, run = best[before, j - 1] + 1, matched[before, j - 1] + _RUN
                follows = run >= alone
                pair = max(alone, run)
            matched[now, j] = pair
            value, move = best[before, j], 1
            if best[now, j - 1] > value:
                value, move = best[now, j - 1], 2
            if pair >= value and pair > 0:
                value, move = pair, 3
            best[now, j] = value
            came[i, j] = move | (4 if follows else 0)
    covered = np.zeros(n, np.bool_)
    i, j, forced = n, m, False
    while i > 0 and j > 0:
        move = came[i, j]
        if forced or move & 3 == 3:
            covered[i - 1] = True
            forced = move & 4 != 0
            i, j = i - 1, j - 1
        elif move & 3 == 1:
            i -= 1
        else:
            j -= 1
    return covered


def block_shares(blocks: list[list[str]], reference: list[str]) -> npt.NDArray[np.float32]:
    """The share of each block's words that align with the reference; 0 for a block without words."""
    numbers: dict[str, int] = {}
    wanted = np.array([numbers.setdefault(word, len(numbers)) for word in reference], np.int32)
    known = [np.array([numbers.get(word, -1) for word in words], np.int32) for words in blocks]
    ends = np.cumsum([len(words) for words in known])
    every = np.concatenate(known) if known else np.zeros(0, np.int32)
    shares = np.zeros(len(blocks), np.float32)
    kept = np.flatnonzero(every >= 0)
    if not len(kept) or not len(wanted):
        return shares
    gaps = np.flatnonzero(np.diff(kept) > 1) + 1
    line = np.insert(every[kept], gaps, -1)  # where words are missing, a run ends
    covered = np.zeros(len(every), np.bool_)
    if len(line) * len(wanted) <= _MOST_CELLS:
        covered[kept] = _aligned(line, wanted)[line >= 0]
    begin = 0
    for place, end in enumerate(ends):
        if end > begin:
            shares[place] = covered[begin:end].mean()
        begin = end
    return shares
