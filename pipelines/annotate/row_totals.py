"""Adds up rows of a store by key, for an operator that compares rows with all those of their key.

Shards send one line for each key and part that their rows have, so a key of ten million rows costs as many lines as it
has shards and parts. A partition adds them up and answers every group of shards that sent lines. All sums are of
integers, so they are the same in any order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import KEYS, PART, RowTotals
from winnow.pipelines.annotate.meeting import Meeting
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.job_steps import Batches
from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep

_OF = ["key", "part"]
_GROUP = pa.field("group", pa.int64(), nullable=False)  # the group of shards that sent the line


@dataclass(frozen=True)
class RowTotalsJob(Meeting):
    """The meeting of the rows of a store for one operator that adds them up. Picklable."""

    @property
    def job(self) -> LinearJob:
        """The job that stores the sums for every shard."""
        between = (ExchangeStep("Sums", self.partitions, self._add, self.route),)
        last = StoreStep("Shards", self.shards.groups, self.store)
        return LinearJob(self.steps, "Lines", self.shards.groups, self._send, between, last)

    @property
    def lookup(self) -> RowTotals:
        """How the operator adds up rows."""
        assert isinstance(self.operator.lookup, RowTotals)
        return self.operator.lookup

    @property
    def answer_schema(self) -> pa.Schema:
        """The columns of sums."""
        amounts = [pa.field(name, pa.int64(), nullable=False) for name in self.lookup.amounts]
        return pa.schema([pa.field("key", KEYS, nullable=False), PART, *amounts])

    def _send(self, group: int) -> Iterator[AddressedBlock]:
        schema = self.answer_schema.append(_GROUP)

        def lines() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
            for shard in self.shards.in_group(group):
                parts = [self.lookup.lines(self.prepared, batch) for _, batch, _ in self.read(shard)]
                found = added_up(parts, self.answer_schema)
                self.keep_asked(shard, found["key"].unique())
                sent = pa.RecordBatch.from_arrays([*found.columns, pa.array(np.full(len(found), group))], schema=schema)
                yield sent, partition_of_key(sent["key"], self.partitions)

        yield from self.route.send(group, lines())

    def _add(self, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
        lines = pa.Table.from_batches(batches, schema=self.answer_schema.append(_GROUP))
        sums = added_up(lines.drop_columns([_GROUP.name]).to_batches(), self.answer_schema)
        shown = sums.filter(pa.array(self.lookup.shown(self.prepared, sums)))
        sent = lines.select([*_OF, _GROUP.name])
        askers = sent.group_by(["key", _GROUP.name]).aggregate([])
        answered = askers.join(pa.table(shown).select(_OF), "key", join_type="inner")
        answered = answered.select(sent.column_names).cast(sent.schema)
        wanted = pa.concat_tables([sent, answered]).group_by(sent.column_names).aggregate([])
        found = wanted.join(pa.table(sums), _OF, join_type="inner")
        found = found.sort_by([(name, "ascending") for name in (_GROUP.name, *_OF)]).combine_chunks()
        answers = (
            (
                pa.RecordBatch.from_arrays(
                    [batch[name] for name in self.answer_schema.names], schema=self.answer_schema
                ),
                batch[_GROUP.name].to_numpy(),
            )
            for batch in found.to_batches()
        )
        yield from addressed_blocks(f"sums-{partition}", answers, self.shards.groups)


def added_up(lines: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Lines of the same key and part as one, sorted by both."""
    table = pa.Table.from_batches(lines, schema=schema)
    amounts = schema.names[len(_OF) :]
    sums = table.group_by(_OF).aggregate([(name, "sum") for name in amounts])
    sums = sums.select([*_OF, *(f"{name}_sum" for name in amounts)]).rename_columns(schema.names)
    batches = sums.sort_by([(name, "ascending") for name in _OF]).combine_chunks().to_batches()
    columns = batches[0].columns if batches else [pa.array([], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
