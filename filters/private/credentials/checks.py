"""Checks of tokens whose characters are right: checksum, parts and randomness."""

import json
from base64 import urlsafe_b64decode
from binascii import Error
from collections import Counter
from math import log2
from zlib import crc32

from winnow.filters.private.credentials.formats import ALNUM, Check

_BASE62 = ALNUM.replace("abcdefghijklmnopqrstuvwxyz", "").replace("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "") + (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
_CHECKSUM = 6
_PREFIX = 4  # of tokens with a checksum
_MIN_BITS = 2.5  # per character of the random part: excludes `xxxxxxxx` and `12121212`
_OPENAI_RANDOM = 20


def entropy(value: str) -> float:
    """Bits per character, by character frequency."""
    counts = Counter(value).values()
    return sum(-count / len(value) * log2(count / len(value)) for count in counts) if value else 0.0


def checksum(random: str) -> str:
    """The checksum after the random part of GitHub's and npm's tokens: its CRC-32 in base 62."""
    number, digits = crc32(random.encode()), ""
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits


def _decoded(part: str) -> bytes | None:
    try:
        return urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4))
    except (Error, ValueError):
        return None


def _claims(part: str) -> dict[str, object] | None:
    try:
        found = json.loads((_decoded(part) or b"").decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def jwt(token: str) -> str | None:
    """The complete parts of a JSON web token: three if signed, five if encrypted; None if it is not one."""
    parts = token.rstrip(".").split(".")
    header = _claims(parts[0])
    if header is None or not header.keys() & {"alg", "typ", "enc"}:
        return None
    if "enc" in header:
        return ".".join(parts[:5]) if len(parts) >= 5 else None
    if len(parts) < 2 or _claims(parts[1]) is None:
        return None
    unsigned = str(header.get("alg", "")).lower() == "none" or len(parts) == 2
    return ".".join(parts[: 2 if unsigned else 3])


def openai(found: str, middle: str) -> str | None:
    """The token from `sk-` on, with twenty letters and digits before and after the fixed text."""
    start = found.find("sk-")
    at = found.find(middle)
    if not 0 <= start < at:
        return None
    before, behind = found[at - _OPENAI_RANDOM : at], found[at + len(middle) :][:_OPENAI_RANDOM]
    return found[start:] if before.isalnum() and behind.isalnum() and len(behind) == _OPENAI_RANDOM else None


def _slack(token: str) -> bool:
    """Numbers and at least one random part, separated by hyphens."""
    parts = token.split("-")[1:]
    return len(parts) >= 2 and parts[0].isdigit() and parts[-1] != "" and (len(parts) > 2 or len(parts[-1]) >= 10)


def _mixed(value: str) -> bool:
    kinds = (str.isdigit, str.islower, str.isupper)
    return all(any(kind(character) for character in value) for kind in kinds) and sum(map(str.isdigit, value)) >= 2


def checked(check: Check, token: str, literal: str) -> str | None:
    """The part of a match that is a token; None if there is none."""
    token = token.rstrip(".")
    if check == "jwt":
        return jwt(token)
    if check == "openai":
        return openai(token, literal)
    if check == "crc":
        random = token[_PREFIX:-_CHECKSUM]
        return token if checksum(random) == token[-_CHECKSUM:] else None
    if check == "slack" and not _slack(token):
        return None
    if check == "mixed" and not _mixed(token[len(literal) :]):
        return None
    if check == "digits_too" and not (any(map(str.isdigit, token[:-4])) and any(map(str.isalpha, token[:-4]))):
        return None
    return token if entropy(token.replace(literal, "", 1)) >= _MIN_BITS else None
