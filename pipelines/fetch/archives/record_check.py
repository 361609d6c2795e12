"""Whether the bytes that an index points at are one record of that address, told without inflating all of them.

A gzip member ends with the size of what it inflates to, and a record's header says how long the record is: where both
agree, the member begins and ends where the index says. Anything else is inflated to its end to be sure. What is damaged
inside is found by `ingest`, which quarantines it.
"""

from dataclasses import dataclass
from typing import Final

from isal import isal_zlib

from winnow.filters.web.urls import canonical_url
from winnow.pipelines.ingest.archives.archive import Fault
from winnow.pipelines.ingest.archives.members import GZIP_MAGIC, GZIP_WINDOW, INFLATE_ERROR
from winnow.pipelines.ingest.archives.warc import WarcGrammar
from winnow.schemas.problems import one_line

_FIRST_BYTES: Final = 1 << 10  # inflate to more than nearly every header
_FIRST_SIZE: Final = 2 << 10
_MOST_HEAD_BYTES: Final = 64 << 10  # of a header, packed and as it is
_LENGTH: Final = b"\r\nContent-Length: "
_FIELDS: Final = (b"\r\nWARC-Type: ", b"\r\nWARC-Target-URI: ", _LENGTH)
_MOST_DIGITS: Final = 18
_KINDS: Final = frozenset((b"response", b"resource", b"conversion", b"revisit", b"metadata"))
_GRAMMAR: Final = WarcGrammar()
_SHOWN: Final = 200
_STEP: Final = 1 << 20
_MOST_BYTES: Final = 1 << 30  # what a record may inflate to whose own size is wrong


def flaw_of(member: memoryview, url: str) -> str | None:
    """What shows that these bytes are not the record of an address; None if they are."""
    if _is_usual(member, url):
        return None
    if member[: len(GZIP_MAGIC)] != GZIP_MAGIC:
        return "no gzip member begins there"
    found = _head(member)
    if isinstance(found, str):
        return found
    if found.kind not in _KINDS:
        return f"a record of the type {one_line(found.kind.decode('latin-1'), 20)}"
    if (flaw := address_flaw(found.target.strip(b"<> \t").decode("utf-8", "replace"), url)) is not None:
        return flaw
    if int.from_bytes(member[-4:], "little") == found.size & 0xFFFFFFFF:
        return None
    return _whole(member)


def _is_usual(member: memoryview, url: str) -> bool:
    """Whether these bytes are the record of an address, as nearly every writer spells it: told in few steps."""
    try:
        inflated = isal_zlib.decompressobj(GZIP_WINDOW).decompress(member[:_FIRST_BYTES], _FIRST_SIZE)
    except INFLATE_ERROR:
        return False
    stop = inflated.find(b"\r\n\r\n") + 2  # of the last field
    start = inflated.find(_LENGTH, 0, stop) + len(_LENGTH)
    length = inflated[start : inflated.find(b"\r\n", start, stop)]
    return (
        inflated.startswith(b"WARC/1.")
        and inflated.find(b"\r\nWARC-Target-URI: %b\r\n" % url.encode(), 0, stop) > 0
        and inflated.find(b"\r\nWARC-Type: response\r\n", 0, stop) > 0
        and length.isdigit()
        and len(length) <= _MOST_DIGITS
        and int.from_bytes(member[-4:], "little") == (stop + int(length) + 6) & 0xFFFFFFFF  # and three ends of lines
    )


def address_flaw(target: str, url: str) -> str | None:
    """Why a record of one address is none of another; None if both are the same address."""
    if target == url or (canonical_url(target) or target) == canonical_url(url):
        return None
    return f"a record of another address: {one_line(target, _SHOWN)}"


@dataclass(frozen=True, slots=True)
class _Head:
    """What a record's header says."""

    kind: bytes
    target: bytes
    size: int  # to which the record inflates


def _head(member: memoryview) -> _Head | str:
    """The record's header; words for what is none."""
    decoder = isal_zlib.decompressobj(GZIP_WINDOW)
    try:
        inflated = decoder.decompress(member[:_FIRST_BYTES], _FIRST_SIZE)
        if (stop := inflated.find(_GRAMMAR.mark)) < 0:  # a longer header than nearly all: once more, as far as needed
            inflated = isal_zlib.decompressobj(GZIP_WINDOW).decompress(member[:_MOST_HEAD_BYTES], _MOST_HEAD_BYTES)
            if (stop := inflated.find(_GRAMMAR.mark)) < 0:
                return "no header of a record begins there"
    except INFLATE_ERROR:
        return "damaged bytes"
    stop += len(_GRAMMAR.mark)
    kind, target, length = (_field(inflated, name, stop) for name in _FIELDS)
    if inflated.startswith(b"WARC/") and kind and length.isdigit():
        return _Head(kind, target, stop + int(length[:_MOST_DIGITS]) + len(_GRAMMAR.mark))
    head = _GRAMMAR.parse(inflated[:stop])  # which knows every way to write a header
    if isinstance(head, Fault):
        return f"no header of a record: {head.detail}"
    return _Head(head.kind, head.first(b"warc-target-uri") or b"", stop + head.length + len(_GRAMMAR.mark))


def _field(header: bytes, name: bytes, stop: int) -> bytes:
    """A field as nearly every writer spells it; empty if it is not there."""
    start = header.find(name, 0, stop)
    return header[start + len(name) : header.find(b"\r\n", start + len(name), stop)] if start >= 0 else b""


def _whole(member: memoryview) -> str | None:
    """Whether the bytes are exactly one member, by inflating them; nothing of what they inflate to is held."""
    decoder = isal_zlib.decompressobj(GZIP_WINDOW)
    left: bytes | memoryview = member
    size = 0
    try:
        while not decoder.eof and size < _MOST_BYTES:
            found = decoder.decompress(left, _STEP)
            left = decoder.unconsumed_tail
            size += len(found)
            if not found and not left:
                break
    except INFLATE_ERROR:
        return "damaged bytes"
    if size >= _MOST_BYTES:
        return f"it inflates to {_MOST_BYTES} bytes or more"
    if not decoder.eof:
        return "the record is cut off"
    return "more than one record" if decoder.unused_data else None
