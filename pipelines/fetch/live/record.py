"""Writes what was sent and what came as WARC 1.1 (ISO 28500), and the rows of the log beside it.

A fetched address gives three records: its request, its response and its metadata, which say the decision, the time it
took, where it was found and the redirects before it. Each record is a gzip member of its own.

A segment is written to the local disk. `finish` puts its WARC first and its rows last, so a WARC without rows is what a
killed run left, which `clear_uncommitted` removes.
"""

import itertools
import os
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from isal import isal_zlib

from winnow.pipelines.fetch.live.client import user_agent
from winnow.pipelines.fetch.live.exchange import Hop, Response
from winnow.pipelines.fetch.live.warc import (
    Earlier,
    metadata_record,
    request_record,
    response_record,
    revisit_record,
    warcinfo_record,
)
from winnow.pipelines.fetch.log import log_path, log_table, put_log
from winnow.pipelines.fetch.outcome import Decision, Outcome
from winnow.pipelines.ingest.archives.http import content_type
from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.layout import FETCHED_HOSTS, FETCHED_LOGS, FETCHED_WARCS
from winnow.schemas.errors import StageError
from winnow.schemas.identity import digest
from winnow.schemas.recipe.fetch import FetchConfig

__all__ = ["Earlier", "Segment", "SegmentWriter", "clear_uncommitted"]

SEGMENT_BYTES: Final = 256 << 20
SEGMENT_ROWS: Final = 65_536
_LEVEL: Final = 2  # of isal: as small as zlib's 2 and four times as fast; its 3 saves 2 % more
_SUFFIX: Final = ".warc.gz"
_NOT_MODIFIED: Final = 304
_serial: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment that was put: its name, the bytes of its WARC and the rows of its log."""

    name: str
    bytes: int
    rows: int


class SegmentWriter:
    """Records and rows of one segment; threads may share it."""

    def __init__(
        self, objects: ObjectStore, config: FetchConfig, *, name: str | None = None, max_bytes: int = SEGMENT_BYTES
    ) -> None:
        self.name = name or _new_name()
        self._objects = objects
        self._agent = user_agent(config)
        self._max_bytes = max_bytes
        self._files: dict[str, _WarcFile] = {}
        self._rows: list[Outcome] = []
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether it should be finished, and another one begun."""
        return self.rows >= SEGMENT_ROWS or sum(one.size for one in list(self._files.values())) >= self._max_bytes

    @property
    def rows(self) -> int:
        """How many it has."""
        return len(self._rows)

    def keep(
        self,
        outcome: Outcome,
        response: Response,
        *,
        hops: Sequence[Hop] = (),
        earlier: Earlier | None = None,
    ) -> Outcome:
        """Writes the records of a response; returns its row with what they say.

        Args:
            outcome: The address's row: FETCHED, or REVISITED for a record without the body.
            response: What came.
            hops: The redirects before it.
            earlier: What a revisit repeats.
        """
        with self._lock:
            file = self._file(FETCHED_WARCS)
            file.write(*request_record(response))
            offset = file.size
            if outcome.decision is Decision.REVISITED:
                file.write(*revisit_record(response, outcome.reason, earlier))
            else:
                file.write(*response_record(response))
            length = file.size - offset
            file.write(*metadata_record(outcome, response, hops))
            row = _filled(replace(outcome, warc=self._path(FETCHED_WARCS), offset=offset, length=length), response)
            self._rows.append(row)
        return row

    def keep_beside(self, response: Response) -> None:
        """Writes a response that is no sample, such as a robots.txt, into a file of its own."""
        with self._lock:
            file = self._file(FETCHED_HOSTS)
            file.write(*request_record(response))
            file.write(*response_record(response))

    def note(self, outcome: Outcome) -> None:
        """Adds the row of an address without a record."""
        with self._lock:
            self._rows.append(outcome)

    def finish(self) -> Segment | None:
        """Puts the files, then the rows; None if there is nothing to put."""
        with self._lock:
            try:
                if not (self._rows or self._files):
                    return None
                for folder in (FETCHED_HOSTS, FETCHED_WARCS):
                    if folder in self._files:
                        self._objects.put(self._path(folder), self._files[folder].finished())
                put_log(self._objects, self.name, log_table(self._rows))
                size = self._files[FETCHED_WARCS].size if FETCHED_WARCS in self._files else 0
                return Segment(self.name, size, len(self._rows))
            finally:
                self._drop()

    def discard(self) -> None:
        """Forgets what was written."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        for file in self._files.values():
            file.remove()
        self._files.clear()
        self._rows.clear()

    def _file(self, folder: str) -> "_WarcFile":
        if folder not in self._files:
            file = self._files[folder] = _WarcFile(self._objects.scratch())
            file.write(*warcinfo_record(self.name, self._agent))
        return self._files[folder]

    def _path(self, folder: str) -> str:
        return f"{folder}{self.name}{_SUFFIX}"


def clear_uncommitted(objects: ObjectStore) -> int:
    """Removes files of records whose rows were never put, and returns their number; no other run may write here."""
    committed = {one.path for one in objects.list(FETCHED_LOGS)}
    removed = 0
    for folder in (FETCHED_WARCS, FETCHED_HOSTS):
        for one in list(objects.list(folder)):
            name = one.path.removeprefix(folder).removesuffix(_SUFFIX)
            if one.path.endswith(_SUFFIX) and log_path(name) not in committed:
                objects.delete(one.path)
                removed += 1
    return removed


class _WarcFile:
    """A WARC on the local disk, one gzip member a record."""

    def __init__(self, scratch: Path) -> None:
        descriptor, name = tempfile.mkstemp(dir=scratch, prefix=Process.this().prefix, suffix=_SUFFIX)
        self._path = Path(name)
        self._stream = os.fdopen(descriptor, "wb")
        self.size = 0

    def write(self, head: bytes, block: Iterable[bytes]) -> None:
        """Appends a record."""
        packer = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, 31)
        try:
            for piece in itertools.chain((head,), block, (b"\r\n\r\n",)):
                self.size += self._stream.write(packer.compress(piece))
            self.size += self._stream.write(packer.flush())
        except OSError as error:
            raise StageError(
                f"{self._path.parent}: {error.strerror or error}; what was fetched is kept there until a segment is "
                "full: make room"
            ) from error

    def finished(self) -> Path:
        """The file, whole."""
        self._stream.close()
        return self._path

    def remove(self) -> None:
        """Removes the file."""
        self._stream.close()
        self._path.unlink(missing_ok=True)


def _new_name() -> str:
    """A name that no other segment has, on whatever machine."""
    unique = digest(Process.this().prefix, next(_serial), os.urandom(16), size=6).hex()
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{unique}"


def _filled(outcome: Outcome, response: Response) -> Outcome:
    """The row with what the response says, where it says nothing yet."""
    declared = (response.head.fields.get(b"content-type") or [b""])[0]
    found: dict[str, Any] = {
        "final_url": response.place.url,
        "status": response.status,
        "mime": content_type(declared)[0],
        "body_bytes": response.body.size,
        "ms": response.ms,
        "sha256": response.body.sha256,
        "fetched_at": response.began,
        "etag": response.text("etag"),
        "last_modified": response.text("last-modified"),
    }
    if response.status == _NOT_MODIFIED:  # it has no body to speak of
        del found["mime"], found["body_bytes"], found["sha256"]
    return replace(outcome, **{key: value for key, value in found.items() if getattr(outcome, key) is None})
