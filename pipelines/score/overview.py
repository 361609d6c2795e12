"""What a person looks at before trusting a score: how good it says the data are, where it cuts, whom it puts first and
last, and how its drops overlap with those of other scores and of rules.

Votes are fitted again, from traces, so that what is shown is what the recipe's filter finds; it takes seconds. Rows are
held as they are there: a number a row and checkpoint, of one score at a time, and a byte a row and score.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import SpeltRule
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.query.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.decisions import WORD, ShardDecisions
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.score.examples import ScoredShard
from winnow.pipelines.score.keeping import Decided, Fitted, Traces, decide, read_traces
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

KEEP_BINS = 20  # of the keep probability, from 0 to 1


@dataclass(frozen=True, slots=True)
class Distribution:
    """One column of numbers."""

    name: str
    summary: Summary
    bars: Bars


@dataclass(frozen=True, slots=True)
class FitOverview:
    """What a filter finds in the rows that it fits together."""

    name: str  # the value of the filter's `by`; empty where all rows are together
    how: Aggregation  # as it was done: a label model of few checkpoints is a majority
    quality: Quality
    steps: tuple[Step, ...]  # a checkpoint each


@dataclass(frozen=True, slots=True)
class ScoredSample:
    """A sample at one end."""

    id: str
    source: str
    url: str | None
    score: float
    keep: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Overlapping:
    """How the drops of a score and those of something else overlap."""

    kind: str  # score, or the list of a rule: eligible, dedupe, keep
    name: str  # of the other score, or the rule's reason
    pair: Pair  # the score first


@dataclass(frozen=True, slots=True)
class ScoreOverview:
    """One score over a generation."""

    name: str
    task: str
    binarise: str
    by: str | None  # the column whose values are fitted each by itself
    rows: int
    statuses: Mapping[str, int]  # rows by status, the most frequent first
    fits: tuple[FitOverview, ...]
    checkpoints: tuple[Distribution, ...]
    score: Distribution
    keep: Distribution
    dropped: int  # rows whose keep probability is below one half
    highest: tuple[ScoredSample, ...] = ()
    lowest: tuple[ScoredSample, ...] = ()
    overlaps: tuple[Overlapping, ...] = ()
    undecided: bool = False  # there are rules, and they cannot be decided on this generation

    @property
    def scored(self) -> int:
        """Rows that have a score."""
        return self.score.summary.scored


@dataclass(frozen=True)
class _Seen:
    """An overview, and what the score says of every row: 1 keeps, 0 drops, -1 nothing."""

    overview: ScoreOverview
    votes: NDArray[np.int8]
    shards: tuple[ScoredShard, ...]
    ends: tuple[int, ...]


class ReadScores:
    """The scores of a generation, and what they have in common with rules that are decided beside."""

    def __init__(self, scores: Sequence[_Seen]) -> None:
        self._scores = tuple(scores)
        self._pairs: list[dict[int, Pair]] = [{} for _ in scores]  # of each score, by the number of the rule
        self._rows: dict[str, slice] = {}
        for one in scores[:1]:  # all have the same shards
            for shard, (first, end) in zip(one.shards, pairwise((0, *one.ends)), strict=True):
                self._rows[shard.shard] = slice(first, end)

    def see(self, decisions: ShardDecisions) -> None:
        """Count what rules decided about a shard; each shard once."""
        for number in range(decisions.rules if self._scores else 0):
            stays = _stays(decisions, number)
            for pairs, one in zip(self._pairs, self._scores, strict=True):
                pair = _pair(one.votes[self._rows[decisions.shard]], stays)
                pairs[number] = _sum(pairs[number], pair) if number in pairs else pair

    def overviews(self, rules: Sequence[SpeltRule] = (), *, undecided: bool = False) -> tuple[ScoreOverview, ...]:
        """Every score.

        Args:
            rules: Those whose decisions were seen, of every shard.
            undecided: That there are rules, and they cannot be decided.
        """
        return tuple(
            replace(
                one.overview,
                overlaps=(
                    *_with_scores(one, self._scores),
                    *(
                        Overlapping(rule.phase, rule.rule.reason, pairs[number])
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
    """Every score that stands, compared with no rules; see `read_scores`."""
    return read_scores(recipe, store, generation, shown=shown).overviews()


def read_scores(recipe: BoundRecipe, store: Store, generation: Generation, *, shown: int = SHOWN) -> ReadScores:
    """Read every score of the recipe whose layers stand in a generation as the recipe asks for them, in its order.

    Args:
        recipe: Whose scores.
        store: Where the layers are.
        generation: What is read.
        shown: Samples at each end whose texts are read.

    Raises:
        RecipeError: A score cannot be bound: a file that it needs is gone.
    """
    standing = list(_standing(recipe, store, generation))
    if not standing:
        return ReadScores(())
    state = state_of(store, generation)
    return ReadScores([_seen(recipe, store, generation, state, bound, shown) for bound in standing])


def _standing(recipe: BoundRecipe, store: Store, generation: Generation) -> Iterator[BoundScore]:
    """The scores whose layers are there, made with the settings that the recipe has now."""
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


def _seen(
    recipe: BoundRecipe, store: Store, generation: Generation, state: StoreState, bound: BoundScore, shown: int
) -> _Seen:
    traces = read_traces(store, bound, state)
    said = decide(traces, bound.entry.filter, bound.seed)
    checkpoints = traces.scores.T if bound.entry.checkpoints else ()  # a measure's one value is its score
    votes = np.where(np.isfinite(said.keep), said.keep >= KEEP_AT, -1).astype(np.int8)
    highest, lowest = _ends(recipe, store, generation, traces, said, shown, bound.seed)
    counts = Counter(traces.status.tolist())
    overview = ScoreOverview(
        name=bound.entry.name,
        task=bound.kind.name,
        binarise=bound.entry.filter.binarise,
        by=bound.entry.filter.by,
        rows=len(traces.status),
        statuses=dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))),
        fits=tuple(map(_fit, said.fitted)),
        checkpoints=tuple(_distribution(f"m{number}", values) for number, values in enumerate(checkpoints, start=1)),
        score=_distribution("score", said.score),
        keep=Distribution("keep", summary(said.keep), histogram(said.keep, KEEP_BINS, (0.0, 1.0))),
        dropped=int((votes == 0).sum()),
        highest=highest,
        lowest=lowest,
    )
    return _Seen(overview, votes, traces.shards, traces.ends)


def _distribution(name: str, values: NDArray[np.float64]) -> Distribution:
    return Distribution(name, summary(values), histogram(values))


def _fit(fitted: Fitted) -> FitOverview:
    return FitOverview(fitted.name, fitted.kept.how, fitted.quality, fitted.steps)


def _ends(
    recipe: BoundRecipe, store: Store, generation: Generation, traces: Traces, said: Decided, shown: int, seed: int
) -> tuple[tuple[ScoredSample, ...], tuple[ScoredSample, ...]]:
    """The highest and the lowest samples; forgotten ones have no score, so none is among them."""
    found = extremes(said.score, traces.ids, shown, seed)
    places = {int(row): _place(traces, int(row)) for row in (*found.highest, *found.lowest)}
    wanted: dict[str, set[int]] = {}
    for shard, row in places.values():
        wanted.setdefault(shard, set()).add(row)
    texts = read_previews(store, generation, recipe.config.text, wanted) if wanted else {}

    def samples(rows: Iterable[np.int64]) -> tuple[ScoredSample, ...]:
        return tuple(_sample(texts[places[int(row)]], float(said.score[row]), float(said.keep[row])) for row in rows)

    return samples(found.highest), samples(found.lowest)


def _place(traces: Traces, row: int) -> tuple[str, int]:
    number = int(np.searchsorted(traces.ends, row, side="right"))
    return traces.shards[number].shard, row - (traces.ends[number - 1] if number else 0)


def _sample(one: TextPreview, score: float, keep: float) -> ScoredSample:
    return ScoredSample(one.id, one.source, one.url, score, keep if np.isfinite(keep) else None, one.text)


def _with_scores(one: _Seen, seen: Sequence[_Seen]) -> list[Overlapping]:
    return [
        Overlapping("score", other.overview.name, _pair(one.votes, other.votes)) for other in seen if other is not one
    ]


def _stays(decisions: ShardDecisions, rule: int) -> NDArray[np.int8]:
    """What one rule says of each row of a shard, whatever the others say: 0 where it fires, -1 where none looks."""

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
