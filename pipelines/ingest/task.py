"""Runs one ingest task from start to commit, as a plain function.

Nothing that the task writes is visible before its commit, and the commit is put only if absent: a task may
run twice, concurrently or after a crash, and the first to finish wins. Both would have put the same bytes.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, BinaryIO

import pyarrow as pa

from winnow.filters.image.decode.containers import Bytes, InMemoryBytes
from winnow.filters.known_harm.matching import HarmMatch
from winnow.pipelines.decoding.file_bytes import FileBytes
from winnow.pipelines.decoding.known_harm import KNOWN_HARM, KnownHarm
from winnow.pipelines.ingest.archives.large_bodies import open_body
from winnow.pipelines.ingest.boundary import is_of_content, unless_it_fails
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.formats import container_reader, format_of, media_place
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.ingest.planning.identities import SeenIds
from winnow.pipelines.ingest.records import (
    Covered,
    Dropped,
    Event,
    Reader,
    ReadLimits,
    Record,
    Unreadable,
    repeated_key,
)
from winnow.pipelines.ingest.row_maker import RowMaker
from winnow.pipelines.ingest.rows import Row, sample_batch, text_bytes
from winnow.pipelines.ingest.shards import BATCH_BYTES, BATCH_ROWS, ShardWriter
from winnow.pipelines.running.ledger.ingest_tasks import IngestTask, TaskFile
from winnow.pipelines.running.ledger.worker_deaths import Marker, Position, excluded_positions, has_killed_worker
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.sealed import put_record_if_absent, read_record
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.environment.fingerprint import current_fingerprint
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import sample_id
from winnow.schemas.records import InputRecord, ObjectRecord, TaskCommit
from winnow.schemas.rows.samples import DROPPED, QUARANTINE

COPY_BYTES = 1 << 20
RANGES_PER_BATCH = 8192
RECORDS_PER_BEAT = 16  # videos may take seconds each

ReportProgress = Callable[[int, int, int], None]
"""Called now and then with the number of records read, rows made and bytes done."""

__all__ = ["known_harm_of"]


def range_row(source: str, path: str, event: Dropped | Unreadable) -> dict[str, object]:
    """The row of a range that became no sample."""
    row: dict[str, object] = {
        "source": source,
        "path": path,
        "offset": event.span.offset,
        "length": event.span.length,
        "unit": event.span.unit,
        "member": event.span.member,
        "reason": event.reason,
    }
    if isinstance(event, Unreadable):
        row |= {"record": event.key, "detail": event.detail}
    return row


class RangeWriter:
    """Writes the ranges that a task dropped or quarantined."""

    def __init__(self, store: Store, kind: str, schema: pa.Schema) -> None:
        self._store = store
        self._kind = kind
        self._schema = schema
        self._rows: list[dict[str, object]] = []
        self._table: TableWriter | None = None
        self.reasons: Counter[str] = Counter()

    def add(self, source: str, path: str, event: Dropped | Unreadable) -> None:
        """Adds one range."""
        self.reasons[event.reason] += 1
        self._rows.append(range_row(source, path, event))
        if len(self._rows) >= RANGES_PER_BATCH:
            self._flush()

    def finish(self, task: str) -> ObjectRecord | None:
        """Publishes the ranges; None if there are none."""
        self._flush()
        return (
            self._table.finish(lambda content: layout.range_object(self._kind, task, content)) if self._table else None
        )

    def discard(self) -> None:
        """Discards the ranges."""
        if self._table:
            self._table.discard()

    def _flush(self) -> None:
        if self._rows:
            self._table = self._table or TableWriter(self._store.objects, self._schema)
            self._table.write(pa.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()


class TaskRun:
    """The state of one running task; `one_by_one` finds the row on which a batch fails."""

    def __init__(
        self, context: IngestContext, task: IngestTask, heartbeat: ReportProgress, *, one_by_one: bool = False
    ) -> None:
        self._context = context
        self._source = context.sources[task.source]
        self._task = task
        self._heartbeat = heartbeat
        self._key = self._source.key(context.limits)
        objects = context.store.objects
        self._one_by_one = one_by_one or has_killed_worker(objects, task.source, task.name)
        self._poisoned = excluded_positions(objects, task.source)
        self._marker = Marker(task.source, task.name)
        self._forgotten = Matcher(load_hiding(objects).selectors)
        self._forgotten_ids = set(self._forgotten.selectors.id)
        rows = 1 if self._one_by_one else BATCH_ROWS
        self._shards = ShardWriter(context, self._source, self._key, task.name, self._forgotten, rows)
        self._dropped = RangeWriter(context.store, "dropped", DROPPED)
        self._quarantine = RangeWriter(context.store, "quarantine", QUARANTINE)
        self._maker = RowMaker(self._source, context.limits, context.videos)
        self._waiting: list[Row] = []
        self._waiting_held = 0
        self._seen = SeenIds()
        self._records = 0
        self._kept = 0
        self._unread = 0
        self._done_bytes = 0

    def run(self) -> TaskCommit:
        """Reads every file of the task, publishes the rows, and returns the commit record."""
        try:
            inputs = tuple(self._read(file) for file in self._task.files)
            shards = self._shards.finish()
            dropped = self._dropped.finish(self._task.name)
            quarantine = self._quarantine.finish(self._task.name)
        except BaseException:
            self._shards.discard()
            self._dropped.discard()
            self._quarantine.discard()
            raise
        finally:
            self._marker.clear()
        return TaskCommit(
            task=self._task.name,
            key=self._key,
            source=self._task.source,
            inputs=inputs,
            shards=shards,
            dropped=dropped,
            quarantine=quarantine,
            records=self._records,
            kept=self._kept,
            dropped_by_reason=dict(sorted(self._dropped.reasons.items())),
            quarantined_by_reason=dict(sorted(self._quarantine.reasons.items())),
            input_bytes=self._task.bytes,
            fingerprint=current_fingerprint().name,
            unread=self._unread,
        )

    def _read(self, file: TaskFile) -> InputRecord:
        path, part = file.part.path, file.part
        place = f"{self._source.objects.root}/{path}"
        try:
            stream = self._source.objects.open(path)
        except FileNotFoundError:
            raise SourceError(
                f"{place}: the file was listed but is now missing; restore it, or run again without it"
            ) from None
        with closing(stream):
            size = stream.seek(0, 2)
            if size != part.size:
                raise SourceError(f"{place}: has {size} bytes, had {part.size} when listed; run again with --replace")
            etag = content_etag(stream, size)
            checked = self._source.on_schema_mismatch == "error"
            if self._source.clips is not None:
                reader: Reader = self._source.clips.read
            else:
                reader = container_reader(
                    self._source.format, path, self._source.columns, checked=checked, with_referrers=True
                )
            first, last = -1, -1
            self._seen = SeenIds()  # ids include the path, so files cannot share one
            for event in reader(stream, part, self._context.limits):
                if isinstance(event, Covered):
                    first, last = event.first, event.last
                    continue
                span = event.span
                if span.unit == "bytes":
                    first = span.offset if first < 0 else first
                    last = max(last, span.offset + span.length)
                self._take(event, path, etag)
                if self._records % RECORDS_PER_BEAT == 0:
                    at = span.offset if span.unit == "bytes" else stream.tell()  # of one member all lines have one
                    read = min(max(0, at - part.start), part.end - part.start)
                    self._heartbeat(self._records, self._kept, self._done_bytes + read)
            self._admit_waiting()
            digest = part_digest(stream, part.start, part.end)
        self._done_bytes += part.end - part.start
        self._heartbeat(self._records, self._kept, self._done_bytes)
        return InputRecord(
            path=path, size=part.size, start=part.start, end=part.end, digest=digest, first=first, last=last
        )

    def _take(self, event: Event, path: str, etag: str) -> None:
        self._records += 1
        span = event.span
        self._marker.at(path, span.offset, span.member)
        if self._poisoned and Position(path, span.offset, span.member) in self._poisoned:
            event = Unreadable(span, "killed_worker", "left out after its worker died on it three times")
        outcome: Row | Dropped | Unreadable
        if isinstance(event, Record):
            outcome = unless_it_fails(event, self._row, event, path, etag)
            event.text = event.body = None  # its reader holds it until the next
        else:
            outcome = event
        if isinstance(outcome, Row):
            self._waiting.append(outcome)
            self._waiting_held += outcome.held
            if self._one_by_one or len(self._waiting) >= BATCH_ROWS or self._waiting_held >= BATCH_BYTES:
                self._admit_waiting()
        else:
            self._refuse(path, outcome)

    def _row(self, record: Record, path: str, etag: str) -> Row | Dropped | Unreadable:
        """Converts a record to a row, unless it holds what is known to be harmful."""
        row = self._maker.row(record, path, etag)
        if self._one_by_one and isinstance(row, Row):
            text_bytes([row])
            sample_batch([row], self._source.rows)
        if self._context.known_harm is None or not isinstance(row, Row):
            return row
        match = known_harm_of(self._context.known_harm, row, record, self._source.objects, self._context.limits)
        return row if match is None else Unreadable(record.span, KNOWN_HARM, str(match), record.key)

    def _admit_waiting(self) -> None:
        """Admits the waiting rows, except those whose id appeared before."""
        keyed = [row.id for row in self._waiting if row.keyed]
        fresh = iter(self._seen.admit(keyed))
        if self._forgotten.selectors and self._waiting:
            meant = self._forgotten.rows(sample_batch(self._waiting, self._source.rows))
            for row, forgotten in zip(self._waiting, meant.tolist(), strict=True):
                row.forgotten = forgotten
            self._forgotten_ids.update(row.id for row in self._waiting if row.forgotten)
        admitted = []
        for row in self._waiting:
            if row.keyed and not next(fresh):
                detail = repeated_key(row.key, format_of(self._source.format, row.path).on_repeated_key)
                self._refuse(row.path, Unreadable(row.span, "duplicate_id", detail, row.key))
            else:
                admitted.append(row)
        self._shards.add(admitted)
        self._kept += len(admitted)
        self._unread += sum(row.unread for row in admitted)
        self._waiting.clear()
        self._waiting_held = 0

    def _refuse(self, path: str, event: Dropped | Unreadable) -> None:
        if isinstance(event, Unreadable) and self._is_forgotten(path, event.key):
            event = Unreadable(event.span, event.reason)  # drop the key and any quoted text
        writer = self._dropped if isinstance(event, Dropped) else self._quarantine
        writer.add(self._task.source, path, event)

    def _is_forgotten(self, path: str, key: str | None) -> bool:
        return (
            bool(self._forgotten_ids)
            and key is not None
            and sample_id(self._task.source, path, key) in self._forgotten_ids
        )


def run_task(context: IngestContext, task: IngestTask, heartbeat: ReportProgress) -> TaskCommit:
    """Runs and commits a task; returns the effective commit, which may be another run's."""
    try:
        commit = TaskRun(context, task, heartbeat).run()
    except Exception as error:
        if not is_of_content(error):
            raise
        commit = TaskRun(context, task, heartbeat, one_by_one=True).run()
    path = layout.task_commit(commit.key, commit.task)
    objects = context.store.objects
    return commit if put_record_if_absent(objects, path, commit) else read_record(objects, TaskCommit, path)


def part_digest(stream: BinaryIO, start: int, end: int) -> str:
    """The hash of a part's raw bytes, by which a later run knows that a file is unchanged."""
    state = hashlib.blake2b(digest_size=16)
    for piece in _pieces(stream, start, end):
        state.update(piece)
    return state.hexdigest()


def _pieces(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    stream.seek(start)
    while start < end:
        piece = stream.read(min(COPY_BYTES, end - start))
        if not piece:
            return
        start += len(piece)
        yield piece


def known_harm_of(
    harm: KnownHarm, row: Row, record: Record, objects: ObjectStore, limits: ReadLimits
) -> HarmMatch | None:
    """The first medium of a row that a list names; one that is too large to hold is read again, in pieces.

    `record`: what the row was made from; `objects`: the source, for media that are files of their own, and large ones;
    `limits`: those the record was read under.
    """
    media: Sequence[Mapping[str, Any]] = row.media
    for item, medium in zip(record.items or (record,), media, strict=False):  # a text has no medium
        with ExitStack() as opened:

            def content(
                item: Record = item, reference: Mapping[str, Any] = medium["ref"], opened: ExitStack = opened
            ) -> Bytes | None:
                if item.body is not None:
                    return InMemoryBytes(item.body)
                plain = media_place(reference["container"]) == "plain"
                if not plain and item.large is None:
                    return None
                stream = opened.enter_context(closing(objects.open(reference["path"])))
                if plain:
                    return FileBytes(stream, reference["length"], reference["offset"])
                body = open_body(stream, stream.seek(0, 2), item, limits)
                return None if body is None else opened.enter_context(closing(body)).content

            found = harm.match(medium["mime"], medium["sha256"], content)
            if found is not None:
                return found
    return None
