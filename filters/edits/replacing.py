"""Replacements of spans: a placeholder for the kind, or a pseudonym of the value.

A pseudonym is a keyed hash: under one key the same value of a kind gives the same pseudonym in every document and run;
pseudonyms under different keys are unrelated. Without the key one can be neither reversed nor recomputed. With the key
all phone numbers can be tried, so the key must be protected like the data.
"""

import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from winnow.filters.language.folding import fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.personal.hosts import AT, DOT

MIN_KEY_BYTES = 16
_DIGITS = 12  # hexadecimal: with a million values, about one in 500 runs has a collision
_MAX_KEY = 64  # of blake2b
_PSEUDONYM, _CHECK = b"winnow-edits", b"winnow-key-check"


class Replacement(Protocol):
    """Replaces spans."""

    def written(self, kinds: Sequence[str], values: Sequence[str]) -> list[str]:
        """The replacement text of each value, given its kind."""


_NAMES = {"national_id": "ID", "basic_auth": "PASSWORD", "assigned_secret": "SECRET"}


def name_of(kind: str) -> str:
    """The name of a kind in a placeholder: in capitals, without angle brackets."""
    return _NAMES.get(kind) or re.sub(r"[^0-9A-Z]+", "_", kind.upper()).strip("_") or "REMOVED"


@dataclass(frozen=True, slots=True)
class Placeholders:
    """One text for all values of a kind: `<EMAIL>`, or the recipe's text."""

    texts: Mapping[str, str] = field(default_factory=dict)  # by kind

    def written(self, kinds: Sequence[str], values: Sequence[str]) -> list[str]:  # noqa: ARG002, of the protocol
        """The placeholder of each kind."""
        return [self.texts.get(kind, f"<{name_of(kind)}>") for kind in kinds]


class Secret:
    """A secret key that never appears in logs, messages or representations."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise ValueError(f"the key has {len(key)} bytes; expected {MIN_KEY_BYTES} or more, at random")
        self._key = key if len(key) <= _MAX_KEY else hashlib.blake2b(key).digest()

    def __repr__(self) -> str:
        return f"Secret({self.check})"

    def __reduce__(self) -> str:
        raise TypeError("a key cannot be pickled: each process reads it from its source")

    @property
    def check(self) -> str:
        """Eight hexadecimal digits that identify the key without revealing it."""
        return hashlib.blake2b(key=self._key, person=_CHECK, digest_size=4).hexdigest()

    def hashed(self, kind: str, value: str) -> str:
        """The keyed hash of a value of a kind."""
        name, text = kind.encode(), value.encode()
        parts = len(name).to_bytes(4, "big") + name + text
        return hashlib.blake2b(parts, key=self._key, person=_PSEUDONYM, digest_size=_DIGITS // 2).hexdigest()


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """One text for each value: `<EMAIL_3f9a1c0b52d7>`."""

    key: Secret

    def written(self, kinds: Sequence[str], values: Sequence[str]) -> list[str]:
        """The pseudonym of each value, however it was written."""
        return [
            f"<{name_of(kind)}_{self.key.hashed(kind, value)}>"
            for kind, value in zip(kinds, normalised(kinds, values), strict=True)
        ]


def normalised(kinds: Sequence[str], values: Sequence[str]) -> list[str]:
    """Normalise each value over its spellings: e-mail addresses with `@` in lower case, phone numbers as digits."""
    column = texts_of(pa.array(values, pa.large_string()))
    plain = fold(column, case=False).texts.array.to_pylist()
    small = fold(column, case=True).texts.array.to_pylist()
    return [_NORMAL.get(kind, _as_is)(one, lower) for kind, one, lower in zip(kinds, plain, small, strict=True)]


def _as_is(plain: str, _small: str) -> str:
    return plain.strip()


def _words(_plain: str, small: str) -> str:
    return " ".join(small.split())


# Separators in a written-out address, in lower case: its parts have no bracket or space.
_AT = "@"
_SIGNS = {
    **dict.fromkeys(DOT, "."),
    **dict.fromkeys(AT, _AT),
}
_BRACKETED = re.compile(r" ?[\[({] ?([^ \])}]{1,12}) ?[\])}] ?")


def _email(_plain: str, small: str) -> str:
    """Normalise signs: `bob [at] host (dot) org`, `bob AT host DOT org` and `bob%40host.org` are equal."""
    found = _BRACKETED.sub(lambda match: _SIGNS.get(match[1], match[0]), " ".join(small.split()))
    return found.replace(" at ", _AT).replace(" dot ", ".").replace("%40", _AT)


def _phone(plain: str, _small: str) -> str:
    """Digits, after a `+` if the number is international: the country of others is not known here."""
    digits = re.sub(r"[^0-9]", "", plain.partition("ext")[0])
    trunk = re.search(r"\(0\)", plain) is not None
    if plain.strip().startswith("+"):
        return "+" + (re.sub(r"[^0-9]", "", plain.replace("(0)", "", 1)) if trunk else digits)
    return "+" + digits[2:] if digits.startswith("00") else digits


def _letters_and_digits(plain: str, _small: str) -> str:
    return "".join(filter(str.isalnum, plain)).upper()


def _ip(plain: str, _small: str) -> str:
    try:
        return ipaddress.ip_address(plain.strip().strip("[]")).compressed
    except ValueError:
        return plain.strip().lower()


_NORMAL: Mapping[str, Callable[[str, str], str]] = {
    "email": _email,
    "name": _words,
    "address": _words,
    "phone": _phone,
    "ip": _ip,
    "iban": _letters_and_digits,
    "card": _letters_and_digits,
    "national_id": _letters_and_digits,
}
