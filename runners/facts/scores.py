"""Scores: the quality of the data, the cuts, the highest and lowest samples, and the overlap of drops with rules and
other scores."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from winnow.pipelines.score.deciding.records import Distribution
from winnow.pipelines.score.overview import DropOverlap, FitOverview, ScoredSample, ScoreOverview, unrecorded_note
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, folded, join, plain
from winnow.runners.report.plots.histograms import Mark, small_counted_histogram
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.tables.table import Column, Share, Table, Value, heads, table
from winnow.runners.tables.units import COUNT, DIGITS, EXCERPT, ID, NAME, PERCENT, REASON, SHARE, WORDS, Unit
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary
from winnow.scoring.selection import KEEP_AT, Quality
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.clusters import Cluster
from winnow.scoring.selection.describe import QUANTILES
from winnow.scoring.selection.quality import Method

SHOWN_FITS = 30
"""How many values of the grouping column are shown, those of the most samples first."""

NOTES = {
    "": "",
    "unscored": "nothing was scored",
    "constant": "all scores are equal",
    "one_component": "one Gaussian took all samples: no votes",
    "not_converged": "did not converge",
}
WITHOUT_INTERVAL: Mapping[Method, str] = {
    "overlap": "unknown, as the scores of good and bad samples overlap too much",
    "kept": "not estimated, as only two Gaussians (binarise: gmm) model good and bad samples",
}
"""Why there is no estimate of the share of good samples."""

NOT_CONVERGED = (
    "the label model did not converge, so its votes may count for too much or too little: score more checkpoints or "
    "samples, or set `aggregate: majority`"
)

_EXPLAINED = (
    "The quality is the share of good samples, with bounds that hold for any two groups of scores with one peak each; "
    "where the groups overlap too much for that there are none. Nothing here knows whether the score prefers the right "
    "samples."
)

KEEP = Unit(lambda one: f"{one:.3f}")

SCORES: tuple[Column[ScoreOverview], ...] = (
    Column("score", NAME, lambda one: one.name, "name"),
    Column("task", WORDS, lambda one: one.task),
    Column("filter", WORDS, lambda one: one.binarise if one.by is None else f"{one.binarise} by {one.by}"),
    Column("samples", COUNT, lambda one: one.rows, "rows"),
    Column("scored", COUNT, lambda one: one.scored),
    Column("share", SHARE, lambda one: Share(one.scored, one.rows)),
    Column("median", DIGITS, lambda one: median(one.score)),
    Column("would be dropped", COUNT, lambda one: one.dropped, "dropped"),
)
QUALITY: tuple[Column[FitOverview], ...] = (
    Column("votes by", WORDS, lambda one: "label model" if one.how == "label_model" else "majority"),
    Column("decided", COUNT, lambda one: one.quality.rows),
    Column("passed", PERCENT, lambda one: one.quality.kept if one.quality.rows else None),
    Column("quality", PERCENT, lambda one: one.quality.share if _estimated(one.quality) else None),
    Column("from", PERCENT, lambda one: one.quality.low if _estimated(one.quality) else None),
    Column("to", PERCENT, lambda one: one.quality.high if _estimated(one.quality) else None),
    Column("note", WORDS, lambda one: _remark(one)),
)
STEPS: tuple[Column[Step], ...] = (
    Column("scored", COUNT, lambda one: one.scored),
    Column("voted", COUNT, lambda one: one.voted),
    Column("passed", COUNT, lambda one: f"{one.kept:,} · {share(one.kept, one.voted)}" if one.voted else None),
    Column("lowest passed", DIGITS, lambda one: one.lowest_kept),
    Column("highest failed", DIGITS, lambda one: one.highest_dropped),
    Column("lower cluster", WORDS, lambda one: _cluster(one.clusters[0]) if one.clusters else None),
    Column("upper cluster", WORDS, lambda one: _cluster(one.clusters[1]) if one.clusters else None),
    Column("note", WORDS, lambda one: NOTES[one.note]),
)
SAMPLES: tuple[Column[ScoredSample], ...] = (
    Column("score", DIGITS, lambda one: one.score),
    Column("keep", KEEP, lambda one: one.keep),
    Column("source", NAME, lambda one: one.source),
    Column("id", ID, lambda one: one.id),
    Column("text", EXCERPT, lambda one: one.text),
)
OVERLAPS: tuple[Column[DropOverlap], ...] = (  # a pair counts what both keep; here what both drop
    Column("list", WORDS, lambda one: one.kind),
    Column("reason or score", REASON, lambda one: one.name),
    Column("both drop", COUNT, lambda one: one.pair.neither),
    Column("this score alone", COUNT, lambda one: one.pair.only_other),
    Column("the other alone", COUNT, lambda one: one.pair.only_one),
    Column("neither", COUNT, lambda one: one.pair.both),
    Column("of its drops", SHARE, lambda one: Share(one.pair.neither, one.pair.neither + one.pair.only_other)),
    Column("agreement", PERCENT, lambda one: one.pair.agreement),
    Column("kappa", KEEP, lambda one: one.pair.kappa),
)


def print_scores(found: Sequence[ScoreOverview], console: Console) -> None:
    """Print one line per score, and one per fit: how many samples are scored, and the quality."""
    print_tables(console, table("Scores", SCORES, found), *(_quality(one, one.fits) for one in found))


def scores(_: StoreSummary, examples: Examples) -> Block | None:
    """All current scores."""
    notes = [note(unrecorded_note(layer)) for layer in examples.unrecorded]
    if not examples.scores:
        return Block("scores", "Scores", join(notes), "not shown") if notes else None
    parts = [drawn(table("Scores", SCORES, examples.scores)), note(_EXPLAINED), *notes]
    for score in examples.scores:
        parts += _score(score)
    brief = ", ".join(f"{score.name} would drop {grouped(score.dropped)}" for score in examples.scores)
    return Block("scores", "Scores", join(parts), brief)


def _score(overview: ScoreOverview) -> list[Html]:
    statuses = [(status, count, Share(count, overview.rows)) for status, count in overview.statuses.items()]
    columns = heads("status", ("samples", COUNT), ("share", SHARE))
    parts = [element("h3", crawled(f"score.{overview.name}")), drawn(Table("Samples by status", columns, statuses))]
    fits = sorted(overview.fits, key=lambda fit: (-fit.quality.rows, fit.name))
    parts.append(drawn(_quality(overview, fits[:SHOWN_FITS])))
    if (more := len(fits) - SHOWN_FITS) > 0:
        parts.append(note(f"And {count_of(more, 'more value')} of {overview.by}."))
    parts.append(drawn(_steps(overview, fits[:SHOWN_FITS])))
    parts += _distributions(overview)
    for title, samples in (("Highest scores", overview.highest), ("Lowest scores", overview.lowest)):
        parts.append(folded(title, drawn(table(title, SAMPLES, samples))))
    if overview.overlaps:
        parts.append(drawn(table(f"Overlap of drops with {overview.name}", OVERLAPS, overview.overlaps)))
    if overview.undecided:
        parts.append(
            note("Rules cannot be decided on this generation, so they are not compared; run winnow plan to see why.")
        )
    return parts


def _quality(overview: ScoreOverview, fits: Sequence[FitOverview]) -> Table:
    named: Column[FitOverview] = Column(overview.by or "samples", NAME, lambda fit: fit.name or "all")
    return table(f"Quality of the data by {overview.name}", (named, *QUALITY), fits)


def _remark(fit: FitOverview) -> str:
    if not fit.quality.rows:
        return "no votes"
    remarks = (WITHOUT_INTERVAL.get(fit.quality.method, ""), "" if fit.converged else NOT_CONVERGED)
    return "; ".join(remark for remark in remarks if remark)


def _steps(overview: ScoreOverview, fits: Sequence[FitOverview]) -> Table:
    rows = [
        (fit.name or "all", str(number), *(column.of(step) for column in STEPS))
        for fit in fits
        for number, step in enumerate(fit.steps, start=1)
    ]
    columns = heads(overview.by or "samples", ("checkpoint", COUNT), *((column.title, column.unit) for column in STEPS))
    return Table("What the filter finds at each checkpoint", columns, rows)


def _cluster(cluster: Cluster) -> str:
    return f"{cluster.mean:.4g} ± {cluster.deviation:.3g} ({cluster.share:.0%})"


def _distributions(overview: ScoreOverview) -> list[Html]:
    alone = overview.fits[0] if len(overview.fits) == 1 else None
    middle = median(overview.score)
    figures = [
        _histogram(
            f"Mean score of {overview.name}", overview.score, [Mark(middle, "median")] if middle is not None else []
        )
    ]
    for number, found in enumerate(overview.checkpoints, start=1):
        cut = alone.steps[number - 1].lowest_kept if alone is not None else None
        marks = [Mark(cut, "lowest passed")] if cut is not None else []
        figures.append(_histogram(f"{overview.name} at checkpoint {number}", found, marks))
    figures.append(
        _histogram(f"Keep probability by {overview.name}", overview.keep, [Mark(KEEP_AT, f"passed from {KEEP_AT:g}")])
    )
    every = (overview.score, *overview.checkpoints, overview.keep)
    summaries = [found.summary for found in every]
    rows: list[tuple[Value, ...]] = [
        ("scored", *(grouped(of.scored) for of in summaries)),
        ("least", *(of.least for of in summaries)),
        *((f"{part * 100:.0f} %", *(_quantile(found, part) for found in every)) for part in QUANTILES),
        ("greatest", *(of.greatest for of in summaries)),
        ("mean", *(of.mean for of in summaries)),
        ("deviation", *(of.deviation for of in summaries)),
    ]
    columns = heads(("number", WORDS), *((found.name, DIGITS) for found in every))
    exact = Table(f"Distributions of {overview.name}", columns, rows)
    return [element("div", *figures, class_="multiples"), folded("Exact numbers", drawn(exact))]


def _histogram(title: str, found: Distribution, marks: Sequence[Mark]) -> Html:
    bars = found.bars
    if not bars.counts:
        return element("p", plain(f"{title}: nothing was scored."), class_="note")
    drawn = small_counted_histogram(title, bars.edges[0], bars.edges[-1], bars.counts, marks)
    outside = [f"{grouped(n)} {where}" for n, where in ((bars.below, "lower"), (bars.above, "higher")) if n]
    note = [element("span", plain(f"Not drawn: {', '.join(outside)}."))] if outside else []
    return element("figure", element("figcaption", element("strong", plain(title)), *note), drawn)


def median(found: Distribution) -> float | None:
    """The median score."""
    return _quantile(found, 0.5)


def _estimated(found: Quality) -> bool:
    """Whether there is an estimate of the share of good samples, with an interval."""
    return bool(found.rows) and found.method == "clusters"


def _quantile(found: Distribution, fraction: float) -> float | None:
    return dict(found.summary.quantiles).get(fraction)
