"""Gives ranges of a record's body that is too large to hold: from a plain archive, else from a scratch file.

A body in a compressed member, in a content coding or in chunks is written once to an unnamed temporary file, bounded by
`max_member_bytes`; memory holds a few pieces.
"""

import errno
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, BinaryIO, Final, cast

from winnow.filters.image.decode.containers import Bytes
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.ingest.archives.chunks import CHUNKED, BrokenOffError, NotCodedError, chunks
from winnow.pipelines.ingest.archives.codings import decoded_content
from winnow.pipelines.ingest.archives.flows import FileFlow, Flow
from winnow.pipelines.ingest.archives.members import GzipMembers, Member, Members
from winnow.pipelines.ingest.archives.zstd_members import ZstdMembers
from winnow.pipelines.ingest.records import LargeBody, ReadLimits, Record
from winnow.schemas.errors import StageError

__all__ = ["OpenBody", "UnreadableBodyError", "open_body", "read_body"]

_PIECE: Final = 1 << 20


class UnreadableBodyError(Exception):
    """Why a body cannot be read whole: a reason for quarantine, and details."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class _FalseCodingError(Exception):
    """The bytes are not in the coding of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class OpenBody:
    """A body, of which ranges are read until it is closed."""

    content: Bytes
    sha256: str | None = None  # of one that was unpacked, which took all its bytes
    scratch: IO[bytes] | None = None

    def close(self) -> None:
        """Removes the scratch file; the archive stays open."""
        if self.scratch is not None:
            self.scratch.close()


def open_body(stream: BinaryIO, size: int, record: Record, limits: ReadLimits) -> OpenBody | None:
    """As `read_body`; None if it cannot be read whole."""
    try:
        return read_body(stream, size, record, limits)
    except UnreadableBodyError:
        return None


def read_body(stream: BinaryIO, size: int, record: Record, limits: ReadLimits) -> OpenBody:
    """The body of a record that has a `large` one; `stream` is its archive, which stays open while the body is read.

    UnreadableBodyError if its codings are incomplete, it exceeds `limits.max_member_bytes`, or its bytes are gone;
    StageError if there is no room for the scratch file.
    """
    large = record.large
    assert large is not None
    codings = list(large.codings)
    while True:
        flow = _flow(stream, size, record, large, limits)
        if isinstance(flow, FileFlow) and not codings:
            return OpenBody(FileBytes(stream, large.length, large.start))
        try:
            found = _unpacked(_decoded(flow, large, codings), limits.max_member_bytes)
        except _FalseCodingError as error:  # crawlers store decoded bytes under the header of the encoded ones
            del codings[error.number]
            continue
        except BrokenOffError:
            named = " or ".join(codings) or "its member"
            raise UnreadableBodyError(
                "bad_encoding", f"a payload of {large.length:,} bytes: {named} breaks off"
            ) from None
        if not codings and found.content.size < large.length:
            found.close()
            raise UnreadableBodyError("truncated", f"a payload of {large.length:,} bytes ends early")
        return found


def _unpacked(pieces: Iterator[bytes], most: int) -> OpenBody:
    """Writes a body to a scratch file."""
    scratch = _scratch_file()
    try:
        state = hashlib.sha256()
        written = 0
        for piece in pieces:
            written += len(piece)
            if written > most:
                raise UnreadableBodyError("bomb", f"its payload unpacks to more than {most:,} bytes")
            state.update(piece)
            _write(scratch, piece)
    except BaseException:
        scratch.close()
        raise
    return OpenBody(FileBytes(cast(BinaryIO, scratch), written), state.hexdigest(), scratch)


def _flow(stream: BinaryIO, size: int, record: Record, large: LargeBody, limits: ReadLimits) -> Flow:
    """The bytes in which the body lies."""
    flow = FileFlow(stream, size)
    compression = record.container.rpartition(".")[2]
    if compression not in ("gz", "zst"):
        return flow
    kind = GzipMembers if compression == "gz" else ZstdMembers
    members: Members = kind(flow, lambda _: True, limits)
    return members.inflated(Member(record.span.offset, record.span.length, large.start + large.length))


def _decoded(flow: Flow, large: LargeBody, codings: Sequence[str]) -> Iterator[bytes]:
    """The body, forward, piece by piece; chunks count as the first of the codings."""
    pieces = _range(flow, large.start, large.start + large.length)
    for number, coding in enumerate(codings):
        inner = _of_chunks(flow, large) if coding == CHUNKED else decoded_content(coding, pieces)
        pieces = _believed(inner, number, large.cut)
    return pieces


def _believed(pieces: Iterator[bytes], number: int, is_cut: bool) -> Iterator[bytes]:
    """What one coding gives; only the beginning if the record says that the body was cut off."""
    has_begun = False
    try:
        for piece in pieces:
            has_begun = True
            yield piece
    except NotCodedError:
        raise _FalseCodingError(number) from None
    except BrokenOffError:
        if not (is_cut and has_begun):
            raise


def _of_chunks(flow: Flow, large: LargeBody) -> Iterator[bytes]:
    for start, stop in chunks(flow, large.start, large.start + large.length):
        yield from _range(flow, start, stop)


def _range(flow: Flow, at: int, stop: int) -> Iterator[bytes]:
    while at < stop and (piece := flow.peek(at, min(_PIECE, stop - at))):
        yield piece
        at += len(piece)


def _scratch_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()  # unnamed, so a killed process leaves nothing
    except OSError as error:
        raise _no_room(error) from error


def _write(scratch: IO[bytes], piece: bytes) -> None:
    try:
        scratch.write(piece)
        scratch.flush()
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> StageError:
    why = "there is no room" if error.errno == errno.ENOSPC else f"{error.strerror or error}"
    return StageError(
        f"{why} in {tempfile.gettempdir()}, where large media of archives are unpacked to be read; make room, set "
        "TMPDIR to a larger disk, or lower limits.max_member_bytes"
    )
