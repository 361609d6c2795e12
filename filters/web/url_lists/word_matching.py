"""Match words in addresses (host, path and query) with a list's words.

A word is a run of letters and digits after percent-decoding, in lower case. A `word:` entry is one word; of `soft:`
entries two different ones must occur; a `part:` entry may be anywhere once all but letters and digits are removed.
"""

import re
from collections import deque
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.hashes import mixed
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.web.url_lists.entries import Kind, folded
from winnow.filters.web.url_lists.hashing import (
    PLACE_SEED,
    PRINT_SEED,
    Bytes,
    Hashes,
    lowered,
    next_place,
    next_print,
)
from winnow.filters.web.url_lists.index import UrlIndex
from winnow.filters.web.url_lists.scanning import CLASSES, hex_value, scan
from winnow.filters.web.url_lists.table import Starts, holds
from winnow.schemas.kernels import kernel, leaf

NOT_FOLDED = -2

_PORT = re.compile(r"(?<=[^:]):[0-9]*\Z")

_WORD, _SOFT, _PART = int(Kind.WORD), int(Kind.SOFT), int(Kind.PART)
_NONE = -1

Found: TypeAlias = npt.NDArray[np.int32]
"""One row per address: the kind of the matching entry; the starts and ends of the word and of the second one; the
number of the part."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """Finds the first of many parts in one pass over a text (Aho and Corasick, https://doi.org/10.1145/360825.360855).

    `step[state, symbols[byte]]` is the next state, `part[state]` the longest part that ends there or -1.
    """

    symbols: Bytes
    step: npt.NDArray[np.int32]
    part: npt.NDArray[np.int32]


def automaton_of(parts: tuple[str, ...]) -> Automaton:
    """Build the automaton of these parts; duplicates and an empty list are allowed."""
    encoded = [part.encode() for part in parts]
    alphabet = sorted({byte for part in encoded for byte in part})
    symbols = np.zeros(256, np.uint8)
    symbols[alphabet] = np.arange(1, len(alphabet) + 1)
    width = len(alphabet) + 1
    rows = [[0] * width]
    ends = [_NONE]
    for number, part in enumerate(encoded):
        state = 0
        for byte in part:
            symbol = int(symbols[byte])
            if not rows[state][symbol]:
                rows[state][symbol] = len(rows)
                rows.append([0] * width)
                ends.append(_NONE)
            state = rows[state][symbol]
        if part and ends[state] == _NONE:
            ends[state] = number
    step, part_at = np.array(rows, np.int32), np.array(ends, np.int32)
    fallback = np.zeros(len(rows), np.int32)
    waiting = deque(int(state) for state in step[0] if state)
    while waiting:  # by length: a state falls back to the longest shorter one, which is complete by then
        state = waiting.popleft()
        behind = step[fallback[state]]
        if part_at[state] == _NONE:
            part_at[state] = part_at[fallback[state]]
        for symbol in np.flatnonzero(step[state]).tolist():
            child = int(step[state, symbol])
            fallback[child] = behind[symbol]
            waiting.append(child)
        step[state] = np.where(step[state] == 0, behind, step[state])
    return Automaton(symbols, step, part_at)


def word_text(address: str) -> bytes:
    """The words of a canonical address, separated by spaces: kernels read these if the address is not only ASCII."""
    place = address.partition("://")[2]
    authority, slash, rest = place.partition("/")
    host = _PORT.sub("", authority)
    decoded = unquote_to_bytes(slash + rest).decode("utf-8", "replace")
    return folded(".".join(map(_spoken, host.split("."))) + decoded).encode()


def _spoken(label: str) -> str:
    """A host's label in its own script."""
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode().decode("punycode")
    except (UnicodeError, ValueError):
        return label


@leaf  # type: ignore[untyped-decorator]
def _is_foreign(text: Bytes, start: int, end: int) -> bool:
    """Whether a host has a label in another script."""
    for at in range(start, end - 3):
        if (text[at] | 0x20) == 120 and (text[at + 1] | 0x20) == 110 and text[at + 2] == 45 and text[at + 3] == 45:
            return True
    return False


@leaf  # type: ignore[untyped-decorator]
def _is_hex(byte: int) -> bool:
    return 48 <= byte <= 57 or 97 <= (byte | 0x20) <= 102


@kernel  # type: ignore[untyped-decorator]
def _match(
    text: Bytes,
    offsets: npt.NDArray[np.int64],
    canonical: bool,
    folded_already: bool,
    classes: Bytes,
    word_starts: Starts,
    word_prints: Hashes,
    soft_starts: Starts,
    soft_prints: Hashes,
    symbols: Bytes,
    step: npt.NDArray[np.int32],
    part: npt.NDArray[np.int32],
) -> Found:
    rows = len(offsets) - 1
    found = np.full((rows, 6), -1, np.int32)
    words, softs = len(word_prints) > 0, len(soft_prints) > 0
    for row in range(rows):
        first, stop = offsets[row], offsets[row + 1]
        start, end = first, stop
        last = path = stop
        if not folded_already:
            plain, _address, start, last, path, _query, end = scan(text, first, stop, canonical, classes)
            if not plain or _is_foreign(text, start, last):
                found[row, 0] = NOT_FOLDED
                continue
        word_from, soft_from, soft_to, state, part_found = -1, -1, -1, 0, -1
        second_from, second_to, word_to = -1, -1, -1
        soft_place = soft_print = np.uint64(0)
        place, print_ = PLACE_SEED, PRINT_SEED
        at, begun, length = start, start, 0
        foreign = False
        while at <= end:
            here, byte = at, np.uint8(32)
            if at == last and path > last:
                at = path - 1  # a final dot and a port are not words
            elif at < end:
                byte = text[at]
                if (
                    byte == 37
                    and not folded_already
                    and at + 2 < end
                    and _is_hex(text[at + 1])
                    and _is_hex(text[at + 2])
                ):
                    byte = np.uint8(16 * hex_value(text[at + 1]) + hex_value(text[at + 2]))
                    at += 2
                    if byte >= 128:
                        foreign = True
            at += 1
            if byte >= 128 or 48 <= byte <= 57 or 97 <= (byte | 0x20) <= 122:
                if length == 0:
                    begun = here
                length += 1
                byte = lowered(byte)
                place, print_ = next_place(place, byte), next_print(print_, byte)
                state = step[state, symbols[byte]]
                if part_found < 0:
                    part_found = part[state]
            elif length:
                full_place, full_print = mixed(place), mixed(print_)
                if words and word_from < 0 and holds(word_starts, word_prints, full_place, full_print):
                    word_from, word_to = begun, here
                if softs and second_from < 0 and holds(soft_starts, soft_prints, full_place, full_print):
                    if soft_from < 0:
                        soft_from, soft_to, soft_place, soft_print = begun, here, full_place, full_print
                    elif soft_place != full_place or soft_print != full_print:
                        second_from, second_to = begun, here
                place, print_, length = PLACE_SEED, PRINT_SEED, 0
        if foreign:
            found[row, 0] = NOT_FOLDED
        elif word_from >= 0:
            found[row, 0], found[row, 1], found[row, 2] = _WORD, word_from - first, word_to - first
        elif second_from >= 0:
            found[row, 0], found[row, 1], found[row, 2] = _SOFT, soft_from - first, soft_to - first
            found[row, 3], found[row, 4] = second_from - first, second_to - first
        elif part_found >= 0:
            found[row, 0], found[row, 5] = _PART, part_found
    return found


def match_words(index: UrlIndex, automaton: Automaton, urls: Texts, canonical: bool, folded_already: bool) -> Found:
    """Match each address with a list's words.

    Args:
        index: The list.
        automaton: The automaton of its parts.
        urls: The addresses, or their words from `word_text`.
        canonical: Whether they are canonical (`canonical_url`). Otherwise those that are not plain are NOT_FOLDED.
        folded_already: Whether they are words. Otherwise those with non-ASCII letters are NOT_FOLDED.
    """
    word, soft = index.tables["word"], index.tables["soft"]
    found: Found = _match(
        urls.buffer,
        urls.offsets,
        canonical,
        folded_already,
        CLASSES,
        word.starts,
        word.prints,
        soft.starts,
        soft.prints,
        automaton.symbols,
        automaton.step,
        automaton.part,
    )
    return found
