"""Whether the bytes that an index points at are one record of that address, told without inflating all of them.

A gzip member ends with the size of what it inflates to, and a record's header says how long the record is: where both
agree, the member begins and ends where the index says. Anything else is inflated to its end to be sure. What is damaged
inside is found by `ingest`, which quarantines it.
"""

from typing import Final

from isal import isal_zlib

from winnow.filters.web.urls import canonical_url
from winnow.pipelines.ingest.archives.archive import Fault
from winnow.pipelines.ingest.archives.members import GZIP_MAGIC, GZIP_WINDOW, INFLATE_ERROR
from winnow.pipelines.ingest.archives.warc import WarcGrammar, WarcHead
from winnow.schemas.problems import one_line

_HEAD_BYTES: Final = 1 << 10  # inflate to more than nearly every header
_MOST_HEAD_BYTES: Final = 64 << 10  # of a header
_KINDS: Final = frozenset((b"response", b"resource", b"conversion", b"revisit", b"metadata"))
_GRAMMAR: Final = WarcGrammar()
_SHOWN: Final = 200
_STEP: Final = 1 << 20
_MOST_BYTES: Final = 1 << 30  # what a record may inflate to whose own size is wrong


def flaw_of(member: memoryview, url: str) -> str | None:
    """What shows that these bytes are not the record of an address; None if they are."""
    if member[: len(GZIP_MAGIC)] != GZIP_MAGIC:
        return "no gzip member begins there"
    found = _head(member)
    if isinstance(found, str):
        return found
    head, inflated = found
    kind = head.kind
    if kind not in _KINDS:
        return f"a record of the type {one_line(kind.decode('latin-1'), 20)}"
    target = (head.first(b"warc-target-uri") or b"").strip(b"<> \t").decode("utf-8", "replace")
    if target != url and (canonical_url(target) or target) != canonical_url(url):
        return f"a record of another address: {one_line(target, _SHOWN)}"
    if int.from_bytes(member[-4:], "little") == inflated & 0xFFFFFFFF:
        return None
    return _whole(member)


def _head(member: memoryview) -> tuple[WarcHead, int] | str:
    """The record's header, and to how many bytes the record should inflate."""
    decoder = isal_zlib.decompressobj(GZIP_WINDOW)
    inflated, fed = b"", 0
    try:
        while (stop := inflated.find(_GRAMMAR.mark)) < 0:
            if len(inflated) > _MOST_HEAD_BYTES or fed >= len(member) or decoder.eof:
                return "no header of a record begins there"
            inflated += decoder.decompress(member[fed : fed + _HEAD_BYTES], _MOST_HEAD_BYTES)
            fed += _HEAD_BYTES
    except INFLATE_ERROR:
        return "damaged bytes"
    head = _GRAMMAR.parse(inflated[: stop + len(_GRAMMAR.mark)])
    if isinstance(head, Fault):
        return f"no header of a record: {head.detail}"
    return head, head.header_bytes + head.length + len(_GRAMMAR.mark)


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
    if not decoder.eof:
        return "the record is cut off"
    return "more than one record" if decoder.unused_data else None
