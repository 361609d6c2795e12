"""Brings rows of a store together for an operator that compares them: rows that ask for a key, and rows that offer it.

Shards send the digests of their keys (`OFFERS`). For each asked key, a partition chooses the offering rows with the
smallest ids. Only those rows are read again, and their content (`CHOSEN`) goes to the shards that asked; where the ids
say enough, they go at once. So the exchange carries one fixed-size line for each key that a row offers, and texts only
where keys match. Rows that the operator does not measure neither ask nor offer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.operators import ANSWERS, KEYS, RowLookup, RowTotals, TextOperator
from winnow.pipelines.annotate.meeting import Meeting
from winnow.pipelines.annotate.row_comparisons import RowComparisonJob
from winnow.pipelines.annotate.row_totals import RowTotalsJob
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key, partitions_for
from winnow.pipelines.running.job_steps import Batches, JobSteps
from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep
from winnow.pipelines.running.row_arrays import (
    global_rows,
    ids_column,
    local_rows,
    run_starts,
    shard_numbers,
    single_array,
)
from winnow.pipelines.running.shard_groups import MOST_GROUPS, groups_for
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_hidden_rows_of, put_shard_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.state import StoreState
from winnow.schemas.identity import ID_BYTES
from winnow.schemas.recipe import Shuffle
from winnow.schemas.uint128 import Words

OFFERS = pa.schema(
    [
        pa.field("key", KEYS, nullable=False),
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("row", pa.uint64(), nullable=False),  # of the store; of a line that asks, the first of its shard
        pa.field("count", pa.int64(), nullable=False),  # rows of the shard that offer the key, in its first line; or 0
    ]
)
"""A row that offers a key; or, with the count `_ASKS`, a shard that asks for it."""

CHOSEN = pa.schema(
    [
        pa.field("key", KEYS, nullable=False),
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("total", pa.int64(), nullable=False),
        pa.field("group", pa.int64(), nullable=False),  # the group of shards that asks
    ]
)
"""A row that answers for a key, and who asks."""

_ASKS = -1
_ROW_BYTES = 256  # of a row's object, at least, for what it sends: pages of one template compress to a tenth of that
_ID = Column(layout.SAMPLES, "id")
_IDS = _ID.name


@dataclass(frozen=True)
class CrossRowJob(Meeting):
    """The meeting of the rows of a store for one operator that looks up rows. Picklable."""

    @property
    def job(self) -> LinearJob:
        """The job that stores the answers for every shard that asked."""
        between = [ExchangeStep("Chosen", self.partitions, self._choose, self.route)]
        if self.lookup.answers_for is not None:
            between.append(ExchangeStep("Answers", self.shards.groups, self._send_answers))
        last = StoreStep("Shards", self.shards.groups, self.store)
        return LinearJob(self.steps, "Offers", self.shards.groups, self._send, tuple(between), last)

    @property
    def lookup(self) -> RowLookup:
        """How the operator looks up rows."""
        assert isinstance(self.operator.lookup, RowLookup)
        return self.operator.lookup

    def _send(self, group: int) -> Iterator[AddressedBlock]:
        lines = (line for shard in self.shards.in_group(group) for line in self._lines(shard))
        addressed = ((line, partition_of_key(line["key"], self.partitions)) for line in lines)
        yield from self.route.send(group, addressed)

    def _lines(self, shard: int) -> Iterator[pa.RecordBatch]:
        """What a shard offers, batch by batch, and what it asks for, which is kept."""
        prepared, lookup = self.prepared, self.lookup
        asked = [pa.array([], KEYS)]
        for numbers, batch, ids in self.read(shard):
            rows, keys = lookup.offered_keys(prepared, batch)
            yield offered(keys, ids.take(pa.array(rows)), global_rows(shard, numbers[rows]), self._most, lookup.repeats)
            wanted = keys if lookup.wanted_keys is None else lookup.wanted_keys(prepared, batch).drop_null()
            asked.append(wanted.unique())
        keys = pa.concat_arrays(asked).unique()
        self.keep_asked(shard, keys)
        rows, counts = np.zeros(len(keys), np.int64), np.full(len(keys), _ASKS, np.int64)
        if lookup.wanted_keys is not None:  # else a shard asks for what it offers
            yield _batch(OFFERS, [keys, keys, global_rows(shard, rows), counts])

    @property
    def _most(self) -> int:
        return self.lookup.max_answers(self.bound.config)

    def _choose(self, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
        least, asks = self.lookup.least_total(self.bound.config), self.lookup.wanted_keys is not None
        found = chosen(list(batches), self._most, self.shards, least, asks)
        if self.lookup.answers_for is None:
            places = found["group"].to_numpy()
            found = found.select(ANSWERS.names)
        else:
            places = self.shards.group_of(shard_numbers(found["row"].to_numpy()))
        yield from addressed_blocks(f"chosen-{partition}", [(found, places)], self.shards.groups)

    def _send_answers(self, group: int, batches: Batches) -> Iterator[AddressedBlock]:
        order = [(name, "ascending") for name in ("row", "key", "group")]
        wanted = pa.Table.from_batches(batches, schema=CHOSEN).sort_by(order).combine_chunks()
        numbers = shard_numbers(wanted["row"].to_numpy())

        def answers() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
            for shard in np.unique(numbers).tolist():
                first, last = np.searchsorted(numbers, (shard, shard + 1))
                rows = local_rows(wanted["row"][first:last].to_numpy())
                for read, batch, _ in self.read(shard):
                    begin, end = np.searchsorted(rows, (read[0], read[-1] + 1))
                    if begin < end:
                        lines = wanted.slice(first + begin, end - begin)
                        found = np.searchsorted(read, rows[begin:end])
                        yield self._answers(lines, found, batch), lines["group"].to_numpy()

        yield from addressed_blocks(f"said-{group}", answers(), self.shards.groups)

    def _answers(self, lines: pa.Table, rows: NDArray[np.int64], batch: pa.RecordBatch) -> pa.RecordBatch:
        """What rows of a batch answer; they repeat where they answer for several keys, or to several groups."""
        assert self.lookup.answers_for is not None
        asked = [single_array(lines[name]) for name in ANSWERS.names]
        some, which = np.unique(rows, return_inverse=True)
        says = self.lookup.answers_for(self.prepared, batch.take(pa.array(some)), which, asked[0])
        return pa.RecordBatch.from_arrays([*asked, *says.columns], schema=self.answer_schema)

    @property
    def answer_schema(self) -> pa.Schema:
        """The columns of answers."""
        return pa.schema([*ANSWERS, *self.lookup.answer_columns])

    def sorted_answers(self, batches: Batches) -> pa.Table:
        """All answers by key and id, as numbers, which takes a third of the time."""
        blocks = list(batches)
        key, of = ids_column(blocks, "key"), ids_column(blocks, "id")
        answers = pa.Table.from_batches(blocks, schema=self.answer_schema)
        return answers.combine_chunks().take(pa.array(np.lexsort((of[1], of[0], key[1], key[0]))))


def put_cross_row_job(
    bound: BoundOperator,
    objects: ObjectStore,
    scratch: str,
    shards: list[ListedShard],
    state: StoreState,
    first: Meeting | None = None,
    shuffle: Shuffle = "auto",
) -> Meeting:
    """Prepare a meeting in a scratch folder of its own; `first` is the one before, whose answers it needs."""
    operator = bound.operator
    assert isinstance(operator, TextOperator)
    hidden = put_hidden_rows_of(objects, scratch, shards, state, load_hiding(objects))
    path = put_shard_list(objects, "shards", hidden, f"{scratch}/")
    size = read_bytes(bound, state)
    groups = groups_for(size, MOST_GROUPS)
    listed = ShardList(objects, path, scratch, ListedShard, groups)
    steps = JobSteps(objects, scratch, shuffle)
    job: Meeting
    if first is not None:
        job = RowComparisonJob(bound, steps, listed, 1, first)
    elif isinstance(operator.lookup, RowTotals):
        job = RowTotalsJob(bound, steps, listed, 1)
    else:
        job = CrossRowJob(bound, steps, listed, 1)
    return replace(job, partitions=partitions_for(size * job.lookup.sent_bytes))


def read_bytes(bound: BoundOperator, state: StoreState) -> int:
    """The bytes of the objects that a meeting reads, about; more where rows are so much alike that they take little."""
    read = state.shards.bytes + sum(state.layers[layer].bytes for layer in bound.covers or ())
    return max(read, _ROW_BYTES * state.shards.rows)


def covered_shards(bound: BoundOperator, state: StoreState) -> list[ListedShard]:
    """Every shard of a state with the objects that a meeting reads, by name."""
    objects = {layer: state.layers[layer].objects for layer in bound.covers or ()}
    return [
        ListedShard(
            row.shard,
            row.source,
            row.rows,
            {layout.SAMPLES: row.object, **{layer: one[row.shard] for layer, one in objects.items()}},
        )
        for row in sorted(state.shards, key=lambda one: one.shard)
    ]


def offered(keys: pa.Array, ids: pa.Array, rows: Words, most: int, repeats: int | None = None) -> pa.RecordBatch:
    """Of each key that some rows offer, the rows with the smallest ids; the first has the number of all.

    `repeats`: how many equal keys of a row count as one row; None for any number.
    """
    lines = _batch(OFFERS, [keys, ids, rows, np.ones(len(rows), np.int64)])
    key, of = ids_column([lines], "key"), ids_column([lines], "id")
    order = np.lexsort((of[1], of[0], key[1], key[0]))
    key, of = _taken(key, order), _taken(of, order)
    once = run_starts(*key, *of)  # a row may offer a key several times
    times = np.diff(np.append(once, len(order)))
    key, order = _taken(key, once), order[once]
    starts, _, ranks = _runs(key)
    counts = np.zeros(len(order), np.int64)
    counts[starts] = np.add.reduceat(1 + (times - 1) // (repeats or len(rows) or 1), starts)
    kept = ranks < most
    return lines.take(pa.array(order[kept])).set_column(3, OFFERS.field("count"), pa.array(counts[kept]))


def chosen(
    batches: list[pa.RecordBatch], most: int, shards: ShardList[ListedShard], least: int = 1, asks: bool = True
) -> pa.RecordBatch:
    """The rows that answer for each asked key, for each group of shards that asks for it.

    Keys that fewer than `least` rows offer get no answer. Without `asks`, shards ask for the keys that they offer.
    """
    if not batches:
        return pa.RecordBatch.from_pylist([], schema=CHOSEN)
    lines = pa.RecordBatch.from_arrays(
        [pa.concat_arrays([batch[name] for batch in batches]) for name in OFFERS.names], schema=OFFERS
    )
    asking = lines["count"].to_numpy() == _ASKS
    offers = lines.filter(pa.array(~asking)) if asks else lines
    key, of = ids_column([offers], "key"), ids_column([offers], "id")
    order = np.lexsort((of[1], of[0], key[1], key[0]))
    starts, every, ranks = _runs(_taken(key, order))
    totals = np.add.reduceat(offers["count"].to_numpy()[order], starts) if len(starts) else every
    kept = order[ranks < most]
    sizes = np.minimum(every, most)
    ends = np.cumsum(sizes)
    if asks:
        askers = lines.filter(pa.array(asking))
        at = pc.index_in(askers["key"], value_set=offers["key"].take(pa.array(order[starts])))
        run, rows = pc.fill_null(at, -1).to_numpy().astype(np.int64), askers["row"].to_numpy()
    else:
        run, rows = np.repeat(np.arange(len(starts)), every), offers["row"].to_numpy()[order]
    met = run >= 0
    met[met] = totals[run[met]] >= least
    groups = shards.group_of(shard_numbers(rows[met]))
    pairs = np.sort(run[met] * shards.groups + groups)  # np.unique hashes them, in twenty times as long
    asked, group = np.divmod(pairs[run_starts(pairs)], shards.groups)
    each = sizes[asked]
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    answering = pa.array(kept[np.repeat(ends[asked] - each, each) + within])
    found = [offers[name].take(answering) for name in ("key", "id", "row")]
    return _batch(CHOSEN, [*found, np.repeat(totals[asked], each), np.repeat(group, each)])


def _runs(key: tuple[Words, Words]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where each run of equal keys starts, its length, and the rank of each line in its run."""
    starts = run_starts(*key)
    sizes = np.diff(np.append(starts, len(key[0])))
    return starts, sizes, np.arange(len(key[0])) - np.repeat(starts, sizes)


def _taken(words: tuple[Words, Words], at: NDArray[np.int64]) -> tuple[Words, Words]:
    return words[0][at], words[1][at]


def _batch(schema: pa.Schema, columns: list[object]) -> pa.RecordBatch:
    arrays = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
