"""What jobs that bring rows of a store together share: which rows take part, and how answers get to their shards."""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.operators import KEYS, TEXT, Kernel, RowComparison, RowLookup, RowTotals, TextOperator
from winnow.pipelines.annotate.one_layer import selected
from winnow.pipelines.annotate.rows import BatchRows, Excluded, status_codes
from winnow.pipelines.binding.operators import BoundAssets, BoundOperator
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.pipelines.running.linear_jobs import LinearJob
from winnow.pipelines.running.row_arrays import single_array
from winnow.pipelines.running.scratch_parts import find_part, put_part, read_part
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.running.shard_rows import cut_by_bytes
from winnow.pipelines.store import layout

ASKED = pa.schema([pa.field("key", KEYS, nullable=False)])
"""The keys that a shard asks for, kept until the answers are there."""

_ID = Column(layout.SAMPLES, "id")


@dataclass(frozen=True, slots=True)
class _Preparation:
    """What a lookup is prepared from; equal for one layer, even after it was pickled."""

    layer: str
    config: str
    assets: BoundAssets
    bound: BoundOperator = field(compare=False)


@lru_cache(maxsize=4)
def _prepare(made_of: _Preparation) -> Any:
    """What the functions of a lookup get, made once a process."""
    operator = made_of.bound.operator
    assert isinstance(operator, TextOperator)
    assert isinstance(operator.lookup, RowLookup)
    return operator.lookup.prepare(made_of.bound.config, made_of.assets)


@dataclass(frozen=True)
class Meeting(ABC):
    """The meeting of the rows of a store for one operator. Picklable."""

    bound: BoundOperator
    steps: JobSteps
    shards: ShardList[ListedShard]
    partitions: int

    @property
    @abstractmethod
    def job(self) -> LinearJob:
        """The job that stores the answers for every shard that asked."""

    @property
    def route(self) -> Route:
        """By which groups of shards send their lines to partitions."""
        return Route(self.shards.groups, self.partitions)

    @property
    @abstractmethod
    def lookup(self) -> RowLookup | RowTotals | RowComparison:
        """How the operator looks across rows."""

    @property
    @abstractmethod
    def answer_schema(self) -> pa.Schema:
        """The columns of answers, the first two of which say their order."""

    @property
    def operator(self) -> TextOperator:
        """The operator."""
        assert isinstance(self.bound.operator, TextOperator)
        return self.bound.operator

    @property
    def prepared(self) -> Any:
        """What the lookup's functions get."""
        if not isinstance(self.operator.lookup, RowLookup):
            return self.bound.config
        return _prepare(_Preparation(self.bound.layer, repr(self.bound.config), self.bound.assets, self.bound))

    def kernel(self, shard: str) -> Kernel:
        """The operator's kernel for a shard, once the job has run."""
        number = bisect_left(self.shards.all, shard, key=lambda one: one.shard)
        return self.lookup_of(number).load(self.prepared, self.found(number))

    def found(self, shard: int) -> pa.RecordBatch:
        """The answers to a shard's rows."""
        found = find_part(self.steps.objects, self.steps.scratch, "answers", shard)
        return pa.RecordBatch.from_pylist([], schema=self.answer_schema) if found is None else found

    def lookup_of(self, _shard: int) -> RowLookup | RowTotals | RowComparison:
        """The lookup for a shard's rows."""
        return self.lookup

    def read(self, shard: int) -> Iterator[tuple[NDArray[np.int64], pa.RecordBatch, pa.Array]]:
        """The rows of a shard that the operator measures, as it reads them, in batches: their numbers, and their ids.

        Batches without such rows are left out.
        """
        bound, operator = self.bound, self.operator
        names = operator.reads(bound.config)
        texts = bound.text if TEXT in names else ()
        at = 0
        for _, batch in self.shards.read(shard, list(dict.fromkeys((*bound.columns, _ID)))):
            for part in cut_by_bytes(batch, texts):
                rows = BatchRows(part)
                if texts:
                    rows.add({TEXT: text_of(texts, part)})
                excluded = Excluded(selected(bound, rows), None)
                codes = status_codes(operator, names, rows, excluded, bound.max_text_bytes)
                chosen = np.flatnonzero(codes == 0)
                if len(chosen):
                    found = rows.chosen(list(dict.fromkeys((*names, _ID.name))), chosen, operator.as_written)
                    yield chosen + at, found.select(list(names)), found[_ID.name]
                at += rows.count

    def keep_asked(self, shard: int, keys: pa.Array) -> None:
        """Keep the keys that a shard asks for, each once."""
        put_part(
            self.steps.objects, self.steps.scratch, "asked", shard, pa.RecordBatch.from_arrays([keys], schema=ASKED)
        )

    def sorted_answers(self, batches: Batches) -> pa.Table:
        """All answers by their first two columns."""
        answers = pa.Table.from_batches(batches, schema=self.answer_schema)
        return answers.sort_by([(name, "ascending") for name in answers.column_names[:2]])

    def store(self, group: int, batches: Batches) -> Iterator[int]:
        """Store the answers for every shard of a group, in order."""
        answers = self.sorted_answers(batches)
        for shard in self.shards.in_group(group):
            asked = read_part(self.steps.objects, self.steps.scratch, "asked", shard)["key"]
            found = [
                single_array(column) for column in answers.filter(pc.is_in(answers["key"], value_set=asked)).columns
            ]
            if len(found[0]):
                batch = pa.RecordBatch.from_arrays(found, schema=self.answer_schema)
                put_part(self.steps.objects, self.steps.scratch, "answers", shard, batch)
        yield group
