"""Subsets of samples: the mean scores of each, and what two lists have in common."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.score.evaluations import Evaluation, names_of
from winnow.pipelines.score.subsets import MEASURES, Overlap, SubsetScores
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, DIGITS, NAME, SHARE

OVERLAPS: tuple[Column[Overlap], ...] = (
    Column("list", NAME, lambda one: one.first),
    Column("and", NAME, lambda one: one.second),
    Column("in both", COUNT, lambda one: one.both),
    Column("in either", COUNT, lambda one: one.either),
    Column("Jaccard", SHARE, lambda one: Share(one.both, one.either)),
)


def overlap_table(found: Sequence[Overlap]) -> Table:
    """One row for each two lists."""
    return table("Lists in common", OVERLAPS, found)


def score_table(found: Sequence[SubsetScores], evaluations: Mapping[str, Evaluation]) -> Table:
    """One row for each list, and one for all samples: the mean of each score and measure that any has, and what
    evaluations found of lists."""
    scores = sorted({name for one in found for name in one.sums})
    means = [_mean(score, measure) for score in scores for measure in _known(score, found)]
    columns: tuple[Column[SubsetScores], ...] = (
        Column("subset", NAME, lambda one: one.name),
        Column("listed", COUNT, lambda one: one.listed),
        Column("in the store", COUNT, lambda one: one.found),
        *means,
        *(_evaluated(name, evaluations) for name in names_of(evaluations.values())),
    )
    return table("Mean scores of subsets", columns, found)


def _evaluated(name: str, evaluations: Mapping[str, Evaluation]) -> Column[SubsetScores]:
    def number(one: SubsetScores) -> float | None:
        found = evaluations.get(one.name)
        return None if found is None else found.numbers.get(name)

    return Column(name, DIGITS, number)


def _known(score: str, found: Sequence[SubsetScores]) -> list[str]:
    """The measures of a score; the one that its filter uses is among the others, if there are others."""
    known = [measure for measure in MEASURES if any(one.mean(score, measure) is not None for one in found)]
    return known[1:] or known


def _mean(score: str, measure: str) -> Column[SubsetScores]:
    name = score if measure == "score" else f"{score}.{measure}"
    return Column(name, DIGITS, lambda one: one.mean(score, measure))
