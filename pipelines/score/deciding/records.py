"""The record of a decision: its fits and the distributions of its values. Tasks write the layer by it, and what is
shown of a score is read from it."""

from dataclasses import dataclass
from typing import TypeAlias

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import find_record
from winnow.scoring.selection import Aggregation, Quality, Summary
from winnow.scoring.selection.binarise import Cut, Step
from winnow.scoring.selection.describe import Bars
from winnow.scoring.selection.label_model import Rates

Numbers: TypeAlias = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class DecidedGroup:
    """The fit of one group of rows; tuples have one item per checkpoint."""

    name: str  # the value of the filter's `by`; empty if all rows are one group
    cuts: tuple[Cut, ...]
    scored: tuple[int, ...]
    voted: tuple[int, ...]
    kept: tuple[int, ...]
    lowest_kept: Numbers
    highest_dropped: Numbers
    how: Aggregation  # the method used: with few checkpoints, a majority replaces the label model
    rates: Rates | None  # for the label model
    quality: Quality | None  # None if no row has a vote
    converged: bool = True  # whether the label model's fit did

    @property
    def rows(self) -> int:
        """The number of rows with a vote."""
        return 0 if self.quality is None else self.quality.rows

    @property
    def steps(self) -> tuple[Step, ...]:
        """The result of the rule at each checkpoint."""
        columns = (self.scored, self.voted, self.kept, self.lowest_kept, self.highest_dropped)
        return tuple(
            Step(scored, voted, kept, lowest, highest, cut.clusters, cut.note, cut.share_odds)
            for cut, scored, voted, kept, lowest, highest in zip(self.cuts, *columns, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of one column of numbers."""

    name: str
    summary: Summary
    bars: Bars


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A row, by its position."""

    shard: str
    row: int


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """All that is known of a score's layer as a whole."""

    groups: tuple[DecidedGroup, ...]  # sorted by name
    checkpoints: tuple[Distribution, ...]
    score: Distribution
    keep: Distribution
    highest: tuple[RowPlace, ...]  # the highest first
    lowest: tuple[RowPlace, ...]


def find_decision(objects: ObjectStore, layer: str, key: str) -> DecisionRecord | None:
    """Return the record of a layer under its key, if there is one."""
    return find_record(objects, DecisionRecord, layout.decision(layer, key))
