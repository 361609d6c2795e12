"""Cleans quarantined ranges of forgotten records, whose key or detail may quote the content."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row
from winnow.pipelines.store.hiding.redaction import emptied
from winnow.pipelines.store.hiding.scans import HiddenRows, Hiding, load_hiding
from winnow.pipelines.store.tables import read_batches, read_rows
from winnow.schemas.identity import sample_id
from winnow.schemas.records import GenerationRecord, TaskCommit

QUOTING = ("record", "detail")
"""The columns of a quarantined range that may quote its record."""


@dataclass(frozen=True)
class ForgottenRanges:
    """Recognises the ranges of forgotten records by a selected id, or the id of a forgotten sample."""

    store: Store
    hiding: Hiding
    hidden: Mapping[str, HiddenRows]  # by samples object

    @classmethod
    def of(cls, store: Store, record: GenerationRecord) -> "ForgottenRanges":
        """Those of one generation."""
        hiding = load_hiding(store.objects)
        return cls(store, hiding, every_hidden_row(store, record, hiding))

    def read(self, task: TaskCommit) -> Iterator[pa.RecordBatch]:
        """A task's quarantined ranges, without quotes from forgotten records."""
        if task.quarantine is None:
            return
        batches = read_batches(self.store.objects, task.quarantine.path)
        ids = self._ids(task)
        yield from (redacted_ranges(batch, *ids) for batch in batches) if any(ids) else batches

    def quotes(self, task: TaskCommit) -> bool:
        """Whether a task's ranges quote a forgotten record."""
        if task.quarantine is None:
            return False
        ids = self._ids(task)
        if not any(ids):
            return False
        raw = read_batches(self.store.objects, task.quarantine.path)
        return any(not redacted_ranges(batch, *ids).equals(batch) for batch in raw)

    def _ids(self, task: TaskCommit) -> tuple[Set[bytes], Set[bytes]]:
        """The selected ids, and those of the task's forgotten samples."""
        found: set[bytes] = set()
        for shard in task.shards:
            rows = self.hidden.get(shard.object.path)
            if rows is not None:
                table = read_rows(self.store.objects, shard.object.path, rows.rows.tolist(), ["id"])
                found.update(table["id"].to_pylist())
        return self.hiding.selectors.id, found


def redacted_ranges(batch: pa.RecordBatch, *ids: Set[bytes]) -> pa.RecordBatch:
    """The ranges, without quotes from records with these ids."""
    which = np.zeros(batch.num_rows, np.bool_)
    columns = (batch[name].to_pylist() for name in ("source", "path", "record"))
    for row, (source, path, record) in enumerate(zip(*columns, strict=True)):  # quarantined ranges are few
        if record is not None:
            identity = sample_id(source, path, record)
            which[row] = any(identity in some for some in ids)
    if not which.any():
        return batch
    arrays = [
        emptied(field, column, which) if field.name in QUOTING else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
