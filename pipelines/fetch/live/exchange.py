"""One request and what came of it: a response with its bytes as they came, or why there is none that counts."""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Final, Self

from winnow.pipelines.fetch.live.unpacking import beginning
from winnow.pipelines.fetch.outcome import Decision, Reason
from winnow.pipelines.ingest.archives.http import HttpHead, decode_field
from winnow.pipelines.store.buckets.retries import asked_wait
from winnow.schemas.errors import StageError

if TYPE_CHECKING:
    from winnow.pipelines.fetch.live.places import Place

__all__ = [
    "Body",
    "Conditions",
    "Failed",
    "Followed",
    "Hop",
    "Response",
    "outcome_of_status",
]

HELD_BYTES: Final = 256 << 10  # of a body in memory; a longer one lies in a file without a name
_PIECE: Final = 256 << 10
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no response that counts."""

    reason: Reason
    detail: str = ""  # one line
    ms: int = 0
    bytes: int = 0  # that came nevertheless


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is known of an address from the last time: a server may answer that nothing changed."""

    etag: str | None = None
    last_modified: str | None = None


class Body:
    """The body of a response, as sent, without transfer coding."""

    def __init__(self, scratch: Path) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(HELD_BYTES, dir=str(scratch))  # noqa: SIM115
        self._scratch = scratch
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> bytes:
        """The hash of the bytes so far."""
        return self._hash.digest()

    def add(self, piece: bytes | bytearray) -> None:
        """Appends bytes."""
        try:
            self._file.seek(self.size)
            self._file.write(piece)
        except OSError as error:  # no server's doing
            raise StageError(
                f"{self._scratch}: {error.strerror or error}; bodies that are being fetched are kept there: make room"
            ) from error
        self._hash.update(piece)
        self.size += len(piece)

    def pieces(self) -> Iterator[bytes]:
        """All bytes, forward."""
        at = 0
        while at < self.size:
            self._file.seek(at)
            piece = self._file.read(min(_PIECE, self.size - at))
            at += len(piece)
            yield piece

    def read(self, most: int | None = None) -> bytes:
        """The first bytes, or all."""
        self._file.seek(0)
        return self._file.read(self.size if most is None else min(most, self.size))

    def close(self) -> None:
        """Frees the bytes."""
        self._file.close()


@dataclass(slots=True)
class Response:
    """A response and the request that it answers."""

    place: "Place"
    request: bytes  # the header, as sent
    header: bytes  # as it came, with its status line and the empty line
    head: HttpHead  # its status and all its fields, by lower-case name
    body: Body
    address: str  # of the machine that was asked
    began: int  # microseconds since 1970
    ms: int  # until the last byte

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def status(self) -> int:
        """The code of the status line."""
        assert self.head.status is not None
        return self.head.status

    def text(self, name: str) -> str | None:
        """A field of the header, its values joined by commas."""
        return self.head.text(name.lower().encode("ascii"))

    def redirect(self) -> str | None:
        """Where it redirects to, as written; None if it does not."""
        where = self.head.fields.get(b"location")
        return decode_field(where[0]) if where and self.status in _REDIRECTS else None

    def retry_after(self) -> float | None:
        """How many seconds it asks to wait, at most a day; None if it does not say."""
        return asked_wait((self.head.fields.get(b"retry-after") or [b""])[0].decode("latin-1"))

    def decoded(self, most: int) -> bytes:
        """The first bytes of the content, at most so many, with its content codings undone."""
        return beginning(self.head.codings(b"content-encoding"), self.body.pieces, most)

    def close(self) -> None:
        """Frees the body."""
        self.body.close()


@dataclass(frozen=True, slots=True)
class Hop:
    """A redirect on the way to a response."""

    url: str
    status: int


@dataclass(slots=True)
class Followed:
    """Where redirects led: the last response, or why they were not followed to one."""

    place: "Place"  # the last that was asked, or refused
    last: Response | Failed
    hops: tuple[Hop, ...] = ()


def outcome_of_status(status: int) -> tuple[Decision, Reason]:
    """What a response that is no redirect means for its address."""
    match status:
        case 304:
            return Decision.REVISITED, Reason.UNCHANGED
        case 404 | 410:
            return Decision.FAILED, Reason.NOT_FOUND
        case 429 | 503:
            return Decision.FAILED, Reason.BUSY
        case 206:  # a part, which nobody asked for
            return Decision.FAILED, Reason.PROTOCOL
        case _ if 200 <= status < 300:
            return Decision.FETCHED, Reason.OK
        case _ if 300 <= status < 400:
            return Decision.FAILED, Reason.REDIRECTS
        case _ if 400 <= status < 500:
            return Decision.FAILED, Reason.CLIENT_ERROR
        case _:
            return Decision.FAILED, Reason.SERVER_ERROR
