"""Writes a task's rows as shards: the samples and, in the same pass, the layers of every extractor."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.extraction.reading import ExtractionRows
from winnow.pipelines.ingest.boundary import is_of_content
from winnow.pipelines.ingest.planning.context import BoundExtractor, IngestContext, IngestSource, selected
from winnow.pipelines.ingest.rows import Row, page_batch, sample_batch, text_bytes
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.redaction import redacted
from winnow.pipelines.store.layers import LayerWriter, put_statistics
from winnow.schemas.records import ShardRecord
from winnow.schemas.rows.extraction import PAGES
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics import SAMPLES_STATISTICS, layer_spec

BATCH_ROWS = 1024
BATCH_BYTES = 8 << 20


class ShardWriter:
    """Cuts a task's rows into shards by rows and bytes of text; commits each shard when it is full."""

    def __init__(
        self,
        context: IngestContext,
        source: IngestSource,
        key: str,
        task: str,
        forgotten: Matcher,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self._context = context
        self._source = source
        self._key = key
        self._task = task
        self._forgotten = forgotten
        self._batch_rows = batch_rows
        self._samples: LayerWriter | None = None
        self._layers: list[LayerWriter] = []
        self._pending: list[Row] = []
        self._pending_held = 0
        self._shard_rows = 0
        self._shard_bytes = 0
        self.shards: list[ShardRecord] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Adds rows; one that would exceed a shard's limit begins the next shard."""
        limits = self._context.store.record
        for row in rows:
            row.encode()
        for row, size in zip(rows, text_bytes(rows), strict=True):
            full = self._shard_rows >= limits.shard_rows or self._shard_bytes + size > limits.shard_bytes
            if self._shard_rows and full:
                self._close()
            self._pending.append(row)
            self._pending_held += row.held
            self._shard_rows += 1
            self._shard_bytes += size
            if len(self._pending) >= self._batch_rows or self._pending_held >= BATCH_BYTES:
                self._flush()

    def finish(self) -> tuple[ShardRecord, ...]:
        """Commits the last shard."""
        if self._shard_rows:
            self._close()
        return tuple(self.shards)

    def discard(self) -> None:
        """Discards the shard that is being written."""
        for writer in (self._samples, *self._layers):
            if writer:
                writer.discard()

    def _flush(self) -> None:
        if not self._pending:
            return
        if self._samples is None:
            self._samples = LayerWriter(self._context.store, SAMPLES, SAMPLES_STATISTICS)
            self._layers = [extraction_writer(self._context.store, bound) for bound in self._context.extractors]
        samples = sample_batch(self._pending, self._source.rows)
        pages = page_batch(
            [None if row.forgotten else row.html for row in self._pending], [row.url for row in self._pending]
        )
        forgotten = np.array([row.forgotten for row in self._pending], np.bool_)
        for row in self._pending:  # others hold the rows
            row.text = row.html = None
        self._pending.clear()
        self._pending_held = 0
        made = [extract(bound, samples, pages) for bound in self._context.extractors]
        if self._forgotten.selectors.sha256:
            for batch in made:
                forgotten |= self._forgotten.texts(batch["text"])
        self._samples.write(redacted(layout.SAMPLES, samples, forgotten))
        for batch, bound, writer in zip(made, self._context.extractors, self._layers, strict=True):
            writer.write(redacted(bound.layer, batch, forgotten))

    def _close(self) -> None:
        self._flush()
        assert self._samples is not None
        shard = f"{self._task}-{len(self.shards):04d}"
        samples = self._samples.finish(layout.SAMPLES, self._key, shard)
        layers = [
            writer.finish(bound.layer, bound.key(self._key), shard)
            for bound, writer in zip(self._context.extractors, self._layers, strict=True)
        ]
        statistics = put_statistics(self._context.store, shard, [samples, *layers])
        parts = tuple(layer.part for layer in layers)
        self.shards.append(ShardRecord(shard, samples.part.object, statistics, parts))
        self._samples = None
        self._layers = []
        self._shard_rows = 0
        self._shard_bytes = 0


def extraction_writer(store: Store, bound: BoundExtractor) -> LayerWriter:
    """A writer of an extractor's layer."""
    schema = bound.schema
    return LayerWriter(store, schema, layer_spec(bound.layer, schema))


def extract(bound: BoundExtractor, samples: pa.RecordBatch, pages: pa.RecordBatch) -> pa.RecordBatch:
    """An extractor's rows for a batch; rows outside its `where` are null and marked so."""
    asked = selected(samples, bound.where)
    if asked is None:
        return _extracted(bound, pages)
    mask = pa.array(asked)
    html = pc.if_else(mask, pages["html"], pa.scalar(None, pa.large_string()))
    given = pa.RecordBatch.from_arrays([html, pages["url"]], schema=PAGES)
    result = _extracted(bound, given)
    status = pc.if_else(mask, result["status"], pa.scalar("not_selected"))
    return result.set_column(0, bound.schema.field("status"), status)


def _extracted(bound: BoundExtractor, pages: pa.RecordBatch) -> pa.RecordBatch:
    """What an extractor makes of pages; one on which it raises has failed, as one that it gives up."""
    try:
        return bound.extractor.kernel(pages, bound.config)
    except Exception as error:
        if not is_of_content(error):
            raise
    if pages.num_rows > 1:
        alone = [_extracted(bound, pages.slice(row, 1)) for row in range(pages.num_rows)]
        return pa.Table.from_batches(alone).combine_chunks().to_batches()[0]
    rows = ExtractionRows(bound.extractor.columns(bound.config))
    rows.refuse("failed")
    return rows.batch()
