"""Shingles (runs of units of the normal form) and the functions that hash them.

A shingle's bytes are its units in UTF-8, with one space between words and nothing between characters; a text with fewer
units is one shingle. `words64` and `characters64` are the hash functions, `words32` and `characters32`
their upper halves. `winnow.filters.duplicates.shingle_hashes` gives the same numbers without making the bytes.

A unit is hashed eight bytes at a time: an ASCII code point is one byte with its sixth bit set, others are three bytes.
Stacked marks are added, so that their order does not matter. A shingle's hash is a polynomial of its units' hashes,
which rolls along the text.
"""

from winnow.filters.duplicates.normal_form import Unit, is_stacked, stacks, units_of

MOST_UNITS = 64
"""The most units in a shingle."""

SEED = 0x243F6A8885A308D3
MULTIPLIERS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
POWER = 0xE7037ED1A0B428DB
LONG = 1 << 23  # set in the three bytes of a code point outside ASCII

_K1, _K2, _K3 = MULTIPLIERS
_MASK = (1 << 64) - 1


def words64(shingle: bytes) -> int:
    """The 64 bits of a shingle of words."""
    return _shingle_hash(shingle.decode().split(" "))


def words32(shingle: bytes) -> int:
    """The 32 bits of a shingle of words, used in signatures."""
    return words64(shingle) >> 32


def characters64(shingle: bytes) -> int:
    """The 64 bits of a shingle of characters."""
    return _shingle_hash(stacks(shingle.decode()))


def characters32(shingle: bytes) -> int:
    """The 32 bits of a shingle of characters."""
    return characters64(shingle) >> 32


def shingles_of(text: str, unit: Unit, size: int) -> list[bytes]:
    """A text's shingles in order, as the kernels see them, for other libraries."""
    units = units_of(text, unit)
    between = " " if unit == "words" else ""
    count = max(len(units) - size + 1, 1) if units else 0
    return [between.join(units[first : first + size]).encode() for first in range(count)]


def power_of(size: int) -> int:
    """The factor of the unit that leaves a shingle's rolling hash."""
    if not 1 <= size <= MOST_UNITS:
        raise ValueError(f"a shingle has 1 to {MOST_UNITS} units, not {size}")
    return pow(POWER, size, 1 << 64)


def _step_of(state: int, eight: int) -> int:
    state = (state ^ eight) * _K1 & _MASK
    return state ^ state >> 32


def _stirred_of(value: int) -> int:
    value = (value ^ value >> 32) * _K2 & _MASK
    value = (value ^ value >> 29) * _K3 & _MASK
    return value ^ value >> 32


def _unit_hash(unit: str) -> int:
    data = bytearray()
    marks = 0
    for one in unit:
        point = ord(one)
        if is_stacked(one):
            marks += _stirred_of(point << 32 ^ len(data))
        else:
            data += bytes([point | 0x20]) if point < 0x80 else (point | LONG).to_bytes(3, "little")
    state = SEED
    for at in range(0, len(data) + 1, 8):  # a whole number of eights is followed by none
        state = _step_of(state, int.from_bytes(data[at : at + 8], "little"))
    return (state + marks) & _MASK


def _shingle_hash(units: list[str]) -> int:
    rolled = 0
    for unit in units:
        rolled = (rolled * POWER + _unit_hash(unit)) & _MASK
    return _stirred_of(rolled)
