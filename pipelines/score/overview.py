"""Summarises scores for review: the estimated quality of the data, thresholds, the highest and lowest samples, and
how a score's drops overlap with those of other scores and of rules.

It reads the record of the decision and the layer's statistics. Rows that were forgotten since the decision are in no
count and not shown; fits and distributions are those of the decision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.reading.text_previews import TextPreview, read_previews
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.rules.score_overlaps import ScoreOverlap
from winnow.pipelines.score.deciding.records import DecidedGroup, DecisionRecord, Distribution, RowPlace, find_decision
from winnow.pipelines.score.stage import generation_scores
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.records import Generation
from winnow.schemas.summary import LayerSummary, StoreSummary
from winnow.scoring.selection import KEEP_AT, Aggregation, Quality
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
    converged: bool = True  # whether the label model's fit did


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
class ScoreComparison:
    """The scores of a generation, which can be compared with each other and with rules."""

    scores: Mapping[str, ScoreOverview]  # by layer, in the recipe's order
    unrecorded: tuple[str, ...] = ()  # layers without their record of how they were decided: lost, or purged

    @property
    def counted(self) -> tuple[ScoreOverview, ...]:
        """The overview of every score, compared with nothing."""
        return tuple(self.scores.values())

    def overviews(
        self, overlaps: Sequence[ScoreOverlap], rules: Sequence[ProgramRule] = (), *, undecided: bool = False
    ) -> tuple[ScoreOverview, ...]:
        """Return the overview of every score. `rules`: none if they cannot be decided; `undecided`: whether there are
        such rules."""
        layers = list(self.scores)

        def compared(layer: str) -> tuple[DropOverlap, ...]:
            own = [overlap for overlap in overlaps if overlap.score == layer]
            others = sorted(
                (one for one in own if one.other in self.scores), key=lambda one: layers.index(one.other or "")
            )
            with_rules = sorted((one for one in own if one.rule is not None and rules), key=lambda one: one.rule or 0)
            found = [DropOverlap("score", self.scores[one.other or ""].name, one.pair) for one in others]
            for with_rule in with_rules:
                rule = rules[with_rule.rule or 0]
                found.append(DropOverlap(rule.phase, rule.rule.reason, with_rule.pair))
            return tuple(found)

        return tuple(
            replace(overview, overlaps=compared(layer), undecided=undecided) for layer, overview in self.scores.items()
        )


def unrecorded_note(layer: str) -> str:
    """Why a score is not shown though it is there: without this record nothing tells how its values came about."""
    return (
        f"not shown: {layer}, whose record in decisions/{layer}/ is missing (gc --purge removes it, too); run 'winnow "
        "score RECIPE', which makes it again"
    )


def read_scores(
    recipe: BoundRecipe, store: Store, generation: Generation, summary: StoreSummary, *, shown: int = SHOWN
) -> ScoreComparison:
    """Read every score of the recipe whose layers are in a generation and up to date, in the recipe's order.

    `summary`: the generation's; `shown`: how many of the highest and of the lowest samples to read the texts of.
    RecipeError if a score cannot be bound: a file that it needs is missing.
    """
    found, unrecorded = {}, []
    for bound in _current_scores(recipe, store, generation):
        layer, rows = bound.entry.layer, store.manifest(generation, bound.entry.layer)
        record = find_decision(store.objects, layer, rows[0].key) if rows else None
        counted = summary.layer(layer)
        if rows and record is None:
            unrecorded.append(layer)
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
        found[layer] = overview
    return ScoreComparison(found, tuple(unrecorded))


def _current_scores(recipe: BoundRecipe, store: Store, generation: Generation) -> Iterator[BoundScore]:
    """Yield the scores whose layers exist and match the recipe's current settings."""
    if not any(entry.layer in generation.layers for entry in recipe.config.score):
        return
    expected = expected_keys(recipe.ingest(store), recipe.operators, store, generation)
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
    return FitOverview(group.name, group.how, group.quality or NO_QUALITY, group.steps, group.converged)


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
    there = [place for place in places if place.shard not in hidden or place.row not in hidden[place.shard].rows][
        :shown
    ]
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


def _sample(preview: TextPreview, score: float, keep: float | None) -> ScoredSample:
    return ScoredSample(preview.id, preview.source, preview.url, score, keep, preview.text)
