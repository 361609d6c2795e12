"""The orders in which samples are drawn and exported: hashes of the seed, the purpose and the sample.

A sample's id and the key of a seed and purpose give the state of a SplitMix64 generator (Steele, Lea and Flood 2014);
its output number `copy` is that copy's position. So the positions of a sample's copies differ, whatever the key. Only
integers: the same on any machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import digest
from winnow.schemas.uint128 import Words

_CHUNK = 1 << 14  # rows whose words stay in cache through all rounds
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class Key(NamedTuple):
    """The key of one purpose's order in one store."""

    high: np.uint64
    low: np.uint64


def key_of(seed: int, purpose: str) -> Key:
    """The key of a seed and a purpose, such as "draw"; orders of different keys are independent."""
    raw = digest(seed, purpose)
    return Key(np.uint64(int.from_bytes(raw[:8], "big")), np.uint64(int.from_bytes(raw[8:], "big")))


def draw_order(words: tuple[Words, Words], key: Key) -> Words:
    """The position of each id (of its copy 0).

    Args:
        words: The two words of each id (`winnow.schemas.uint128.words_of`).
        key: The key of the order.
    """
    return _order(words, key, None)


def export_order(words: tuple[Words, Words], key: Key, copies: NDArray[np.uint16]) -> Words:
    """The position of each copy of each id.

    Args:
        words: The two words of each copy's id.
        key: The key of the order.
        copies: Each copy's number.
    """
    return _order(words, key, copies)


def _order(words: tuple[Words, Words], key: Key, copies: NDArray[np.uint16] | None) -> Words:
    high, low = words
    if len(low) != len(high) or (copies is not None and len(copies) != len(high)):
        raise ValueError("expected two words per row and, if given, one copy number")
    order = np.empty(len(high), np.uint64)
    spare = np.empty(min(len(high), _CHUNK), np.uint64)
    # Not hot: one iteration per chunk.
    for start in range(0, len(order), _CHUNK):
        rows = slice(start, start + _CHUNK)
        state = order[rows]
        scratch = spare[: len(state)]
        np.bitwise_xor(high[rows], key.high, out=state)
        _spread(state, scratch)
        np.bitwise_xor(state, low[rows], out=state)
        np.bitwise_xor(state, key.low, out=state)
        _spread(state, scratch)
        np.add(state, _GAMMA, out=state)
        if copies is not None:
            np.multiply(copies[rows], _GAMMA, out=scratch)
            np.add(state, scratch, out=state)
        _spread(state, scratch)
    return order


def _spread(state: Words, scratch: Words) -> None:
    """The finaliser of SplitMix64, in place: a bijection in which every bit affects all others."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        np.right_shift(state, shift, out=scratch)
        np.bitwise_xor(state, scratch, out=state)
        np.multiply(state, factor, out=state)
    np.right_shift(state, _SHIFTS[-1], out=scratch)
    np.bitwise_xor(state, scratch, out=state)
