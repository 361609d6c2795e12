"""Runs an extractor later: reads a shard's records again by reference, with the same result as during ingest.

A row records which range of which file it came from, so its reader is given just that range.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from winnow.filters.web.sniff import is_page
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.records import Reader, Record
from winnow.pipelines.ingest.rows import Row, page_batch, row_of
from winnow.pipelines.ingest.shards import BATCH_BYTES, BATCH_ROWS, extract, extraction_writer
from winnow.pipelines.running.ledger.worker_deaths import Marker, Position, excluded_positions, has_killed_worker
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.running.worker import HeartbeatWriter
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.redaction import is_redacted, redacted, redacted_batches
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.layers import commit_layers
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart


@dataclass(frozen=True, slots=True)
class ExtractionTask(TaskLine):
    """A shard that lacks a layer."""

    shard: str
    source: str
    samples: str
    layer: str
    key: str  # of the layer

    @property
    def commit(self) -> str:
        """The path of the task's commit."""
        return layout.layer_commit(layout.set_name({self.layer: self.key}), self.shard)


class RecordFinder:
    """Reads single records of a source again; keeps the most recent file open."""

    def __init__(self, context: IngestContext, source: IngestSource, marker: Marker) -> None:
        self._context = context
        self._source = source
        self._marker = marker
        self._poisoned = excluded_positions(context.store.objects, source.rows.name)
        self._path = ""
        self._stream: BinaryIO | None = None
        self._reader: Reader | None = None
        self._size = 0
        self._etag = ""

    def find(self, path: str, offset: int, member: int, identity: bytes) -> Row | None:
        """Reads a range again and checks that it gives the same sample; None for one that kills workers."""
        if Position(path, offset, member) in self._poisoned:
            return None
        self._marker.at(path, offset, member)
        reader, stream = self._open(path)
        part = FilePart(path, self._size, offset, offset + 1)
        for event in reader(stream, part, self._context.limits):
            if isinstance(event, Record) and event.span.offset == offset and event.span.member == member:
                row = row_of(event, path, self._etag, self._source.rows)
                if isinstance(row, Row) and row.id == identity:
                    return row
                break
        raise SourceError(
            f"{self._source.objects.root}/{path}: the record ingested from offset {offset} is no longer there; "
            "restore the file, or run with --replace"
        )

    def close(self) -> None:
        """Closes the open file."""
        if self._stream:
            self._stream.close()
            self._stream = None

    def _open(self, path: str) -> tuple[Reader, BinaryIO]:
        if self._stream is None or self._reader is None or path != self._path:
            self.close()
            try:
                self._stream = self._source.objects.open(path)
            except FileNotFoundError:
                raise SourceError(
                    f"{self._source.objects.root}/{path}: missing, but a new extractor must read it again; restore it"
                ) from None
            self._size = self._stream.seek(0, 2)
            self._etag = content_etag(self._stream, self._size)
            self._reader = container_reader(self._source.format, path, self._source.columns)
            self._path = path
        return self._reader, self._stream


def extract_shard(context: IngestContext, task: ExtractionTask, heartbeat: HeartbeatWriter) -> None:
    """Computes and commits one layer of one committed shard."""
    source = context.sources[task.source]
    bound = next(bound for bound in context.extractors if bound.layer == task.layer)
    objects = context.store.objects
    step = 1 if has_killed_worker(objects, task.source, task.shard) else BATCH_ROWS
    marker = Marker(task.source, task.shard)
    rows = 0
    hidden = load_hiding(objects).of(objects, task.samples).rows
    batches = redacted_batches(layout.SAMPLES, read_batches(objects, task.samples, batch_rows=BATCH_ROWS), hidden)
    try:
        with extraction_writer(context.store, bound) as writer:
            with closing(RecordFinder(context, source, marker)) as finder:
                for samples in _small_batches(batches, step):
                    for first, last, pages in _pages(samples, finder):
                        some = samples.slice(first, last - first)
                        writer.write(redacted(bound.layer, extract(bound, some, pages), is_redacted(some)))
                        rows += last - first
                        heartbeat(rows, rows, 0)
            written = writer.finish(task.layer, task.key, task.shard)
        commit_layers(context.store, task.shard, task.source, task.samples, [written])
    finally:
        marker.clear()


def _small_batches(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _pages(samples: pa.RecordBatch, finder: RecordFinder) -> Iterator[tuple[int, int, pa.RecordBatch]]:
    """Yields the pages of consecutive rows, as many at once as a batch's byte limit allows."""
    pages: list[str | bytes | None] = []
    first = held = 0
    mimes, texts = samples["mime"].to_pylist(), samples["text"].is_null().to_pylist()
    urls = samples["url"].to_pylist()
    for index, (origin, identity) in enumerate(zip(samples["source"], samples["id"], strict=True)):
        html = None
        if texts[index] and is_page(mimes[index]):
            place = origin.as_py()
            row = finder.find(place["path"], place["offset"], place["member"], identity.as_py())
            html = row.html if row else None
        pages.append(html)
        held += len(html or "")
        if held >= BATCH_BYTES:
            yield first, index + 1, page_batch(pages, urls[first : index + 1])
            first, held, pages = index + 1, 0, []
    if pages:
        yield first, samples.num_rows, page_batch(pages, urls[first:])
