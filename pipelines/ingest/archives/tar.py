"""Walks the members of a tar: ustar, pax, GNU and the formats before them.

Each unit is a member with the headers that extend it, a run of zero blocks, or damage up to the next header whose
checksum is right; together they tile the file. Zero blocks end no walk, so tars that were joined are read to the end.
What a header says is never trusted further than the file reaches, and no name leads out of the archive.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from winnow.pipelines.ingest.archives.flows import CHUNK_BYTES, Flow
from winnow.pipelines.store.names import object_name
from winnow.schemas.problems import one_line

TAR: Final = "tar"
BLOCK: Final = 512
MOST_EXTENSIONS: Final = 8  # headers that extend one member

Kind: TypeAlias = Literal["file", "not_content", "padding", "damage"]

_CHECKSUM: Final = re.compile(rb"[0-7 \x00]{8}")
_PAX_RECORD: Final = re.compile(rb"([0-9]{1,9}) ([^=\n]{1,512})=")
_FILES: Final = frozenset(b"0\x007")
_WITHOUT_DATA: Final = frozenset(b"123456")
_TYPES: Final = {
    ord("1"): "a hard link",
    ord("2"): "a symbolic link",
    ord("3"): "a device",
    ord("4"): "a device",
    ord("6"): "a pipe",
    ord("S"): "a sparse file",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of the file."""

    kind: Kind
    start: int
    end: int
    last_header: int = -1  # where the last of its headers is
    name: str = ""
    offset: int = 0  # of the content of a file
    size: int = 0
    flaw: str = ""  # why a member may not be used
    reason: str = "bad_member"  # of a flaw or of damage


@dataclass(frozen=True, slots=True)
class _Header:
    name: bytes
    kind: int
    size: int


def units(flow: Flow, at: int, max_header_bytes: int) -> Iterator[Unit]:
    """Yields what is in the file from here, where a header, zero blocks or damage begins."""
    while at < flow.size:
        unit = unit_at(flow, at, max_header_bytes)
        yield unit
        at = unit.end


def unit_at(flow: Flow, at: int, max_header_bytes: int) -> Unit:
    """The unit that begins here."""
    first = flow.peek(at, BLOCK)
    if not first.strip(b"\0"):
        return Unit("padding", at, _end_of_zeros(flow, at))
    long_name: bytes | None = None
    fields: dict[bytes, bytes] = {}
    offset, last = at, -1
    for _ in range(MOST_EXTENSIONS + 1):
        found = header(flow.peek(offset, BLOCK))
        if found is None:
            break
        last = offset
        if found.kind not in b"LKxXg":
            return _member(flow, at, offset, found, long_name, fields)
        content, following = offset + BLOCK, offset + BLOCK + _padded(found.size)
        if following > flow.size:
            return Unit("damage", at, flow.size, last, flaw="the file ends inside a header", reason="truncated")
        if found.size > max_header_bytes:
            detail = f"a header of {found.size} bytes"
            return Unit("damage", at, following, last, flaw=detail, reason="too_large")
        raw = flow.peek(content, found.size)
        offset = following
        if found.kind == ord("L"):
            long_name = raw.partition(b"\0")[0]
        elif found.kind != ord("K"):
            extended = _pax_fields(raw)
            if extended is None or (found.kind == ord("g") and (at != last or _of_members(extended))):
                detail = "a pax header that cannot be used"
                return Unit("damage", at, offset, last, flaw=detail, reason="bad_header")
            if found.kind == ord("g"):
                return Unit("not_content", at, offset, last)
            fields |= extended
    end = next_header(flow, offset if last >= 0 else offset + BLOCK)
    end = flow.size if end < 0 else end
    return Unit("damage", at, end, last, flaw="no header with the right checksum", reason="bad_header")


def next_header(flow: Flow, at: int) -> int:
    """The first position from here, at a whole block, where a header has the right checksum; -1 if there is none."""
    at = _padded(at)
    while at < flow.size:
        chunk = flow.peek(at, CHUNK_BYTES)
        for start in range(0, len(chunk), BLOCK):  # few: only where a file is damaged or read in parts
            if header(chunk[start : start + BLOCK]) is not None:
                return at + start
        at += CHUNK_BYTES
    return -1


def header(block: bytes) -> _Header | None:
    """Parses a header block; None if its checksum or size is wrong."""
    if len(block) < BLOCK or not _CHECKSUM.fullmatch(stored := block[148:156]):
        return None
    digits = stored.partition(b"\0")[0].strip()
    checksum = int(digits, 8) if digits and b" " not in digits else -1
    rest = block[:148] + block[156:]
    plain = sum(rest) + 8 * 32
    if checksum not in (plain, plain - 256 * sum(byte > 127 for byte in rest)):  # some writers add signed bytes
        return None
    size = _number(block[124:136])
    if size is None:
        return None
    name = block[:100].partition(b"\0")[0]
    if block[257:263] == b"ustar\0" and (prefix := block[345:500].partition(b"\0")[0]):
        name = prefix + b"/" + name
    return _Header(name, block[156], size)


def _member(
    flow: Flow, at: int, offset: int, found: _Header, long_name: bytes | None, fields: dict[bytes, bytes]
) -> Unit:
    """A member whose own header, the last of its headers, is at `offset`."""
    size = found.size
    if b"size" in fields:
        if not fields[b"size"].isdigit() or len(fields[b"size"]) > 18:
            return Unit("damage", at, offset + BLOCK, offset, flaw="a size that is no number", reason="bad_header")
        size = int(fields[b"size"])
    raw = fields.get(b"path", found.name if long_name is None else long_name)
    name = object_name(raw)
    kind, flaw = found.kind, ""
    begin = offset + BLOCK
    if kind == ord("S"):
        more = flow.peek(offset, BLOCK)[482]
        while more:
            extension = flow.peek(begin, BLOCK)
            begin += BLOCK
            more = len(extension) == BLOCK and extension[504]
    end = begin if kind in _WITHOUT_DATA else begin + _padded(size)
    if begin + (0 if kind in _WITHOUT_DATA else size) > flow.size:
        flaw = f"the file ends inside {one_line(name, 100)}"
        return Unit("file", at, flow.size, offset, name, min(begin, flow.size), 0, flaw, "truncated")
    end = min(end, flow.size)
    if kind == ord("5") or (kind == 0 and raw.endswith(b"/")):
        return Unit("not_content", at, end, offset, name)
    if kind not in _FILES:
        flaw = _TYPES.get(kind, "of an unknown type")
    elif any(field.startswith(b"GNU.sparse.") for field in fields):
        flaw = _TYPES[ord("S")]
    elif not raw or raw.startswith(b"/") or b".." in raw.split(b"/") or b"\0" in raw:
        flaw = "outside the archive"
    return Unit("file", at, end, offset, name, begin, size, flaw and f"{one_line(name, 100)}: {flaw}")


def _pax_fields(raw: bytes) -> dict[bytes, bytes] | None:
    """The fields of a pax header; None if it does not consist of records."""
    fields: dict[bytes, bytes] = {}
    at = 0
    while at < len(raw) and raw[at]:
        found = _PAX_RECORD.match(raw, at)
        if found is None:
            return None
        end = at + int(found[1])
        if end <= found.end() or end > len(raw) or raw[end - 1 : end] != b"\n":
            return None
        fields[found[2]] = raw[found.end() : end - 1]
        at = end
    return fields


def _of_members(fields: dict[bytes, bytes]) -> bool:
    """Whether a global header would change what later members are, which their own headers must say."""
    return any(field in (b"path", b"size") or field.startswith(b"GNU.sparse.") for field in fields)


def _end_of_zeros(flow: Flow, at: int) -> int:
    while at < flow.size:
        chunk = flow.peek(at, CHUNK_BYTES)
        rest = chunk.lstrip(b"\0")
        if rest:
            return at + (len(chunk) - len(rest)) // BLOCK * BLOCK
        at += len(chunk)
    return flow.size


def _number(field: bytes) -> int | None:
    """A number in octal digits or, with the highest bit set, in base 256."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 and field[1:4] == b"\0\0\0" else None
    digits = field.partition(b"\0")[0].strip()
    if not re.fullmatch(rb"[0-7]*", digits):
        return None
    return int(digits or b"0", 8)


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
