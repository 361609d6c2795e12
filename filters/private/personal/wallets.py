"""Addresses of crypto-currency wallets, told by their checksums.

Base58check (Bitcoin, Litecoin, Dogecoin, Dash, Zcash, Tron) has four bytes of a double SHA-256, bech32 and bech32m
(Bitcoin, Litecoin, Cardano, Cosmos) a code of 30 bits, Monero four bytes of Keccak-256. An Ethereum address has one bit
a letter in its capitals (EIP-55); one in small letters has none, and is taken for its form: `0x` and exactly 40
hexadecimal digits that nothing touches. In capitals alone that is a fingerprint of OpenPGP. One that begins with
sixteen equal digits is nobody's. Addresses without any checksum, such as Solana's, are not looked for: base64 and
hashes look the same.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import glued_after, glued_before
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.growing_spans import FIRST_ROOM, roomier
from winnow.filters.private.personal.keccak import CONSTANTS, STATE_LANES, keccak_256
from winnow.schemas.kernels import kernel, leaf

__all__ = ["wallets"]

_LEAST = 26  # characters of the shortest address
_MOST = 108  # of the longest, a Cardano address
_ETHEREUM = 42
_MONERO = (95, 106)  # an integrated address is longer

_DIGITS58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VERSIONS = {
    b"\x00": 25,  # Bitcoin: 1…
    b"\x05": 25,  # and 3…
    b"\x30": 25,  # Litecoin: L…
    b"\x32": 25,  # and M…
    b"\x1e": 25,  # Dogecoin: D…
    b"\x16": 25,  # and A…, 9…
    b"\x4c": 25,  # Dash: X…
    b"\x41": 25,  # Tron: T…
    b"\x1c\xb8": 26,  # Zcash: t1…
    b"\x1c\xbd": 26,  # and t3…
}
_FIRSTS = frozenset("13LMDA9XTt")
_MONERO_NETWORKS = np.array([18, 19, 42], np.int64)  # standard, integrated, subaddress

_PREFIXES = ("bc", "ltc", "addr", "cosmos")
_LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
_CHECKED_58, _CHECKED_32, _CHECKED_ETHEREUM, _CHECKED_MONERO = 1, 2, 3, 4

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.uint64]


def _values(digits: str) -> npt.NDArray[np.int64]:
    """The value of every byte as a digit; -1 where it is none."""
    values = np.full(256, -1, np.int64)
    for value, digit in enumerate(digits):
        values[ord(digit)] = value
    return values


_VALUES58, _VALUES32 = _values(_DIGITS58), _values(_DIGITS32)
_FIRST_BYTES = np.isin(np.arange(256), [ord(first) for first in sorted(_FIRSTS)])
_PREFIX_BYTES = np.frombuffer("\n".join((*_PREFIXES, "")).encode(), np.uint8).copy()


@leaf  # type: ignore[untyped-decorator]
def _is_alnum(byte: int) -> bool:
    return 48 <= byte <= 57 or 97 <= byte | 32 <= 122


@leaf  # type: ignore[untyped-decorator]
def _is_bech32(text: Bytes, start: int, end: int, prefixes: Bytes, values: Ints) -> bool:
    """Whether a token is of a known prefix and has the right checksum, in letters of one case."""
    case = text[start] & np.uint8(32) ^ np.uint8(32)
    size, first, known = 0, 0, False
    for at in range(len(prefixes)):
        if prefixes[at] != 10:
            continue
        size = at - first
        same = end - start > size + 7 and text[start + size] == 49
        for place in range(size):
            same = same and text[start + place] | case == prefixes[first + place]
        known = same
        if known:
            break
        first = at + 1
    if not known:
        return False
    check = np.int64(1)
    for half in range(2):
        for at in range(start, start + size):
            letter = np.int64(text[at] | case)
            check = _polymod(check, letter >> 5 if half == 0 else letter & 31)
        if half == 0:
            check = _polymod(check, 0)
    for at in range(start + size + 1, end):
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
def _is_ethereum(text: Bytes, start: int, end: int, message: Bytes, state: Lanes, constants: Lanes) -> bool:
    """Whether a token is `0x` and 40 hexadecimal digits, whose capitals, if they are mixed, are those of EIP-55."""
    if end - start != _ETHEREUM or text[start] != 48 or text[start + 1] | 32 != 120:
        return False
    small, large, same = 0, 0, 0
    for place in range(40):
        byte = text[start + 2 + place]
        if 97 <= byte <= 102:
            small += 1
        elif 65 <= byte <= 70:
            large += 1
        elif not 48 <= byte <= 57:
            return False
        same += place < 16 and byte == text[start + 2]
        message[place] = byte | 32 if byte >= 65 else byte
    if same == 16:
        return False
    if large == 0 or small == 0:
        return large == 0
    keccak_256(message, 40, state, constants)
    for place in range(40):
        byte = text[start + 2 + place]
        pair = (state[place // 16] >> np.uint64(8 * (place // 2 % 8))) & np.uint64(255)
        nibble = pair >> np.uint64(4) if place % 2 == 0 else pair & np.uint64(15)
        if byte >= 65 and (byte < 97) != (nibble >= 8):
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _is_monero(
    text: Bytes, start: int, end: int, values: Ints, networks: Ints, message: Bytes, state: Lanes, constants: Lanes
) -> bool:
    """Whether a token is a Monero address: blocks of eleven digits to base 58, each eight bytes, and a shorter one."""
    size = end - start
    if size != _MONERO[0] and size != _MONERO[1]:
        return False
    if text[start] != 52 and text[start] != 56:
        return False
    put = 0
    for first in range(start, end, 11):
        stop = min(first + 11, end)
        octets = 8 if stop - first == 11 else (5 if stop - first == 7 else 7)
        value, over = np.uint64(0), False
        for at in range(first, stop):
            digit = values[text[at]]
            if digit < 0:
                return False
            over = over or bool(value > (_LARGEST - np.uint64(digit)) // np.uint64(58))
            value = value * np.uint64(58) + np.uint64(digit)
        if over or (octets < 8 and value >> np.uint64(8 * octets)):
            return False
        for octet in range(octets):
            message[put + octet] = (value >> np.uint64(8 * (octets - 1 - octet))) & np.uint64(255)
        put += octets
    known = False
    for network in networks:
        known = known or message[0] == network
    if not known:
        return False
    keccak_256(message, put - 4, state, constants)
    same = True
    for at in range(4):
        same = same and message[put - 4 + at] == (state[0] >> np.uint64(8 * at)) & np.uint64(255)
    return same


@leaf  # type: ignore[untyped-decorator]
def _may_be_base58(text: Bytes, start: int, end: int, values: Ints, firsts: npt.NDArray[np.bool_]) -> bool:
    fits = end - start <= 35 and firsts[text[start]]
    at = start
    while fits and at < end:
        fits = values[text[at]] >= 0
        at += 1
    return bool(fits)


@kernel  # type: ignore[untyped-decorator]
def _tokens(
    text: Bytes,
    offsets: Ints,
    values58: Ints,
    values32: Ints,
    firsts: npt.NDArray[np.bool_],
    prefixes: Bytes,
    networks: Ints,
    constants: Lanes,
) -> Ints:
    """The text, start and end of every address, and how it was checked; base58check is left to be."""
    spans, count = np.empty((FIRST_ROOM, 4), np.int64), 0
    message, state = np.zeros(128, np.uint8), np.zeros(STATE_LANES, np.uint64)
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
            if _is_ethereum(text, start, end, message, state, constants):
                checked = _CHECKED_ETHEREUM
            elif _is_bech32(text, start, end, prefixes, values32):
                checked = _CHECKED_32
            elif _is_monero(text, start, end, values58, networks, message, state, constants):
                checked = _CHECKED_MONERO
            elif _may_be_base58(text, start, end, values58, firsts):
                checked = _CHECKED_58
            if checked:
                if count == len(spans):
                    spans = roomier(spans)
                spans[count] = (row, start, end, checked)
                count += 1
    return spans[:count].copy()


def _is_base58check(token: str) -> bool:
    """Whether a token of digits to base 58 has a known version and the right checksum."""
    value = 0
    for digit in token:
        value = 58 * value + _DIGITS58.index(digit)
    zeros = len(token) - len(token.lstrip("1"))
    octets = bytes(zeros) + value.to_bytes((value.bit_length() + 7) // 8, "big")
    if _VERSIONS.get(octets[:1], _VERSIONS.get(octets[:2], 0)) != len(octets):
        return False
    return hashlib.sha256(hashlib.sha256(octets[:-4]).digest()).digest()[:4] == octets[-4:]


def wallets(texts: Texts) -> Detections:
    """The addresses of crypto-currency wallets of every (folded) text."""
    spans = _tokens(
        texts.buffer,
        texts.offsets,
        _VALUES58,
        _VALUES32,
        _FIRST_BYTES,
        _PREFIX_BYTES,
        _MONERO_NETWORKS,
        CONSTANTS,
    )
    right = np.ones(len(spans), np.bool_)
    for number in np.flatnonzero(spans[:, 3] == _CHECKED_58):  # a few of a thousand texts have any
        token = texts.buffer[spans[number, 1] : spans[number, 2]].tobytes().decode()
        right[number] = _is_base58check(token)
    spans = spans[right]
    looked = np.ones(len(texts.offsets) - 1, np.bool_)
    return Detections("crypto_address", spans[:, 0], spans[:, 1], spans[:, 2], looked)
