"""Summarises scores for review: the estimated quality of the data, thresholds, the highest and lowest samples, and
how a score's drops overlap with those of other scores and of rules.

It reads the record of the decision and the layer's statistics. Only the overlaps read rows: one column of each score's
layer, one shard at a time. Rows that were forgotten since the decision are in no count and not shown; fits and
distributions are those of the decision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.query.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.decisions import WORD, ShardDecisions
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.score.deciding.records import (
    DecidedGroup,
    DecisionRecord,
    Distribution,
    RowPlace,
    find_decision,
)
from winnow.pipelines.score.stage import generation_scores
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import read_rows
from winnow.pipelines.store.together import TABLES_AT_ONCE, each
from winnow.schemas.records import Generation
from winnow.schemas.summary import LayerSummary, StoreSummary
from winnow.scoring.selection import KEEP_AT, Aggregation, Quality, overlap
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.overlap import Pair
from winnow.scoring.selection.quality import NO_QUALITY

SHOWN = 10
"""Samples at each end."""


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
    scored: int  # rows with a score
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


@dataclass(frozen=True)
class _ScoreLayer:
    """An overview, and the score's layer by shard."""

    overview: ScoreOverview
    rows: Mapping[str, ManifestRow]


class ScoreComparison:
    """The scores of a generation, and how their drops overlap with those of rules."""

    def __init__(self, store: Store, scores: Sequence[_ScoreLayer]) -> None:
        self._store = store
        self._scores = tuple(scores)
        self._pairs: list[dict[int, Pair]] = [{} for _ in scores]  # for each score, by the number of the rule
        self._others: list[dict[int, Pair]] = [{} for _ in scores]  # for each score, by the number of the other one
        self._compared: set[str] = set()  # shards

    def add(self, decisions: ShardDecisions) -> None:
        """Add the rules' decisions on a shard; call it once per shard."""
        votes = self._votes(decisions.shard)
        self._compare(decisions.shard, votes)
        for number in range(decisions.rules if self._scores else 0):
            rule_votes = _rule_votes(decisions, number)
            for pairs, of_score in zip(self._pairs, votes, strict=True):
                _add(pairs, number, _pair(of_score, rule_votes))

    @property
    def counted(self) -> tuple[ScoreOverview, ...]:
        """The overview of every score, compared with nothing."""
        return tuple(one.overview for one in self._scores)

    def _votes(self, shard: str) -> list[NDArray[np.int8]]:
        """Return each score's vote on every row of a shard: 1 keeps, 0 drops, -1 abstains."""
        found = []
        for one in self._scores:
            batches = self._store.batches(one.rows[shard], ["keep"])
            keep = np.concatenate(
                [np.zeros(0), *(batch["keep"].to_numpy(zero_copy_only=False).astype(np.float64) for batch in batches)]
            )
            found.append(np.where(np.isfinite(keep), keep >= KEEP_AT, -1).astype(np.int8))
        return found

    def _compare(self, shard: str, votes: Sequence[NDArray[np.int8]]) -> None:
        self._compared.add(shard)
        for number, pairs in enumerate(self._others):
            for other in range(len(votes)):
                if other != number:
                    _add(pairs, other, _pair(votes[number], votes[other]))

    def overviews(self, rules: Sequence[ProgramRule] = (), *, undecided: bool = False) -> tuple[ScoreOverview, ...]:
        """Return the overview of every score.

        Args:
            rules: The rules whose decisions were added for every shard.
            undecided: Whether there are rules that cannot be decided.
        """
        if len(self._scores) > 1:
            lacking = [shard for shard in self._scores[0].rows if shard not in self._compared]
            for shard, votes in zip(
                lacking, each(self._store.objects, self._votes, lacking, TABLES_AT_ONCE), strict=True
            ):
                self._compare(shard, votes)
        return tuple(
            replace(
                one.overview,
                overlaps=(
                    *(
                        DropOverlap("score", self._scores[other].overview.name, others[other])
                        for other in sorted(others)
                    ),
                    *(
                        DropOverlap(rule.phase, rule.rule.reason, pairs[number])
                        for number, rule in enumerate(rules)
                        if number in pairs
                    ),
                ),
                undecided=undecided,
            )
            for one, pairs, others in zip(self._scores, self._pairs, self._others, strict=True)
        )


def read_scores(
    recipe: BoundRecipe, store: Store, generation: Generation, summary: StoreSummary, *, shown: int = SHOWN
) -> ScoreComparison:
    """Read every score of the recipe whose layers are in a generation and up to date, in the recipe's order.

    Args:
        recipe: The recipe.
        store: The store.
        generation: The generation to read.
        summary: Its summary.
        shown: How many of the highest and of the lowest samples to read the texts of.

    Raises:
        RecipeError: A score cannot be bound: a file that it needs is missing.
    """
    found = []
    for bound in _current_scores(recipe, store, generation):
        layer, rows = bound.entry.layer, store.manifest(generation, bound.entry.layer)
        record = find_decision(store.objects, layer, rows[0].key) if rows else None
        counted = summary.layer(layer)
        if record is None or counted is None:  # a purge removes records; the next `winnow score` makes them again
            continue
        by_shard = {row.shard: row for row in rows}
        overview = _overview(bound, record, counted)
        if shown:
            highest, lowest = (
                _samples(recipe, store, generation, by_shard, places, shown)
                for places in (record.highest, record.lowest)
            )
            overview = replace(overview, highest=highest, lowest=lowest)
        found.append(_ScoreLayer(overview, by_shard))
    return ScoreComparison(store, found)


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


def _overview(bound: BoundScore, record: DecisionRecord, counted: LayerSummary) -> ScoreOverview:
    keep, score = counted.column("keep"), counted.column("score")
    measure = None if keep is None else keep.measure("value")
    return ScoreOverview(
        name=bound.entry.name,
        task=bound.kind.name,
        binarise=bound.entry.filter.binarise,
        by=bound.entry.filter.by,
        rows=counted.rows,
        scored=0 if score is None else score.values,
        statuses=dict(sorted(counted.statuses.items(), key=lambda one: (-one[1], one[0]))),
        fits=tuple(map(_fit, record.groups)),
        checkpoints=record.checkpoints,
        score=record.score,
        keep=record.keep,
        # Exact, as bins of statistics are cut at powers of two.
        dropped=0 if measure is None else sum(one.count for one in measure.bins if one.low < KEEP_AT),
    )


def _fit(group: DecidedGroup) -> FitOverview:
    return FitOverview(group.name, group.how, group.quality or NO_QUALITY, group.steps)


def _samples(
    recipe: BoundRecipe,
    store: Store,
    generation: Generation,
    layer: Mapping[str, ManifestRow],
    places: Sequence[RowPlace],
    shown: int,
) -> tuple[ScoredSample, ...]:
    """Return the first samples of a list that are not forgotten."""
    hidden = hidden_rows(store, generation)
    there = [one for one in places if one.shard not in hidden or one.row not in hidden[one.shard].rows][:shown]
    wanted: dict[str, set[int]] = {}
    for one in there:
        wanted.setdefault(one.shard, set()).add(one.row)
    texts = read_previews(store, generation, recipe.config.text, wanted) if wanted else {}
    values = {
        (shard, row): (values["score"], values["keep"])
        for shard, rows in wanted.items()
        for row, values in zip(
            sorted(rows),
            read_rows(store.objects, layer[shard].object, sorted(rows), ["score", "keep"]).to_pylist(),
            strict=True,
        )
    }
    return tuple(_sample(texts[one.shard, one.row], *values[one.shard, one.row]) for one in there)


def _sample(one: TextPreview, score: float, keep: float | None) -> ScoredSample:
    return ScoredSample(one.id, one.source, one.url, score, keep, one.text)


def _rule_votes(decisions: ShardDecisions, rule: int) -> NDArray[np.int8]:
    """Return one rule's vote on each row of a shard: 0 if it fires, 1 if not, -1 if the row is forgotten."""

    def bit(number: int) -> NDArray[np.bool_]:
        word, place = divmod(number, WORD)
        found: NDArray[np.bool_] = decisions.fired[:, word] >> np.uint64(place) & np.uint64(1) == 1
        return found

    return np.where(bit(decisions.rules), -1, ~bit(rule)).astype(np.int8)


def _pair(one: NDArray[np.int8], other: NDArray[np.int8]) -> Pair:
    return overlap({"one": one, "other": other}).pairs[0]


def _add(pairs: dict[int, Pair], number: int, pair: Pair) -> None:
    pairs[number] = _sum(pairs[number], pair) if number in pairs else pair


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
