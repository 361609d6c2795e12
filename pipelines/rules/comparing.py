"""Compares what two recipes decide, sample by sample, in tasks: over one store, or over two that hold the same samples.

Each recipe chooses its representatives over all of its samples; tasks then decide the shards that both have. What a
task returns grows with languages and reasons, not with rows.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.rules.deciding import NARROW_BLOCK_ROWS, languages_of, size_columns, sizes_of
from winnow.pipelines.rules.decision_tasks import DecisionTasks
from winnow.pipelines.rules.decisions import ShardDecisions
from winnow.pipelines.rules.pinning import ShardObjects
from winnow.pipelines.rules.representatives.replaced import Duplicates
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.scratch_parts import existing_parts, put_part
from winnow.pipelines.running.shard_groups import over_groups
from winnow.pipelines.running.shard_list import ListedShard
from winnow.pipelines.store import layout

KEPT = ""
"""In place of a reason: the recipe keeps the sample."""

CHANGED = pa.schema(
    [
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("old_reason", pa.string()),  # of the first rule that drops it; null: kept
        pa.field("new_reason", pa.string()),
    ]
)
"""A sample that one recipe keeps and the other drops."""

_CHANGED = "changed"
_ID, _TOKENS = Column(layout.SAMPLES, "id"), Column(TOKENS_LAYER, "tokens")


@dataclass(frozen=True, slots=True)
class Cell:
    """Samples of one source and language, and what each recipe keeps of them."""

    source: str
    language: str
    rows: int = 0
    old: int = 0  # samples that the first recipe keeps
    new: int = 0
    old_size: int = 0  # their tokens or bytes
    new_size: int = 0
    lost: int = 0  # samples that only the first recipe keeps
    gained: int = 0  # samples that only the second one keeps

    def __add__(self, other: "Cell") -> "Cell":
        return Cell(
            self.source,
            self.language,
            self.rows + other.rows,
            self.old + other.old,
            self.new + other.new,
            self.old_size + other.old_size,
            self.new_size + other.new_size,
            self.lost + other.lost,
            self.gained + other.gained,
        )


@dataclass(frozen=True, slots=True)
class Move:
    """How many samples have one outcome by the first recipe, and another or the same one by the second."""

    old: str  # the reason; empty if kept
    new: str
    rows: int
    language: str = ""


@dataclass(frozen=True, slots=True)
class ChangedSample:
    """A sample that changes sides, for showing."""

    id: str
    source: str
    language: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the decisions of two recipes differ."""

    cells: tuple[Cell, ...] = ()  # by source and language
    moves: tuple[Move, ...] = ()
    lost: tuple[ChangedSample, ...] = ()  # those with the smallest ids
    gained: tuple[ChangedSample, ...] = ()
    only_old: Mapping[str, int] | None = None  # rows of shards that only the first recipe's store has, by source
    only_new: Mapping[str, int] | None = None
    misfit: str | None = None  # a shard that holds other samples in the two stores

    @property
    def total(self) -> Cell:
        """All samples."""
        return sum(self.cells, Cell("", ""))


@dataclass(frozen=True)
class ComparisonTasks:
    """What every task gets. Picklable."""

    old: DecisionTasks
    new: DecisionTasks
    tokens: bool  # whether both count tokens; else sizes are bytes
    shown: int  # samples to show on each side
    listed: bool = False  # whether all changed samples are stored

    def run(self, jobs: Jobs) -> Comparison:
        """Compare all shards. No rule of either recipe may be undecided."""
        for tasks in (self.old, self.new):
            tasks.prepare(jobs)
        parts = over_groups(self.old.steps, jobs, "Comparison", self.old.shards, self.compare, Comparison)
        merged = _merged(parts, self.shown)
        return replace(merged, only_old=_only(self.old, self.new), only_new=_only(self.new, self.old))

    def changed(self) -> Iterator[pa.RecordBatch]:
        """Every sample that changes sides, in order, once the tasks have run."""
        yield from existing_parts(self.old.steps.objects, self.old.steps.scratch, _CHANGED)

    def compare(self, group: int) -> Comparison:
        """Compare a range of shards of the first recipe with those of the same names."""
        names = {self.old.shards.all[number].shard: number for number in self.old.shards.in_group(group)}
        others = self._of_second(list(names))

        def compare_one(number: int, shard: ShardObjects, decided: ShardDecisions, _: Duplicates) -> Comparison:
            other = others.get(shard.shard)
            return Comparison() if other is None else self._shard(number, shard, decided, *other)

        return _merged(self.old.map_decided(group, compare_one), self.shown)

    def _of_second(self, names: Sequence[str]) -> dict[str, tuple[ShardObjects, ShardDecisions]]:
        """What the second recipe decides on the shards of these names that it has."""
        shards = self.new.shards
        numbers = [at for name in names if (at := _number(shards.all, name)) is not None]
        groups = np.unique(shards.group_of(np.array(numbers, np.int64))).tolist() if numbers else []
        wanted = frozenset(names)
        found: dict[str, tuple[ShardObjects, ShardDecisions]] = {}

        def keep(
            _: int, shard: ShardObjects, decided: ShardDecisions, __: Duplicates
        ) -> tuple[ShardObjects, ShardDecisions]:
            return shard, decided

        for group in groups:
            for shard, decided in self.new.map_decided(group, keep):
                if shard.shard in wanted:
                    found[shard.shard] = shard, decided
        return found

    def _shard(
        self, number: int, shard: ShardObjects, was: ShardDecisions, other: ShardObjects, now: ShardDecisions
    ) -> Comparison:
        ids = self._ids(self.old, shard)
        same = (self.old.pinned.store.root, shard.objects[layout.SAMPLES]) == (
            self.new.pinned.store.root,
            other.objects[layout.SAMPLES],
        )
        if not same and not ids.equals(self._ids(self.new, other)):
            return Comparison(misfit=shard.shard)
        languages = self._languages(shard)
        codes = languages.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        names = languages.dictionary.to_pylist()
        kept = was.kept, now.kept
        lost, gained = kept[0] & ~kept[1], kept[1] & ~kept[0]
        sizes = self._sizes(self.old, shard), self._sizes(self.new, other)

        def counts(rows: NDArray[np.bool_]) -> list[int]:
            return [int(one) for one in np.bincount(codes[rows], minlength=len(names))]  # a few languages

        def sums(rows: NDArray[np.bool_], size: NDArray[np.int64]) -> list[int]:
            total = np.zeros(len(names), np.int64)
            np.add.at(total, codes[rows], size[rows])
            return total.tolist()

        columns = zip(
            names,
            counts(np.ones(len(codes), np.bool_)),
            counts(kept[0]),
            counts(kept[1]),
            sums(kept[0], sizes[0]),
            sums(kept[1], sizes[1]),
            counts(lost),
            counts(gained),
            strict=True,
        )
        reasons = self._reasons(self.old, was), self._reasons(self.new, now)
        spoken = languages.dictionary.take(languages.indices)
        moved = Counter(zip(*(values.to_pylist() for values in (*reasons, spoken)), strict=True))
        table = pa.table(
            [
                ids,
                pa.array([shard.source] * len(ids)),
                languages.dictionary.take(languages.indices).cast(pa.string()),
                *(pc.if_else(pc.equal(reason, KEPT), pa.scalar(None, pa.string()), reason) for reason in reasons),
            ],
            schema=CHANGED,
        )
        if self.listed and (lost | gained).any():
            for batch in table.filter(pa.array(lost | gained)).combine_chunks().to_batches():
                put_part(self.old.steps.objects, self.old.steps.scratch, _CHANGED, number, batch)
        return Comparison(
            tuple(Cell(shard.source, *values) for values in columns if values[1]),
            tuple(Move(old, new, rows, language) for (old, new, language), rows in sorted(moved.items())),
            tuple(self._samples(table.filter(pa.array(lost)))),
            tuple(self._samples(table.filter(pa.array(gained)))),
        )

    def _samples(self, table: pa.Table) -> list[ChangedSample]:
        first = table.take(pc.sort_indices(table["id"].cast(pa.binary()))[: self.shown])
        return [
            ChangedSample(
                row["id"].hex(), row["source"], row["language"], row["old_reason"] or KEPT, row["new_reason"] or KEPT
            )
            for row in first.to_pylist()  # a handful
        ]

    def _read(self, tasks: DecisionTasks, shard: ShardObjects, columns: list[Column]) -> Iterator[dict[str, pa.Array]]:
        return read_aligned(
            tasks.pinned.store.objects, shard.objects, list(dict.fromkeys(columns)), NARROW_BLOCK_ROWS, shard.hidden
        )

    def _ids(self, tasks: DecisionTasks, shard: ShardObjects) -> pa.Array:
        blocks = [block[_ID.name].cast(pa.binary(16)) for block in self._read(tasks, shard, [_ID])]
        return pa.chunked_array(blocks, pa.binary(16)).combine_chunks()

    def _languages(self, shard: ShardObjects) -> pa.DictionaryArray:
        columns = self.old.pinned.languages
        blocks = []
        for block in self._read(self.old, shard, [_ID, *columns]):
            found = languages_of(block, columns, len(block[_ID.name]))
            blocks.append(found.dictionary.take(found.indices).cast(pa.string()))
        return pc.dictionary_encode(pa.chunked_array(blocks, pa.string()).combine_chunks())

    def _sizes(self, tasks: DecisionTasks, shard: ShardObjects) -> NDArray[np.int64]:
        """The tokens of each row, or its bytes."""
        columns = [_TOKENS] if self.tokens else size_columns(tasks.pinned.size)
        found = [self._size(tasks, block) for block in self._read(tasks, shard, columns)]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _size(self, tasks: DecisionTasks, block: Mapping[str, pa.Array]) -> NDArray[np.int64]:
        if not self.tokens:
            return sizes_of(block, tasks.pinned.size)
        counted: NDArray[np.int64] = pc.fill_null(block[_TOKENS.name].cast(pa.int64()), 0).to_numpy(
            zero_copy_only=False
        )
        return counted

    def _reasons(self, tasks: DecisionTasks, decided: ShardDecisions) -> pa.Array:
        """The first reason of each row; empty if it is kept."""
        names = pa.array([*tasks.pinned.program.all_reasons, KEPT])
        first = decided.first
        return names.take(pa.array(np.where(first < 0, len(names) - 1, first)))


def _number(shards: Sequence[ListedShard], name: str) -> int | None:
    """The number of a shard in a list, which is sorted by name."""
    at = bisect_left(shards, name, key=lambda one: one.shard)
    return at if at < len(shards) and shards[at].shard == name else None


def _only(mine: DecisionTasks, other: DecisionTasks) -> dict[str, int]:
    """The rows of shards that only one of two lists has, by source."""
    theirs = {one.shard for one in other.shards.all}
    found: Counter[str] = Counter()
    for one in mine.shards.all:
        if one.shard not in theirs:
            found[one.source] += one.rows
    return dict(sorted(found.items()))


def _merged(parts: Iterable[Comparison], shown: int) -> Comparison:
    """The sum of the parts, with `shown` samples a side; without what only one store has."""
    cells: dict[tuple[str, str], Cell] = {}
    moves: Counter[tuple[str, str, str]] = Counter()
    lost, gained = list[ChangedSample](), list[ChangedSample]()
    misfit = None
    for part in parts:
        for cell in part.cells:
            key = cell.source, cell.language
            cells[key] = cells[key] + cell if key in cells else cell
        for move in part.moves:
            moves[move.old, move.new, move.language] += move.rows
        lost, gained = _first([*lost, *part.lost], shown), _first([*gained, *part.gained], shown)
        misfit = misfit or part.misfit
    return Comparison(
        tuple(cells[key] for key in sorted(cells)),
        tuple(Move(old, new, rows, language) for (old, new, language), rows in sorted(moves.items())),
        tuple(lost),
        tuple(gained),
        misfit=misfit,
    )


def _first(samples: Sequence[ChangedSample], most: int) -> list[ChangedSample]:
    return sorted(samples, key=lambda one: one.id)[:most]
