"""What a text looks like beside its n-grams: code, numbers, repeats and texts decoded wrongly show in it."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import (
    ALPHA,
    LOWER,
    MARK,
    SPACE,
    UPPER,
    decode,
    flags_by_point,
    width,
)
from winnow.schemas.kernels import kernel

MOST_CHARACTERS = 2_000
"""Of a text's beginning."""
SHAPES = ("letters", "signs", "flips", "repeats", "rare")
_LETTER, _SIGN, _UPPER, _LOWER, _SPACE, _MARK, _RARE = 1, 2, 4, 8, 16, 32, 64
_SIGNS = "{}[]()=;_<>#$/\\|+*&%^~@`"
_RARE_SIGNS = "¡¢£¤¥¦§¨©ª«¬­®¯°±²³´µ¶·¸¹º»¼½¾¿†‡•‰€™ƒ˜ˆ�‹›"
_PAIRS = 4_096  # slots for pairs of characters


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.uint8]:
    flags = flags_by_point()
    kinds = np.zeros(len(flags), np.uint8)
    for flag, kind in ((ALPHA, _LETTER), (UPPER, _UPPER), (LOWER, _LOWER), (SPACE, _SPACE), (MARK, _LETTER)):
        kinds[(flags & flag) != 0] |= kind
    for signs, kind in ((_SIGNS, _SIGN), (_RARE_SIGNS, _RARE)):
        kinds[[ord(sign) for sign in signs]] |= kind
    return kinds


def shapes(
    buffer: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """For each text the shares of `SHAPES`.

    `letters`, `signs` and `rare` are shares of the characters that are not spaces; `rare` are signs that texts decoded
    wrongly are full of. `flips` is the share of pairs of letters that go from lower case to upper case inside a word;
    `repeats` the share of runs of four characters that are those of sixteen characters or less before.
    """
    return _shapes(buffer, starts, ends, _kinds())  # type: ignore[no-any-return]


@kernel
def _shapes(buffer, starts, ends, kinds):  # type: ignore[no-untyped-def]
    found = np.zeros((len(starts), 5), np.float64)
    seen = np.full(_PAIRS, -1, np.int64)
    written = np.zeros(_PAIRS, np.int64)
    for text in range(len(starts)):
        seen[:] = -1
        at, characters, dense, letters, signs, rare, pairs, flips, repeats = starts[text], 0, 0, 0, 0, 0, 0, 0, 0
        last, run = 0, 0
        while at < ends[text] and characters < MOST_CHARACTERS:
            point = decode(buffer, at)
            at += width(buffer[at])
            kind = kinds[point]
            characters += 1
            if not kind & _SPACE:
                dense += 1
            letters += kind & _LETTER
            signs += (kind & _SIGN) >> 1
            rare += (kind & _RARE) >> 6
            if kind & _LETTER and last & _LETTER:
                pairs += 1
                if kind & _UPPER and last & _LOWER:
                    flips += 1
            last = kind
            run = (run << 8 ^ (point * 0x9E37 & 0xFFFF) >> 4) & 0xFFFFFFFF  # of four characters: older ones are gone
            slot = (run * 0x9E3779B1 >> 20) & (_PAIRS - 1)
            if seen[slot] >= 0 and written[slot] == run and characters - seen[slot] <= 16:
                repeats += 1
            seen[slot], written[slot] = characters, run
        whole = max(dense, 1)
        found[text, 0] = letters / whole
        found[text, 1] = signs / whole
        found[text, 2] = flips / max(pairs, 1)
        found[text, 3] = repeats / max(characters, 1)
        found[text, 4] = rare / whole
    return found
