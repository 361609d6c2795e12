"""Compares parts of the rows of a store that meet by key, for an operator whose lookup has said which may be equal.

Shards send lines, which bring what is compared with them. A partition has all lines of its keys, and answers every
group of shards that asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import ANSWERS, RowComparison, RowLookup
from winnow.pipelines.annotate.meeting import Meeting
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.job_steps import Batches
from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep

_GROUP = pa.field("group", pa.int64(), nullable=False)  # the group of shards that sent the line


@dataclass(frozen=True)
class RowComparisonJob(Meeting):
    """The meeting of parts of the rows of a store, for one operator that compares them. Picklable."""

    first: Meeting  # the lookup whose answers decide which parts are compared

    @property
    def job(self) -> LinearJob:
        """The job that stores the answers for every shard."""
        between = (ExchangeStep("Compared", self.partitions, self._compare, self.route),)
        last = StoreStep("Shards", self.shards.groups, self.store)
        return LinearJob(self.steps, "Lines", self.shards.groups, self._send, between, last)

    @property
    def lookup(self) -> RowComparison:
        """How the operator compares: what is the same for all shards."""
        return self._after(pa.RecordBatch.from_pylist([], schema=ANSWERS))

    def lookup_of(self, shard: int) -> RowComparison:
        """How the operator compares a shard's rows."""
        return self._after(self.first.found(shard))

    def _after(self, answers: pa.RecordBatch) -> RowComparison:
        lookup = self.first.lookup
        assert isinstance(lookup, RowLookup)
        assert lookup.second is not None
        return lookup.second(self.prepared, answers)

    @property
    def answer_schema(self) -> pa.Schema:
        """The columns of answers."""
        return self.lookup.answers

    def _send(self, group: int) -> Iterator[AddressedBlock]:
        yield from self.route.send(group, self._lines(group))

    def _lines(self, group: int) -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        """The lines of a group's shards, batch by batch; keeps what each shard asks."""
        for shard in self.shards.in_group(group):
            comparison = self.lookup_of(shard)
            asked = [pa.array([], self.answer_schema.field("key").type)]
            for _, batch, _ in self.read(shard):
                lines = comparison.lines(self.prepared, batch)
                asked.append(lines["asked"].unique())
                sent = lines.append_column(_GROUP, pa.array(np.full(len(lines), group)))
                yield sent, partition_of_key(lines["key"], self.partitions)
            self.keep_asked(shard, pa.concat_arrays(asked).unique())

    def _compare(self, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
        lines = pa.concat_batches(batches)
        askers = pa.table(lines.select(["asked", _GROUP.name])).group_by(["asked", _GROUP.name]).aggregate([])
        found = pa.table(self.lookup.compare(self.prepared, lines.drop_columns([_GROUP.name])))
        names = [*self.answer_schema.names, _GROUP.name]
        answers = found.join(askers, "key", "asked", join_type="inner").select(names)
        order = [(name, "ascending") for name in (_GROUP.name, *self.answer_schema.names)]
        answers = answers.sort_by(order).cast(self.answer_schema.append(_GROUP)).combine_chunks()
        addressed = (
            (batch.drop_columns([_GROUP.name]), batch[_GROUP.name].to_numpy()) for batch in answers.to_batches()
        )
        yield from addressed_blocks(f"compared-{partition}", addressed, self.shards.groups)
