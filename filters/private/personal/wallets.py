"""Addresses of Bitcoin wallets, recognised by their checksums.

Base58check has four bytes of a double SHA-256, bech32 (BIP 173) and bech32m (BIP 350) a code of 30 bits. Addresses of
test networks hold no money and are left out.
"""

import hashlib
import re
from typing import Final

import numpy as np

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.matches import bytes_at, found_at_runs, is_apart

_DIGITS58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VERSIONS: Final = (0, 5)  # P2PKH: 1…, and P2SH: 3…
_OCTETS: Final = 25  # of a version, a hash and a checksum
_GENERATORS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)  # of bech32
_BC: Final = (3, 3, 0, 2, 3)  # `bc`, as BIP 173 expands it
_SUMS: Final = (1, 0x2BC830A3)  # of bech32 and bech32m

_WORD: Final = re.compile(rb"[0-9A-Za-z]{26,90}+")  # 90: BIP 173
_LEAST: Final = 26  # characters
_ALNUM: Final = np.array([chr(byte).isascii() and chr(byte).isalnum() for byte in range(256)])
_BASE58: Final = re.compile(f"[13][{_DIGITS58}]{{25,34}}")
_BECH32: Final = re.compile(f"bc1([{_DIGITS32}]+)")


def _is_bech32(token: str) -> bool:
    """Whether a token begins with `bc1` and has the right checksum, in letters of one case."""
    found = _BECH32.fullmatch(token.lower())
    if found is None or not (token.islower() or (token[0] + token[2:]).isupper()):  # BC1…, and Bc1…
        return False
    check = 1
    for value in (*_BC, *map(_DIGITS32.index, found[1])):
        top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATORS):
            check ^= generator * (top >> bit & 1)
    return check in _SUMS


def _is_base58check(token: str) -> bool:
    """Whether a token is of a version that has addresses, with the right checksum."""
    if not _BASE58.fullmatch(token):
        return False
    value = 0
    for digit in token:
        value = 58 * value + _DIGITS58.index(digit)
    zeros = len(token) - len(token.lstrip("1"))
    octets = bytes(zeros) + value.to_bytes((value.bit_length() + 7) // 8, "big")
    if len(octets) != _OCTETS or octets[0] not in _VERSIONS:
        return False
    return hashlib.sha256(hashlib.sha256(octets[:-4]).digest()).digest()[:4] == octets[-4:]


def _wallet_end(text: bytes, start: int) -> int:
    word = _WORD.match(text, start)
    if word is None or not is_apart(text, *word.span()):
        return -1
    token = word[0].decode()
    return word.end() if _is_bech32(token) or _is_base58check(token) else -1


def wallets(texts: Texts, groups: DigitGroups) -> Detections:
    """The addresses of Bitcoin wallets of every (folded) text."""
    starts = groups.run_starts
    digit, one, two = (bytes_at(texts, starts - before) for before in range(3))
    bech32 = (digit == ord("1")) & (one | 32 == ord("c")) & (two | 32 == ord("b"))
    maybe = bech32 | (digit == ord("1")) | (digit == ord("3"))
    for behind in range(8, _LEAST - 2, 4):  # what is shorter than an address has no letter or digit at one of these
        maybe &= _ALNUM[bytes_at(texts, starts + behind)]
    return found_at_runs("crypto_address", texts, groups, maybe, np.where(bech32, 2, 0), _wallet_end)
