"""A decision on the rows of a score: what all of its tasks get, and how they read scores.

A decision takes several jobs over the traces. Each has tasks for *places*, ranges of shards, whose results are merged
by partition or by the driver: no result grows with rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.scores import BoundScore, group_column
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.exchange import GROUP_BYTES, partitions_for
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.shard_list import MAX_SHARD_GROUPS, ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.schemas.recipe import Shuffle
from winnow.schemas.recipe.score import Measured
from winnow.schemas.uint128 import words_of
from winnow.scoring.selection import BinariseRule
from winnow.scoring.selection.ranks import Floats, Ids, Integers

MOST_PLACES = 256
"""Results of places are merged one after another by their readers, so there are not many of them."""
GROUP_SHARDS = 64  # of few rows, that one task writes one after another
SHARD_ROWS = 1 << 10  # that are decided in about the time in which a shard's objects are opened and written
NO_VALUE = "(null)"
_ID = Column(layout.SAMPLES, "id")
_NO_WORDS = np.zeros(0, np.uint64)
_SERIES: Mapping[Measured, str] = {"mimic": "m", "rho": "loss"}
"""The columns of a trace that a measure has at each checkpoint, where they have another name."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How finely the work is divided; no value depends on it."""

    place_rows: int = 1 << 18  # fewer are not worth another task; a shard counts as `SHARD_ROWS`
    group_bytes: int = GROUP_BYTES  # of a partition
    here_rows: int = 1 << 18  # of a decision that is made in the driver's process, by the same functions
    room: int = 1 << 20  # rows or bins that the driver holds while it searches for cuts: some 50 MB


@dataclass(frozen=True)
class Decision:
    """What every task gets. Picklable."""

    store: Store
    bound: BoundScore
    listed: str  # the object that lists the shards
    scratch: str
    listed_shards: int
    rows: int
    sizes: Sizes = Sizes()
    shuffle: Shuffle = "auto"

    @property
    def shards(self) -> ShardList[ListedShard]:
        """The shards, in groups whose rows are brought back and written together."""
        return self._grouped(MAX_SHARD_GROUPS, -(-self.listed_shards // GROUP_SHARDS))

    @property
    def places(self) -> ShardList[ListedShard]:
        """The shards, grouped into places."""
        return self._grouped(MOST_PLACES, 1)

    @property
    def steps(self) -> JobSteps:
        """The exchanges of its jobs."""
        return JobSteps(self.store.objects, self.scratch, self.shuffle)

    @property
    def small(self) -> bool:
        """Whether its jobs cost less in this process than a pipeline does."""
        return self._work <= self.sizes.here_rows

    @property
    def checkpoints(self) -> int:
        """The number of scores of each row."""
        return len(self.columns.scores)

    @property
    def rule(self) -> BinariseRule:
        """How scores become votes."""
        config = self.bound.entry.filter
        return BinariseRule(config.binarise, config.temperature, config.batch, config.top, seed=self.bound.seed)

    @property
    def columns(self) -> "ScoreColumns":
        """The columns that scores are read from."""
        return score_columns(self.bound)

    def partitions(self, total_bytes: int) -> int:
        """The number of partitions for this many bytes."""
        return partitions_for(total_bytes, self.sizes.group_bytes)

    @property
    def _work(self) -> int:
        """Its rows, counting each shard as `SHARD_ROWS`."""
        return self.rows + self.listed_shards * SHARD_ROWS

    def _grouped(self, most: int, least: int) -> ShardList[ListedShard]:
        groups = max(1, min(most, max(least, -(-self._work // self.sizes.place_rows))))
        return ShardList(self.store.objects, self.listed, self.scratch, ListedShard, groups)


@dataclass(frozen=True)
class ScoreColumns:
    """The columns that scores, their status and the groups of rows are read from."""

    status: Column
    scores: tuple[Column, ...]
    by: Column | None  # whose values group rows
    subtracted: Column | None = None  # from every score
    negated: bool = False  # whether low values are good

    @property
    def all(self) -> tuple[Column, ...]:
        """Each column once."""
        some = (column for column in (self.subtracted, self.by) if column is not None)
        return tuple(dict.fromkeys((self.status, *self.scores, *some)))


def score_columns(bound: BoundScore) -> ScoreColumns:
    """Return the columns that a score's filter reads."""
    trace, of = bound.entry.trace, bound.entry.filter.of
    status, loss, by = Column(trace, "status"), Column(trace, "reference_loss"), group_column(bound)
    if of == "loss":
        return ScoreColumns(status, (loss,), by, negated=True)
    if of == "alignment":
        return ScoreColumns(status, (Column(trace, of),), by)
    numbers = range(1, max(bound.entry.checkpoints, 1) + 1)
    each = tuple(Column(trace, f"{_SERIES.get(of, of)}{number}") for number in numbers)
    return ScoreColumns(status, each, by, subtracted=loss if of == "rho" else None)


@dataclass(frozen=True)
class ScoredRows:
    """Some rows of a shard, in order."""

    first: int  # the number of the first one in its shard
    status: pa.Array
    scores: Floats  # rows × checkpoints; NaN for none
    ids: Ids  # empty if they were not asked for
    groups: pa.Array | None  # each row's value of the column that groups rows
    measures: Mapping[str, Floats] = field(default_factory=dict)  # by name; NaN for none; empty if not asked for

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def means(self) -> Floats:
        """Each row's mean over the checkpoints that have a score; NaN if none has."""
        return _means(self.scores)

    @cached_property
    def named_groups(self) -> tuple[list[str], Integers]:
        """The names of the groups of these rows, and the number of each row's name in that list."""
        if self.groups is None:
            return [""], np.zeros(len(self), np.int64)
        encoded = self.groups.cast(pa.string()).fill_null(NO_VALUE).dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)

    def numbered_groups(self, numbers: dict[str, int]) -> Integers:
        """The number of each row's group, given the number of each name."""
        names, codes = self.named_groups
        return np.array([numbers[name] for name in names], np.int64)[codes]


def read_scores(decision: Decision, shard: int, *, ids: bool, measures: bool = False) -> Iterator[ScoredRows]:
    """Yield the rows of a shard, part by part, with their ids and measures if they are needed; forgotten rows have no
    scores."""
    columns, bound = decision.columns, decision.bound
    measures = measures and not bound.kind.measures
    every = {name: Column(bound.entry.trace, name) for name in bound.trace_schema.names[1:]} if measures else {}
    wanted = [*dict.fromkeys((*columns.all, *((_ID,) if ids else ()), *every.values()))]
    for at, read in decision.shards.read(shard, wanted):
        scores = np.stack([_floats(read[column.name]) for column in columns.scores], axis=1)
        if columns.subtracted is not None:
            scores -= _floats(read[columns.subtracted.name])[:, np.newaxis]
        scores = -scores if columns.negated else scores
        words = words_of(read[_ID.name]) if ids else (_NO_WORDS, _NO_WORDS)
        groups = None if columns.by is None else read[columns.by.name]
        trace = {name: _floats(read[column.name]) for name, column in every.items()}
        yield ScoredRows(at, read[columns.status.name], scores, words, groups, measures_of(trace) if trace else {})


def measures_of(trace: dict[str, Floats]) -> dict[str, Floats]:
    """The measures of rows, from the numbers of their trace by name, of a task with weights."""
    alignment, loss = trace.pop("alignment", None), trace.pop("reference_loss")
    series: dict[str, list[Floats]] = {}
    for name, values in trace.items():
        series.setdefault(name.rstrip("0123456789"), []).append(values)
    scores, losses, *beside = (np.stack(each, axis=1) for each in series.values())
    found = {"mimic": _means(scores), "rho": _means(losses - loss[:, np.newaxis]), "loss": loss}
    found |= {} if alignment is None else {"alignment": alignment}
    return found | {name: _means(values) for name, values in zip(list(series)[2:], beside, strict=True)}


def _means(columns: Floats) -> Floats:
    """Each row's mean of its finite numbers; NaN if it has none."""
    finite = np.isfinite(columns)
    counts = finite.sum(axis=1)
    means = np.full(len(columns), np.nan)
    np.divide(np.where(finite, columns, 0.0).sum(axis=1), counts, out=means, where=counts > 0)
    return means


def place_rows(decision: Decision, place: int, *, ids: bool) -> Iterator[tuple[int, ScoredRows]]:
    """Yield the rows of a place, part by part, with the numbers of their shards."""
    for shard in decision.places.in_group(place):
        for rows in read_scores(decision, shard, ids=ids):
            yield shard, rows


def _floats(column: pa.Array) -> NDArray[np.float64]:
    found: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return found
