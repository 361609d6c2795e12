"""One task: its records are asked for by ranges, checked, and put as one WARC file, then its rows of the log.

Records are written in the order of the plan whatever order they come in, byte for byte as they came, so a file's bytes
depend on the plan and the archive alone. What cannot be had for now is marked, and a later run asks for that alone.
"""

import asyncio
import hashlib
import io
import os
import tempfile
import uuid
import zlib
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from winnow.pipelines.fetch.archives.downloads import Came, RangeError, RangeReader
from winnow.pipelines.fetch.archives.plan import AGAIN, ArchiveAsk, ArchiveTask, put_table, ranges_of, read_task
from winnow.pipelines.fetch.archives.record_check import flaw_of
from winnow.pipelines.fetch.archives.references import file_sizes, put_references
from winnow.pipelines.fetch.archives.robots import host_lines
from winnow.pipelines.fetch.host_files import lines_path
from winnow.pipelines.fetch.log import MAX_DETAIL, MAX_URL, clean, log_path, put_log
from winnow.pipelines.fetch.outcome import LOG, Again, Decision, Reason
from winnow.pipelines.fetch.progress import Tally
from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.layout import FETCHED_HOSTS, FETCHED_WARCS
from winnow.schemas.problems import one_line

AHEAD: Final = 4  # ranges that wait for an earlier one, beside those under way
HELD_BYTES: Final = 128 << 20  # of ranges under way or waiting, of one task

_MOST_ATTEMPTS: Final = (1 << 15) - 1
_REASONS: Final = {str(reason): reason for reason in Reason}

Tell = Callable[[int, int], None]
"""Is told how many records more were decided, and of how many bytes."""


@dataclass(slots=True)
class _Rows:
    """How each record of a task ended."""

    urls: list[str]
    reasons: list[Reason | None]
    details: list[str | None]
    offsets: NDArray[np.int64]  # in the file that is written; -1 for what is not in it
    attempts: NDArray[np.int16]

    @classmethod
    def of(cls, urls: list[str]) -> "_Rows":
        count = len(urls)
        offsets, attempts = np.full(count, -1, np.int64), np.zeros(count, np.int16)
        return cls(urls, [None] * count, [None] * count, offsets, attempts)

    def end(self, row: int, reason: Reason, detail: str | None = None) -> None:
        self.reasons[row] = reason
        self.details[row] = None if detail is None else clean(detail, MAX_DETAIL)


def is_done(objects: ObjectStore, task: ArchiveTask) -> bool:
    """Whether nothing is left to do of a task."""
    return objects.exists(log_of(task)) and not objects.exists(f"{AGAIN}{task.name}")


def warc_of(task: ArchiveTask) -> str:
    """The file that a task writes, in the fetched folder."""
    return f"{FETCHED_HOSTS if task.is_robots else FETCHED_WARCS}{task.name}.warc.gz"


def log_of(task: ArchiveTask) -> str:
    """Where a task's rows are; those of captures of robots.txt lie beside these, as nobody asked for them."""
    return f"{FETCHED_HOSTS}{task.name}.parquet" if task.is_robots else log_path(task.name)


async def run_task(asked: ArchiveAsk, task: ArchiveTask, reader: RangeReader, at_once: int, tell: Tell) -> Tally:
    """Fetches a task's records, or those that an earlier run could not have; puts the file, then the rows."""
    objects = asked.objects
    planned, rows, before = await asyncio.to_thread(_begun, asked, task)
    if asked.query.fetch == "by_reference" and not task.is_robots:
        return await asyncio.to_thread(_refer, asked, task, planned, rows, at_once, tell)
    descriptor, name = tempfile.mkstemp(dir=objects.scratch(), prefix=Process.this().prefix, suffix=".warc.gz")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(warcinfo(task.name, planned))
            with _opened(objects, task, before) as kept:
                await _Copy(asked, planned, rows, before, kept, stream, reader, at_once, tell).run()
        put_file = partial(_put_file, asked, task, planned, rows, unfinished)
        # Others read meanwhile: a disk takes its time until a file is safe on it.
        return await asyncio.to_thread(_put, asked, task, planned, rows, put_file)
    finally:
        unfinished.unlink(missing_ok=True)


def _begun(asked: ArchiveAsk, task: ArchiveTask) -> tuple[pa.Table, _Rows, "_Before | None"]:
    """A task's records, how those end that are not asked for, and what an earlier run has."""
    planned = read_task(asked.objects, task.name)
    rows = _Rows.of(planned["url"].to_pylist())
    _refuse(asked, planned, rows)
    return planned, rows, _kept_before(asked.objects, task)


def _put_file(asked: ArchiveAsk, task: ArchiveTask, planned: pa.Table, rows: _Rows, unfinished: Path) -> None:
    """Puts the file; captures of robots.txt also as lines."""
    if task.is_robots:
        asked.objects.put(lines_path(task.name), host_lines(unfinished, planned, rows.offsets))
    asked.objects.put(warc_of(task), unfinished)


def _refer(asked: ArchiveAsk, task: ArchiveTask, planned: pa.Table, rows: _Rows, at_once: int, tell: Tell) -> Tally:
    """Puts where the records are instead of the records, which are not read here: ingest quarantines what is none.

    Only that their files are there, and long enough, is asked.
    """
    origins = planned["origin"].to_pylist()
    stops = pc.add(planned["origin_offset"], planned["length"]).to_pylist()
    names = sorted({origin for origin, reason in zip(origins, rows.reasons, strict=True) if reason is None})
    sizes = dict(zip(names, file_sizes(asked.query.data, names, at_once), strict=True))
    for row, (origin, stop) in enumerate(zip(origins, stops, strict=True)):
        if rows.reasons[row] is None and (size := sizes[origin]) is None:
            rows.end(row, Reason.NO_ARCHIVE, f"no {one_line(origin)}")
        elif rows.reasons[row] is None and size is not None and stop > size:
            rows.end(row, Reason.NO_RECORD, "the file ends before")
    wanted = np.array([reason is None for reason in rows.reasons], np.bool_)
    head = warcinfo(task.name, planned)
    lengths = np.where(wanted, planned["length"].to_numpy(), 0)
    rows.offsets = np.where(wanted, len(head) + np.cumsum(lengths) - lengths, -1)
    rows.reasons = [reason or Reason.OK for reason in rows.reasons]
    ranges = planned.select(["url", "origin", "origin_offset", "length"]).filter(pa.array(wanted))
    tell(len(rows.urls), int(lengths.sum()))
    return _put(
        asked, task, planned, rows, partial(put_references, asked.objects, task.name, asked.query.data, head, ranges)
    )


def _refuse(asked: ArchiveAsk, planned: pa.Table, rows: _Rows) -> None:
    """Ends what is not asked for: forgotten addresses, and records that are longer than a response may be."""
    most = asked.config.max_bytes
    for row, (url, length) in enumerate(zip(rows.urls, planned["length"].to_pylist(), strict=True)):
        if asked.forgotten(url):
            rows.end(row, Reason.FORGOTTEN)
        elif length > most:
            rows.end(row, Reason.TOO_LARGE, f"{length} bytes; fetch.max_bytes is {most}")


@dataclass(frozen=True, slots=True)
class _Before:
    """What an earlier run has of a task: where each record is in its file, -1 for those to be asked for again."""

    offsets: NDArray[np.int64]
    reasons: list[str]
    details: list[str | None]
    attempts: NDArray[np.int16]


def _kept_before(objects: ObjectStore, task: ArchiveTask) -> _Before | None:
    with suppress(FileNotFoundError):
        found = pq.read_table(io.BytesIO(objects.read(log_of(task))))
        offsets = pc.fill_null(found["offset"], -1).to_numpy().astype(np.int64)
        return _Before(offsets, found["reason"].to_pylist(), found["detail"].to_pylist(), found["attempts"].to_numpy())
    return None


def _opened(objects: ObjectStore, task: ArchiveTask, before: _Before | None) -> BinaryIO:
    return io.BytesIO() if before is None or not (before.offsets >= 0).any() else objects.open(warc_of(task))


class _Copy:
    """Writes a task's records in their order."""

    def __init__(
        self,
        asked: ArchiveAsk,
        planned: pa.Table,
        rows: _Rows,
        before: _Before | None,
        kept: BinaryIO,
        stream: BinaryIO,
        reader: RangeReader,
        at_once: int,
        tell: Tell,
    ) -> None:
        self._asked, self._rows, self._before, self._kept = asked, rows, before, kept
        self._stream, self._reader, self._at_once, self._tell = stream, reader, at_once, tell
        self._origins = planned["origin"].combine_chunks()
        self._starts: list[int] = planned["origin_offset"].to_pylist()
        self._lengths: list[int] = planned["length"].to_pylist()
        self._planned = planned
        self._at = stream.tell()

    async def run(self) -> None:
        """Asks for ranges ahead of the one that is written."""
        wanted = self._wanted()
        ranges = ranges_of(self._planned.take(pa.array(wanted)))
        under_way: deque[asyncio.Task[Came | RangeError]] = deque()
        sizes = ranges.stops - ranges.starts
        begun = written = held = 0
        try:
            for number in range(len(ranges)):
                while begun < len(ranges) and (
                    begun == number or (begun - number < self._at_once + AHEAD and held + sizes[begun] <= HELD_BYTES)
                ):
                    origin = self._origins[int(wanted[ranges.first[begun]])].as_py()
                    span = int(ranges.starts[begun]), int(ranges.stops[begun])
                    under_way.append(asyncio.create_task(self._read(origin, *span)))
                    held += int(sizes[begun])
                    begun += 1
                content = await under_way.popleft()
                mine = wanted[ranges.first[number] : ranges.first[number + 1]]
                for rows in np.split(mine, np.flatnonzero(np.diff(mine) != 1) + 1):
                    self._keep_earlier(written, int(rows[0]))
                    self._write(rows, int(ranges.starts[number]), content)
                    written = int(rows[-1]) + 1
                held -= int(sizes[number])
        finally:
            for one in under_way:
                one.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
        self._keep_earlier(written, len(self._rows.urls))

    def _wanted(self) -> NDArray[np.int64]:
        """The records that are asked for."""
        open_rows = np.array([reason is None for reason in self._rows.reasons], np.bool_)
        if self._before is not None:
            for row in np.flatnonzero(open_rows):
                reason = _REASONS[self._before.reasons[row]]
                is_final = reason.again is Again.NEVER and reason not in self._asked.refetch
                if is_final and reason is not Reason.FORGOTTEN:
                    open_rows[row] = False
                    if reason is not Reason.OK:
                        self._rows.end(int(row), reason, self._before.details[row])
                    self._rows.attempts[row] = self._before.attempts[row]
        return np.flatnonzero(open_rows)

    async def _read(self, origin: str, start: int, stop: int) -> Came | RangeError:
        budget = self._asked.config.budget_bytes
        if budget is not None and self._reader.requests.bytes + stop - start > budget:
            return RangeError(Reason.BUDGET, f"fetch.budget_bytes is {budget}")
        try:
            return await self._reader.read(origin, start, stop)
        except RangeError as error:
            return error

    def _write(self, rows: NDArray[np.int64], start: int, content: Came | RangeError) -> None:
        """Checks the records of a range, and writes those that are what the index says."""
        size = 0
        self._rows.attempts[rows] = min(content.attempts, _MOST_ATTEMPTS)
        if isinstance(content, RangeError):
            for row in rows:
                self._rows.end(int(row), content.reason, content.detail)
        else:
            view = memoryview(content.content)
            run: list[int] = []  # records that follow each other: one piece of the range, written at once
            for row in rows.tolist():  # for each record, of some 20 kB
                at, length = self._starts[row] - start, self._lengths[row]
                member = view[at : at + length]
                flaw = "the file ends before" if len(member) < length else flaw_of(member, self._rows.urls[row])
                if flaw is not None:
                    self._rows.end(row, Reason.NO_RECORD, flaw)
                    continue
                if run and self._starts[run[-1]] + self._lengths[run[-1]] != at + start:
                    self._append(run, self._piece(view, run, start))
                    run = []
                run.append(row)
                size += length
            self._append(run, self._piece(view, run, start))
        self._tell(len(rows), size)

    def _keep_earlier(self, start: int, stop: int) -> None:
        """Copies the records between two ranges that an earlier run has."""
        for row in range(start, stop):
            if self._rows.reasons[row] is None and self._before is not None and self._before.offsets[row] >= 0:
                self._kept.seek(int(self._before.offsets[row]))
                self._append([row], memoryview(self._kept.read(self._lengths[row])))
            self._tell(1, 0)

    def _piece(self, view: memoryview, run: list[int], start: int) -> memoryview:
        """The bytes of records that follow each other, in a range that begins at `start`."""
        if not run:
            return view[:0]
        return view[self._starts[run[0]] - start : self._starts[run[-1]] + self._lengths[run[-1]] - start]

    def _append(self, run: list[int], members: memoryview) -> None:
        """Writes records that follow each other."""
        self._stream.write(members)
        for row in run:
            self._rows.offsets[row] = self._at
            self._rows.reasons[row] = Reason.OK
            self._at += self._lengths[row]


_DECISIONS: Final = {Reason.OK: Decision.FETCHED, Reason.FORGOTTEN: Decision.REFUSED}


def _put(
    asked: ArchiveAsk, task: ArchiveTask, planned: pa.Table, rows: _Rows, put_records: Callable[[], None]
) -> Tally:
    """Puts the file and then its rows, which commit it; of a task that had rows these go first."""
    objects = asked.objects
    reasons = [reason or Reason.SERVER_ERROR for reason in rows.reasons]
    table = log_rows(asked, task, planned, rows, reasons)
    again = any(reason.again is Again.LATER for reason in reasons)
    if again:
        objects.put(f"{AGAIN}{task.name}", b"")
    objects.delete(log_of(task))
    if (rows.offsets >= 0).any():
        put_records()
    if task.is_robots:
        put_table(objects, log_of(task), table)
    else:
        put_log(objects, task.name, table)
    if not again:
        objects.delete(f"{AGAIN}{task.name}")
    tally = Tally(warc_files=int((rows.offsets >= 0).any()))
    for reason, count in Counter(reasons).items():
        tally.add_rows(_DECISIONS.get(reason, Decision.FAILED), reason, count)
    tally.bytes = int(planned["length"].to_numpy()[rows.offsets >= 0].sum())
    return tally


def log_rows(asked: ArchiveAsk, task: ArchiveTask, planned: pa.Table, rows: _Rows, reasons: list[Reason]) -> pa.Table:
    """The rows of the log of a task, in the order of its records."""
    count = planned.num_rows
    there = pa.array(rows.offsets >= 0)
    found: dict[str, pa.Array | pa.ChunkedArray] = {
        "url": pa.array([clean(url, MAX_URL) for url in rows.urls]),
        "canonical": planned["canonical"],
        "domain": planned["domain"],
        "decision": pa.array([str(_DECISIONS.get(reason, Decision.FAILED)) for reason in reasons]),
        "reason": pa.array([str(reason) for reason in reasons]),
        "detail": pa.array(rows.details, pa.string()),
        "status": planned["status"],
        "mime": planned["mime"],
        "attempts": pa.array(rows.attempts),
        "fetched_at": planned["fetched_at"],
        "warc": pc.if_else(there, warc_of(task), None),
        "offset": pc.if_else(there, pa.array(rows.offsets), None),
        "length": pc.if_else(there, planned["length"], None),
        "origin": planned["origin"],
        "origin_offset": planned["origin_offset"],
        "crawl": pc.coalesce(planned["crawl"], pa.scalar(asked.query.crawl, pa.string())),
    }
    columns = [found[field.name] if field.name in found else pa.nulls(count, field.type) for field in LOG]
    return pa.table(columns, names=LOG.names).cast(LOG)


def warcinfo(name: str, planned: pa.Table) -> bytes:
    """The first record of a file: where its others are from. It has no clock: its date is its newest record's."""
    newest = pc.max(planned["fetched_at"]).as_py()
    date = "1970-01-01T00:00:00Z" if newest is None else newest.strftime("%Y-%m-%dT%H:%M:%SZ")
    crawls = ", ".join(sorted(filter(None, pc.unique(planned["crawl"]).to_pylist())))
    fields = {"software": "winnow fetch", "format": "WARC File Format 1.1", "isPartOf": crawls}
    fields["description"] = "records of an archive, byte for byte; the log names the file and the offset of each"
    body = "".join(f"{key}: {value}\r\n" for key, value in fields.items() if value).encode()
    identity = uuid.UUID(bytes=hashlib.blake2b(name.encode() + body, digest_size=16).digest())
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:{identity}>\r\nWARC-Date: {date}\r\n"
        f"WARC-Filename: {name}.warc.gz\r\nContent-Type: application/warc-fields\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)  # stored, as what packs better differs between versions of zlib
    return packer.compress(head.encode() + body + b"\r\n\r\n") + packer.flush()
