"""Reads whom an X.509 certificate was issued to (RFC 5280): the name and the organisation of its subject."""

from collections.abc import Iterator
from typing import Final

__all__ = ["subject_of"]

_SEQUENCE, _SET, _IDENTIFIER, _VERSION = 0x30, 0x31, 0x06, 0xA0
_COMMON_NAME, _ORGANISATION = b"\x55\x04\x03", b"\x55\x04\x0a"
_ENCODINGS: Final = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be", 0x1C: "utf-32-be"}
_MOST_VALUES: Final = 256


def subject_of(certificate: bytes) -> str | None:
    """The common name of a certificate's subject, else its organisation; None if it has neither or is damaged."""
    outer = next(_values(certificate), None)
    inner = next(_values(outer[1]), None) if outer is not None and outer[0] == _SEQUENCE else None
    if inner is None or inner[0] != _SEQUENCE:
        return None
    fields = [one for one in _values(inner[1]) if one[0] != _VERSION]
    # A serial number, an algorithm, the issuer, the time that it is valid, the subject.
    if len(fields) < 5 or fields[4][0] != _SEQUENCE:
        return None
    names: dict[bytes, str] = {}
    for kind, parts in _values(fields[4][1]):
        for pair, content in _values(parts) if kind == _SET else ():
            held = list(_values(content)) if pair == _SEQUENCE else []
            if len(held) == 2 and held[0][0] == _IDENTIFIER and held[1][0] in _ENCODINGS:
                names.setdefault(held[0][1], held[1][1].decode(_ENCODINGS[held[1][0]], "replace"))
    return names.get(_COMMON_NAME) or names.get(_ORGANISATION)


def _values(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """The tag and content of each value of DER, up to what makes no sense."""
    at = 0
    for _ in range(_MOST_VALUES):
        if at + 2 > len(raw):
            return
        tag, size, start = raw[at], raw[at + 1], at + 2
        if size > 0x80:
            count = size & 0x7F
            size, start = int.from_bytes(raw[start : start + count], "big"), start + count
            if count > 4:
                return
        if start + size > len(raw):
            return
        yield tag, raw[start : start + size]
        at = start + size
