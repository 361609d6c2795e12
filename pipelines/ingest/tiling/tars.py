"""Proves, from a tar alone, that each claimed range is one sample, one entry that is none, or zeros (law 3).

Python's own `tarfile` finds the members of each range; no code is shared with the reader.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, Self

from winnow.pipelines.ingest.tiling.claims import MAX_FINDINGS, Claim
from winnow.pipelines.ingest.tiling.counting import check_ranges

_READ_BYTES: Final = 1 << 20
_BLOCK: Final = 512
_GLOBAL: Final = b"g"
_SAYING_NOTHING: Final = (slice(100, 108), slice(108, 116), slice(116, 124), slice(136, 148), slice(329, 345))


def check_tar(stream: BinaryIO, claims: Iterable[Claim], size: int) -> list[str]:
    """Lists what is wrong with the claims on a tar of this size; empty if they are proved.

    Claims that are not readable are only checked to tile it.
    """
    ordered = sorted(claims, key=lambda claim: claim.span.offset)
    findings = check_ranges(size, [claim.span for claim in ordered])
    if not findings:
        findings = [line for claim in ordered if claim.readable for line in _wrong(stream, claim)]
    more = len(findings) - MAX_FINDINGS
    return findings if more <= 0 else [*findings[:MAX_FINDINGS], f"and {more} more"]


def _wrong(stream: BinaryIO, claim: Claim) -> Iterator[str]:
    start, length = claim.span.offset, claim.span.length
    place = f"bytes {start} to {start + length}"
    stream.seek(start)
    first = stream.read(min(_BLOCK, length))
    if first[156:157] == _GLOBAL:
        held = int(first[124:136].strip(b"\0 ") or b"0", 8)
        if length != _BLOCK + -(-held // _BLOCK) * _BLOCK:
            yield f"{place}: more than a global header"
        return
    if not first.strip(b"\0"):
        if not _is_zero(stream, start, length):
            yield f"{place}: is claimed as zeros, but holds something"
        return
    keys: set[str] = set()
    end = 0
    try:
        with tarfile.open(fileobj=_Section(stream, start, length), mode="r:", tarinfo=_Member) as archive:
            for member in archive:
                folder, slash, base = member.name.rpartition("/")
                keys.add(f"{folder}{slash}{base.partition('.')[0]}" if member.isreg() else f"entry {member.name}")
                end = member.offset_data + (-(-member.size // _BLOCK) * _BLOCK if member.isreg() else 0)
    except (tarfile.TarError, ValueError, EOFError, OverflowError) as error:
        yield f"{place}: not members of a tar: {error}"
        return
    if len(keys) != 1:
        yield f"{place}: holds members of {len(keys)} samples, but one is claimed"
    elif end < length:
        yield f"{place}: {length - end} bytes after the last member"


def _is_zero(stream: BinaryIO, start: int, length: int) -> bool:
    stream.seek(start)
    while length > 0:
        piece = stream.read(min(_READ_BYTES, length))
        if not piece or piece.strip(b"\0"):
            return False
        length -= len(piece)
    return True


class _Member(tarfile.TarInfo):
    """A member whose mode, owner, time and device may be anything: they do not say where it lies."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Parses a header, these fields blank, if its checksum is right."""
        found = bytearray(buf)
        if len(found) == _BLOCK and found[148:156].strip(b"\0 ").lstrip(b"0") in _checksums(found):
            for field in _SAYING_NOTHING:
                found[field] = b"0" * (field.stop - field.start - 1) + b"\0"
            if not found[156]:  # tarfile takes it for a folder where a long name is cut behind a slash
                found[156] = ord("0")
            if not found.startswith(b"ustar\0", 257):  # other formats have times where this one has more of a name
                found[345:500] = bytes(155)
            found[148:156] = _checksums(found)[0].rjust(6, b"0") + b"\0 "
        return super().frombuf(bytes(found), encoding, errors)


def _checksums(header: bytearray) -> tuple[bytes, bytes]:
    """The checksum, and that of those who add signed bytes."""
    rest = header[:148] + header[156:]
    plain = sum(rest) + 8 * 32
    return b"%o" % plain, b"%o" % max(0, plain - 256 * sum(byte > 127 for byte in rest))


class _Section(io.RawIOBase):
    """A range as a file of its own, its last block whole: zeros follow where the file ends within the padding."""

    def __init__(self, stream: BinaryIO, start: int, length: int) -> None:
        self._stream, self._start, self._at = stream, start, 0
        self._length, self._held = -(-length // _BLOCK) * _BLOCK, length

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = (0, self._at, self._length)[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._length - self._at)
        self._stream.seek(self._start + self._at)
        wanted = left if count < 0 else min(count, left)
        piece = self._stream.read(max(0, min(wanted, self._held - self._at))).ljust(wanted, b"\0")
        self._at += len(piece)
        return piece
