"""Summarises scores for review: the estimated quality of the data, thresholds, the highest and lowest samples, and
how a score's drops overlap with those of other scores and of rules.

Votes are fitted again from traces, which takes seconds, so that they match the recipe's current filter. In memory are
one number per row and checkpoint, for one score at a time, and one byte per row and score.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.query.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.decisions import WORD, ShardDecisions
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.score.examples import ScoredShard
from winnow.pipelines.score.filtering import FilterResult, FittedGroup, Traces, apply_filter, read_traces
from winnow.pipelines.score.stage import generation_scores, state_of
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.state import StoreState
from winnow.schemas.records import Generation
from winnow.scoring.selection import KEEP_AT, Aggregation, Quality, Summary, extremes, histogram, overlap, summary
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.describe import Bars
from winnow.scoring.selection.overlap import Pair

SHOWN = 10
"""Samples at each end."""

KEEP_BINS = 20  # histogram bins of the keep probability, from 0 to 1


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of one column of numbers."""

    name: str
    summary: Summary
    bars: Bars


@dataclass(frozen=True, slots=True)
class FitOverview:
    """The fit of one group of rows."""

    name: str  # the value of the filter's `by`; empty if all rows are one group
    how: Aggregation  # the method used: with few checkpoints, a majority replaces the label model
    quality: Quality
    steps: tuple[Step, ...]  # one per checkpoint


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """A sample with one of the highest or lowest scores."""

    id: str
    source: str
    url: str | None
    score: float
    keep: float | None
    text: str


@dataclass(frozen=True, slots=True)
class DropOverlap:
    """How the drops of a score and those of something else overlap."""

    kind: str  # what the score is compared with: score, or the list of a rule (eligible, dedupe, keep)
    name: str  # the other score's name, or the rule's reason
    pair: Pair  # the score first


@dataclass(frozen=True, slots=True)
class ScoreOverview:
    """One score over a generation."""

    name: str
    task: str
    binarise: str
    by: str | None  # the column that groups rows
    rows: int
    statuses: Mapping[str, int]  # rows by status, the most frequent first
    fits: tuple[FitOverview, ...]
    checkpoints: tuple[Distribution, ...]
    score: Distribution
    keep: Distribution
    dropped: int  # rows whose keep probability is below one half
    highest: tuple[ScoredSample, ...] = ()
    lowest: tuple[ScoredSample, ...] = ()
    overlaps: tuple[DropOverlap, ...] = ()
    undecided: bool = False  # whether there are rules that cannot be decided on this generation

    @property
    def scored(self) -> int:
        """The number of rows with a score."""
        return self.score.summary.scored


@dataclass(frozen=True)
class _ScoreVotes:
    """An overview, and the score's vote on every row: 1 keeps, 0 drops, -1 abstains."""

    overview: ScoreOverview
    votes: NDArray[np.int8]
    shards: tuple[ScoredShard, ...]
    ends: tuple[int, ...]


class ScoreComparison:
    """The scores of a generation, and how their drops overlap with those of rules."""

    def __init__(self, scores: Sequence[_ScoreVotes]) -> None:
        self._scores = tuple(scores)
        self._pairs: list[dict[int, Pair]] = [{} for _ in scores]  # for each score, by the number of the rule
        self._rows: dict[str, slice] = {}
        for one in scores[:1]:  # all have the same shards
            for shard, (first, end) in zip(one.shards, pairwise((0, *one.ends)), strict=True):
                self._rows[shard.shard] = slice(first, end)

    def add(self, decisions: ShardDecisions) -> None:
        """Add the rules' decisions on a shard; call it once per shard."""
        for number in range(decisions.rules if self._scores else 0):
            rule_votes = _rule_votes(decisions, number)
            for pairs, one in zip(self._pairs, self._scores, strict=True):
                pair = _pair(one.votes[self._rows[decisions.shard]], rule_votes)
                pairs[number] = _sum(pairs[number], pair) if number in pairs else pair

    def overviews(self, rules: Sequence[ProgramRule] = (), *, undecided: bool = False) -> tuple[ScoreOverview, ...]:
        """Return the overview of every score.

        Args:
            rules: The rules whose decisions were added for every shard.
            undecided: Whether there are rules that cannot be decided.
        """
        return tuple(
            replace(
                one.overview,
                overlaps=(
                    *_with_scores(one, self._scores),
                    *(
                        DropOverlap(rule.phase, rule.rule.reason, pairs[number])
                        for number, rule in enumerate(rules)
                        if number in pairs
                    ),
                ),
                undecided=undecided,
            )
            for one, pairs in zip(self._scores, self._pairs, strict=True)
        )


def score_overviews(
    recipe: BoundRecipe, store: Store, generation: Generation, *, shown: int = SHOWN
) -> tuple[ScoreOverview, ...]:
    """Return the overview of every current score, without comparison with rules; see `read_scores`."""
    return read_scores(recipe, store, generation, shown=shown).overviews()


def read_scores(recipe: BoundRecipe, store: Store, generation: Generation, *, shown: int = SHOWN) -> ScoreComparison:
    """Read every score of the recipe whose layers are in a generation and up to date, in the recipe's order.

    Args:
        recipe: The recipe.
        store: The store.
        generation: The generation to read.
        shown: How many of the highest and of the lowest samples to read the texts of.

    Raises:
        RecipeError: A score cannot be bound: a file that it needs is missing.
    """
    current = list(_current_scores(recipe, store, generation))
    if not current:
        return ScoreComparison(())
    state = state_of(store, generation)
    return ScoreComparison([_read_score(recipe, store, generation, state, bound, shown) for bound in current])


def _current_scores(recipe: BoundRecipe, store: Store, generation: Generation) -> Iterator[BoundScore]:
    """Yield the scores whose layers exist and match the recipe's current settings."""
    if not any(entry.layer in generation.layers for entry in recipe.config.score):
        return
    expected = expected_keys(recipe.ingest(store), recipe.operators)
    expected |= generation_keys(store, recipe, generation)
    keys = generation_scores(store, recipe, generation, expected)
    for bound in recipe.scores:
        layers = (bound.entry.trace, bound.entry.layer)
        if all(layer in generation.layers and layer in keys for layer in layers) and all(
            keys[layer].get(source) == key for layer in layers for source, key in generation.layers[layer].keys.items()
        ):
            yield bound


def _read_score(
    recipe: BoundRecipe, store: Store, generation: Generation, state: StoreState, bound: BoundScore, shown: int
) -> _ScoreVotes:
    traces = read_traces(store, bound, state)
    filtered = apply_filter(traces, bound.entry.filter, bound.seed)
    checkpoints = traces.scores.T if bound.entry.checkpoints else ()  # a measure has one value, its score
    votes = np.where(np.isfinite(filtered.keep), filtered.keep >= KEEP_AT, -1).astype(np.int8)
    highest, lowest = _ends(recipe, store, generation, traces, filtered, shown, bound.seed)
    counts = Counter(traces.status.tolist())
    overview = ScoreOverview(
        name=bound.entry.name,
        task=bound.kind.name,
        binarise=bound.entry.filter.binarise,
        by=bound.entry.filter.by,
        rows=len(traces.status),
        statuses=dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))),
        fits=tuple(map(_fit, filtered.fitted)),
        checkpoints=tuple(_distribution(f"m{number}", values) for number, values in enumerate(checkpoints, start=1)),
        score=_distribution("score", filtered.score),
        keep=Distribution("keep", summary(filtered.keep), histogram(filtered.keep, KEEP_BINS, (0.0, 1.0))),
        dropped=int((votes == 0).sum()),
        highest=highest,
        lowest=lowest,
    )
    return _ScoreVotes(overview, votes, traces.shards, traces.ends)


def _distribution(name: str, values: NDArray[np.float64]) -> Distribution:
    return Distribution(name, summary(values), histogram(values))


def _fit(fitted: FittedGroup) -> FitOverview:
    return FitOverview(fitted.name, fitted.kept.how, fitted.quality, fitted.steps)


def _ends(
    recipe: BoundRecipe,
    store: Store,
    generation: Generation,
    traces: Traces,
    filtered: FilterResult,
    shown: int,
    seed: int,
) -> tuple[tuple[ScoredSample, ...], tuple[ScoredSample, ...]]:
    """Return the highest and the lowest samples; forgotten ones have no score, so they are not among them."""
    found = extremes(filtered.score, traces.ids, shown, seed)
    places = {int(row): _place(traces, int(row)) for row in (*found.highest, *found.lowest)}
    wanted: dict[str, set[int]] = {}
    for shard, row in places.values():
        wanted.setdefault(shard, set()).add(row)
    texts = read_previews(store, generation, recipe.config.text, wanted) if wanted else {}

    def samples(rows: Iterable[np.int64]) -> tuple[ScoredSample, ...]:
        score, keep = filtered.score, filtered.keep
        return tuple(_sample(texts[places[int(row)]], float(score[row]), float(keep[row])) for row in rows)

    return samples(found.highest), samples(found.lowest)


def _place(traces: Traces, row: int) -> tuple[str, int]:
    number = int(np.searchsorted(traces.ends, row, side="right"))
    return traces.shards[number].shard, row - (traces.ends[number - 1] if number else 0)


def _sample(one: TextPreview, score: float, keep: float) -> ScoredSample:
    return ScoredSample(one.id, one.source, one.url, score, keep if np.isfinite(keep) else None, one.text)


def _with_scores(one: _ScoreVotes, seen: Sequence[_ScoreVotes]) -> list[DropOverlap]:
    return [
        DropOverlap("score", other.overview.name, _pair(one.votes, other.votes)) for other in seen if other is not one
    ]


def _rule_votes(decisions: ShardDecisions, rule: int) -> NDArray[np.int8]:
    """Return one rule's vote on each row of a shard: 0 if it fires, 1 if not, -1 if the row is forgotten."""

    def bit(number: int) -> NDArray[np.bool_]:
        word, place = divmod(number, WORD)
        found: NDArray[np.bool_] = decisions.fired[:, word] >> np.uint64(place) & np.uint64(1) == 1
        return found

    return np.where(bit(decisions.rules), -1, ~bit(rule)).astype(np.int8)


def _pair(one: NDArray[np.int8], other: NDArray[np.int8]) -> Pair:
    return overlap({"one": one, "other": other}).pairs[0]


def _sum(one: Pair, other: Pair) -> Pair:
    return Pair(
        one.one,
        one.other,
        both=one.both + other.both,
        only_one=one.only_one + other.only_one,
        only_other=one.only_other + other.only_other,
        neither=one.neither + other.neither,
        one_abstains=one.one_abstains + other.one_abstains,
        other_abstains=one.other_abstains + other.other_abstains,
        both_abstain=one.both_abstain + other.both_abstain,
    )
