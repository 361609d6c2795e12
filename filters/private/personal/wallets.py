"""Addresses of Bitcoin wallets, recognised by their checksums.

Base58check has four bytes of a double SHA-256, bech32 (BIP 173) and bech32m (BIP 350) a code of 30 bits. Addresses of
test networks hold no money and are left out.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import glued_after, glued_before
from winnow.filters.private.personal.detections import FIRST_ROOM, Detections, roomier
from winnow.schemas.kernels import kernel, leaf

__all__ = ["wallets"]

_LEAST = 26  # characters of the shortest address
_MOST = 90  # of the longest: BIP 173

_DIGITS58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VERSIONS = (0, 5)  # P2PKH: 1…, and P2SH: 3…
_OCTETS = 25  # of a version, a hash and a checksum
_CHECKED_58, _CHECKED_32 = 1, 2

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


def _values(digits: str) -> npt.NDArray[np.int64]:
    """The value of every byte as a digit; -1 where it is none."""
    values = np.full(256, -1, np.int64)
    for value, digit in enumerate(digits):
        values[ord(digit)] = value
    return values


_VALUES58, _VALUES32 = _values(_DIGITS58), _values(_DIGITS32)


@leaf  # type: ignore[untyped-decorator]
def _is_alnum(byte: int) -> bool:
    return 48 <= byte <= 57 or 97 <= byte | 32 <= 122


@leaf  # type: ignore[untyped-decorator]
def _is_bech32(text: Bytes, start: int, end: int, values: Ints) -> bool:
    """Whether a token begins with `bc1` and has the right checksum, in letters of one case."""
    case = text[start] & np.uint8(32) ^ np.uint8(32)  # what makes a letter of the token a small one
    if text[start] | case != 98 or text[start + 1] | case != 99 or text[start + 2] != 49:
        return False
    check = np.int64(1)
    for value in (3, 3, 0, 2, 3):  # `bc`, as BIP 173 expands it
        check = _polymod(check, value)
    for at in range(start + 3, end):
        byte = text[at]
        if byte >= 65 and byte & 32 != case ^ 32:
            return False
        value = values[byte | case] if byte >= 65 else values[byte]
        if value < 0:
            return False
        check = _polymod(check, value)
    return bool(check == 1 or check == 0x2BC830A3)


@leaf  # type: ignore[untyped-decorator]
def _polymod(check: int, value: int) -> int:
    top = check >> 25
    check = (check & 0x1FFFFFF) << 5 ^ value
    if top & 1:
        check ^= 0x3B6A57B2
    if top & 2:
        check ^= 0x26508E6D
    if top & 4:
        check ^= 0x1EA119FA
    if top & 8:
        check ^= 0x3D4233DD
    if top & 16:
        check ^= 0x2A1462B3
    return check


@leaf  # type: ignore[untyped-decorator]
def _may_be_base58(text: Bytes, start: int, end: int, values: Ints) -> bool:
    fits = end - start <= 35 and (text[start] == 49 or text[start] == 51)
    at = start
    while fits and at < end:
        fits = values[text[at]] >= 0
        at += 1
    return bool(fits)


@kernel  # type: ignore[untyped-decorator]
def _tokens(text: Bytes, offsets: Ints, values58: Ints, values32: Ints) -> Ints:
    """The text, start and end of every address, and how it was checked; base58check is left to be."""
    spans, count = np.empty((FIRST_ROOM, 4), np.int64), 0
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        at = low
        while at + _LEAST <= high:
            # A word shorter than an address ends within: the last place where it can is looked at first.
            last = at + _LEAST - 1
            while last >= at and _is_alnum(text[last]):
                last -= 1
            if last >= at:
                at = last + 1
                continue
            end = at + _LEAST
            while end < high and _is_alnum(text[end]):
                end += 1
            start, at = at, end + 1
            if end - start > _MOST or glued_before(text, low, start) or glued_after(text, end, high):
                continue
            checked = 0
            if _is_bech32(text, start, end, values32):
                checked = _CHECKED_32
            elif _may_be_base58(text, start, end, values58):
                checked = _CHECKED_58
            if checked:
                if count == len(spans):
                    spans = roomier(spans)
                spans[count] = (row, start, end, checked)
                count += 1
    return spans[:count].copy()


def _is_base58check(token: str) -> bool:
    """Whether a token of digits to base 58 is of a version that has addresses, with the right checksum."""
    value = 0
    for digit in token:
        value = 58 * value + _DIGITS58.index(digit)
    zeros = len(token) - len(token.lstrip("1"))
    octets = bytes(zeros) + value.to_bytes((value.bit_length() + 7) // 8, "big")
    if len(octets) != _OCTETS or octets[0] not in _VERSIONS:
        return False
    return hashlib.sha256(hashlib.sha256(octets[:-4]).digest()).digest()[:4] == octets[-4:]


def wallets(texts: Texts) -> Detections:
    """The addresses of Bitcoin wallets of every (folded) text."""
    spans = _tokens(texts.buffer, texts.offsets, _VALUES58, _VALUES32)
    right = np.ones(len(spans), np.bool_)
    for number in np.flatnonzero(spans[:, 3] == _CHECKED_58):  # a few of a thousand texts have any
        token = texts.buffer[spans[number, 1] : spans[number, 2]].tobytes().decode()
        right[number] = _is_base58check(token)
    spans = spans[right]
    searched = np.ones(len(texts.offsets) - 1, np.bool_)
    return Detections("crypto_address", spans[:, 0], spans[:, 1], spans[:, 2], searched)
