"""Finds each row's exact place in an order of its group, by one exchange: rows go to ranges of the order and back.

A range sorts its rows and numbers those of each group from 0; from the sizes of all ranges follows how many rows of a
group come before a range. Ranges are cut at rows of a sample, which decides how even they are and nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.row_arrays import (
    global_rows,
    ids_column,
    local_rows,
    run_starts,
    shard_numbers,
    uint64_column,
)
from winnow.pipelines.running.scratch_parts import (
    existing_parts,
    find_part,
    put_arrays,
    put_part,
    read_arrays,
    read_part,
)
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, read_scores
from winnow.pipelines.score.deciding.measuring import FittedGroup, read_sample
from winnow.schemas.errors import StageError
from winnow.schemas.uint128 import Words, values_of, words_of
from winnow.scoring.mixture.cuts import ordered_key
from winnow.scoring.selection.ranks import BATCHES, RANDOM, TIES, Floats, Ids, Integers, hashes

Order: TypeAlias = Literal["score", "random", "batches"]
"""By falling score, ties by a hash; scored rows by another hash; all rows by a third one, for batches."""

ROW_BYTES = 40  # of a row on its way
_ROWS_AT_ONCE = 1 << 16
_BEGIN = ("begin-group", "begin-first", "begin-ties")

SENT = pa.schema(
    [
        pa.field("group", pa.uint32(), nullable=False),
        pa.field("first", pa.uint64(), nullable=False),  # the row's position in the order, unless others share it
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("row", pa.uint64(), nullable=False),
    ]
)

PLACES = pa.schema(
    [
        pa.field("order", pa.int8(), nullable=False),
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("range", pa.int32(), nullable=False),
        pa.field("place", pa.int64(), nullable=False),  # among the rows of its group in the range
    ]
)

RANGES = pa.schema(
    [
        pa.field("order", pa.int8(), nullable=False),
        pa.field("range", pa.int32(), nullable=False),
        pa.field("group", pa.uint32(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
    ]
)
"""How many rows of each group a range holds."""

RANGES_BEFORE = pa.schema(
    [
        pa.field("order", pa.int8(), nullable=False),
        pa.field("range", pa.int32(), nullable=False),
        pa.field("group", pa.uint32(), nullable=False),
        pa.field("before", pa.int64(), nullable=False),
        pa.field("total", pa.int64(), nullable=False),
    ]
)
"""How many rows of a group come before a range, and how many it has in all."""


@dataclass(frozen=True)
class Placing:
    """The places of a decision's rows in some orders. Picklable."""

    decision: Decision
    orders: tuple[Order, ...]

    @property
    def ranges(self) -> int:
        """The number of ranges of each order."""
        return self.decision.partitions(self.decision.rows * ROW_BYTES)

    def prepare(self, fitted: Sequence[FittedGroup]) -> None:
        """Store the numbers of groups, and where the ranges of each order begin."""
        numbers = {group.name: number for number, group in enumerate(fitted)}
        arrays = {"groups": pa.array(list(numbers), pa.string())}
        if self.ranges > 1:
            sample = read_sample(self.decision)
            groups = np.array([numbers[name] for name in sample["group"].to_pylist()], np.uint32)
            scores, ids = sample["score"].to_numpy(), words_of(sample["id"])
            for number, order in enumerate(self.orders):
                keys: tuple[NDArray[np.generic], ...] = self._keys(order, groups, scores, ids)[1]
                ascending: Integers = np.lexsort(keys[::-1])
                if len(ascending):
                    ascending = ascending[np.arange(1, self.ranges) * len(ascending) // self.ranges]
                for name, key in zip(_BEGIN, keys, strict=True):
                    arrays[f"{name}-{number}"] = pa.array(key[ascending])
        put_arrays(self.decision.store.objects, self.decision.scratch, "ranges-begin", 0, arrays)

    def send(self, shard_group: int) -> Iterator[AddressedBlock]:
        """Send the rows of some shards to the ranges of each order."""
        arrays, numbers = self._begins, self.group_numbers
        begins = [
            [arrays[f"{name}-{number}"].to_numpy() for name in _BEGIN] if self.ranges > 1 else []
            for number in range(len(self.orders))
        ]

        def batches() -> Iterator[tuple[pa.RecordBatch, Integers]]:
            for shard in self.decision.shards.in_group(shard_group):
                for rows in read_scores(self.decision, shard, ids=True):
                    groups = rows.numbered_groups(numbers).astype(np.uint32)
                    named = global_rows(shard, rows.first + np.arange(len(rows)))
                    for number, order in enumerate(self.orders):
                        which, keys = self._keys(order, groups, rows.means, rows.ids)
                        ids = values_of(*(words[which] for words in rows.ids))
                        columns = [pa.array(keys[0]), pa.array(keys[1]), ids, pa.array(named[which])]
                        at = number * self.ranges + _range_of(keys, begins[number])
                        yield pa.RecordBatch.from_arrays(columns, schema=SENT), at

        return addressed_blocks(f"shards-{shard_group}", batches(), len(self.orders) * self.ranges)

    @property
    def group_numbers(self) -> dict[str, int]:
        """The number of each group, by its name."""
        return {name: number for number, name in enumerate(self._begins["groups"].to_pylist())}

    @property
    def _begins(self) -> dict[str, pa.Array]:
        return read_arrays(self.decision.store.objects, self.decision.scratch, "ranges-begin", 0)

    def sort(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """Sort a range, store its size, and send each row's place to the row's shard."""
        number, at = divmod(partition, self.ranges)
        held = list(batches)
        groups, ids = np.concatenate([batch["group"].to_numpy() for batch in held]), ids_column(held, "id")
        keys = groups, uint64_column(held, "first"), self._ties(self.orders[number], ids)
        ascending = np.lexsort((ids[1], ids[0], *keys[::-1]))
        groups, rows = groups[ascending], uint64_column(held, "row")[ascending]
        starts = run_starts(groups)
        sizes = np.diff(np.append(starts, len(groups)))
        columns = [np.full(len(starts), number), np.full(len(starts), at), groups[starts], sizes]
        put_part(self.decision.store.objects, self.decision.scratch, "range-sizes", partition, _batch(RANGES, columns))
        places = np.arange(len(groups)) - np.repeat(starts, sizes)
        shards = self.decision.shards

        def placed() -> Iterator[tuple[pa.RecordBatch, Integers]]:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                some = rows[start : start + _ROWS_AT_ONCE]
                columns = [np.full(len(some), number), some, np.full(len(some), at), places[start : start + len(some)]]
                yield _batch(PLACES, columns), shards.group_of(shard_numbers(some))

        return addressed_blocks(f"range-{partition}", placed(), shards.groups)

    def store(self, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Store the places of the rows of some shards, by order and row."""
        found = pa.concat_batches([_batch(PLACES, [[]] * len(PLACES)), *batches])
        ascending = np.lexsort((found["row"].to_numpy(), found["order"].to_numpy()))
        part = found.take(pa.array(ascending))
        put_part(self.decision.store.objects, self.decision.scratch, "places", shard_group, part)
        yield shard_group

    def finish(self) -> None:
        """Store how many rows of its group come before each range, once all ranges are sorted."""
        objects, scratch = self.decision.store.objects, self.decision.scratch
        sizes = pa.concat_batches(
            [_batch(RANGES, [[]] * len(RANGES)), *existing_parts(objects, scratch, "range-sizes")]
        )
        order, at, group = (sizes[name].to_numpy() for name in ("order", "range", "group"))
        ascending = np.lexsort((at, group, order))
        order, at, group = order[ascending], at[ascending], group[ascending]
        rows = sizes["rows"].to_numpy()[ascending]
        before = np.cumsum(rows) - rows
        starts = run_starts(order, group)
        of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
        totals = np.add.reduceat(rows, starts) if len(starts) else rows
        columns = [order, at, group, before - before[starts][of], totals[of]]
        put_part(objects, scratch, "ranges", 0, _batch(RANGES_BEFORE, columns))

    def read(self, shard_group: int) -> "Places":
        """Return the places of the rows of some shards, once all ranges are sorted."""
        objects, scratch = self.decision.store.objects, self.decision.scratch
        none = _batch(PLACES, [[]] * len(PLACES))
        return Places(
            self, find_part(objects, scratch, "places", shard_group) or none, read_part(objects, scratch, "ranges", 0)
        )

    def _keys(
        self, order: Order, groups: NDArray[np.uint32], means: Floats, ids: Ids
    ) -> tuple[Integers, tuple[NDArray[np.uint32], Words, Words]]:
        """Return the rows that belong to an order, and their group and position there."""
        which = np.arange(len(means)) if order == "batches" else np.flatnonzero(np.isfinite(means))
        some = ids[0][which], ids[1][which]
        if order == "score":
            first = ~ordered_key(means[which])
        else:
            first = hashes(some, self.decision.bound.seed, RANDOM if order == "random" else BATCHES)
        return which, (groups[which], first, self._ties(order, some))

    def _ties(self, order: Order, ids: Ids) -> Words:
        """Return what orders rows of equal position; ids order what is equal even then."""
        return hashes(ids, self.decision.bound.seed, TIES) if order == "score" else ids[0]


class Places:
    """The places of the rows of some shards."""

    def __init__(self, placing: Placing, places: pa.RecordBatch, ranges: pa.RecordBatch) -> None:
        self._placing = placing
        self._rows: list[tuple[Words, NDArray[np.int32], Integers]] = []
        self._ranges: list[tuple[Integers, Integers, Integers]] = []
        for number in range(len(placing.orders)):
            first, last = np.searchsorted(places["order"].to_numpy(), (number, number + 1))
            here = places.slice(first, last - first)
            self._rows.append(tuple(here[name].to_numpy() for name in ("row", "range", "place")))
            first, last = np.searchsorted(ranges["order"].to_numpy(), (number, number + 1))
            these = ranges.slice(first, last - first)
            keys = _range_keys(these["group"].to_numpy(), these["range"].to_numpy())
            self._ranges.append((keys, these["before"].to_numpy(), these["total"].to_numpy()))

    def of(self, order: Order, shard: int, rows: ScoredRows, groups: Integers) -> tuple[Integers, Integers, Integers]:
        """Return which of some rows of a shard are in an order, their places, and how many rows their groups have."""
        number = self._placing.orders.index(order)
        named, ranges, places = self._rows[number]
        first, last = np.searchsorted(named, global_rows(shard, rows.first + np.array([0, len(rows)])))
        which = local_rows(named[first:last]) - rows.first
        keys, before, totals = self._ranges[number]
        at = np.searchsorted(keys, _range_keys(groups[which], ranges[first:last]))
        expected = len(rows) if order == "batches" else np.count_nonzero(np.isfinite(rows.means))
        if len(which) != expected:
            raise StageError(f"{self._placing.decision.scratch}: a row has no place; run the same command again")
        return which, before[at] + places[first:last], totals[at]


def _range_of(keys: tuple[NDArray[np.uint32], Words, Words], begins: list[NDArray[np.generic]]) -> Integers:
    """Return the range of each row: how many ranges begin at its position or before, without the first one."""
    rows = len(keys[0])
    if not begins:
        return np.zeros(rows, np.int64)
    count = len(begins[0])
    merged = [np.concatenate([begin, key]) for begin, key in zip(begins, keys, strict=True)]
    ascending = np.lexsort(merged[::-1])  # stable: a range begins before the rows at its own position
    passed = np.cumsum(ascending < count)
    found = np.empty(rows + count, np.int64)
    found[ascending] = passed
    return found[count:]


def _range_keys(groups: NDArray[np.integer], ranges: NDArray[np.integer]) -> Integers:
    found: Integers = (groups.astype(np.int64) << 32) | ranges
    return found


def _batch(schema: pa.Schema, columns: Sequence[object]) -> pa.RecordBatch:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
