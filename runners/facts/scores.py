"""The section on scores: the quality of the data, the cuts, the highest and lowest samples, and the overlap of drops
with rules and other scores."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.score.deciding.records import Distribution
from winnow.pipelines.score.overview import DropOverlap, FitOverview, ScoredSample, ScoreOverview, unrecorded_note
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, breakable, crawled, element, folded, join, marked, plain, table
from winnow.runners.report.plots.histograms import Mark, small_counted_histogram
from winnow.runners.tables.quantities import grouped, share
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


def scores(_: StoreSummary, examples: Examples) -> Block | None:
    """All current scores."""
    notes = [element("p", crawled(unrecorded_note(layer)), class_="note") for layer in examples.unrecorded]
    if not examples.scores:
        return Block("scores", "Scores", join(notes), "not shown") if notes else None
    parts = [_table(examples.scores), element("p", plain(_EXPLAINED), class_="note"), *notes]
    for one in examples.scores:
        parts += _score(one)
    brief = ", ".join(f"{one.name} would drop {grouped(one.dropped)}" for one in examples.scores)
    return Block("scores", "Scores", join(parts), brief)


def _table(found: Sequence[ScoreOverview]) -> Html:
    headers = [Header("score"), Header("task"), Header("filter")]
    headers += [Header(name, True) for name in ("samples", "scored", "share", "median", "would be dropped")]
    rows = [
        [
            crawled(one.name),
            plain(one.task),
            plain(one.binarise if one.by is None else f"{one.binarise} by {one.by}"),
            plain(grouped(one.rows)),
            plain(grouped(one.scored)),
            plain(share(one.scored, one.rows)),
            plain(_number(median(one.score))),
            plain(grouped(one.dropped)),
        ]
        for one in found
    ]
    return table("Scores of samples", headers, rows)


def _score(one: ScoreOverview) -> list[Html]:
    name = f"score.{one.name}"
    parts = [element("h3", crawled(name))]
    statuses = [[crawled(status), plain(grouped(n)), plain(share(n, one.rows))] for status, n in one.statuses.items()]
    headers = [Header("status"), Header("samples", True), Header("share", True)]
    parts.append(table("Samples by status", headers, statuses))
    fits = sorted(one.fits, key=lambda fit: (-fit.quality.rows, fit.name))
    parts.append(_quality(one, fits[:SHOWN_FITS]))
    if (more := len(fits) - SHOWN_FITS) > 0:
        parts.append(element("p", plain(f"And {count_of(more, 'more value')} of {one.by}."), class_="note"))
    parts.append(_steps(one, fits[:SHOWN_FITS]))
    parts += _distributions(one)
    parts.append(_samples("Highest scores", one.highest))
    parts.append(_samples("Lowest scores", one.lowest))
    parts += _overlaps(one)
    return parts


def _quality(one: ScoreOverview, fits: Sequence[FitOverview]) -> Html:
    headers = [Header(one.by or "samples"), Header("votes by"), Header("decided", True), Header("passed", True)]
    headers += [Header("quality", True), Header("from", True), Header("to", True), Header("note")]
    rows = [
        [
            crawled(fit.name or "all"),
            plain("label model" if fit.how == "label_model" else "majority"),
            plain(grouped(fit.quality.rows)),
            plain(f"{fit.quality.kept:.1%}" if fit.quality.rows else ""),
            *(plain(text) for text in quality(fit.quality)),
            plain(_remark(fit)),
        ]
        for fit in fits
    ]
    return table("Quality of the data", headers, rows)


def _remark(fit: FitOverview) -> str:
    if not fit.quality.rows:
        return "no votes"
    remarks = (WITHOUT_INTERVAL.get(fit.quality.method, ""), "" if fit.converged else NOT_CONVERGED)
    return "; ".join(one for one in remarks if one)


def _steps(one: ScoreOverview, fits: Sequence[FitOverview]) -> Html:
    headers = [Header(one.by or "samples"), Header("checkpoint", True), Header("scored", True), Header("voted", True)]
    headers += [Header("passed", True), Header("lowest passed", True), Header("highest failed", True)]
    headers += [Header("lower cluster"), Header("upper cluster"), Header("note")]
    rows = [
        [crawled(fit.name or "all"), plain(str(number)), *_step(step)]
        for fit in fits
        for number, step in enumerate(fit.steps, start=1)
    ]
    return table("What the filter finds at each checkpoint", headers, rows)


def _step(step: Step) -> list[Html]:
    lower, upper = step.clusters or (None, None)
    return [
        plain(grouped(step.scored)),
        plain(grouped(step.voted)),
        plain(f"{grouped(step.kept)} · {share(step.kept, step.voted)}" if step.voted else ""),
        plain(_number(step.lowest_kept)),
        plain(_number(step.highest_dropped)),
        plain(_cluster(lower)),
        plain(_cluster(upper)),
        plain(NOTES[step.note]),
    ]


def _cluster(one: Cluster | None) -> str:
    return "" if one is None else f"{one.mean:.4g} ± {one.deviation:.3g} ({one.share:.0%})"


def _distributions(one: ScoreOverview) -> list[Html]:
    alone = one.fits[0] if len(one.fits) == 1 else None
    middle = median(one.score)
    drawn = [_histogram(f"Mean score of {one.name}", one.score, [Mark(middle, "median")] if middle is not None else [])]
    for number, found in enumerate(one.checkpoints, start=1):
        cut = alone.steps[number - 1].lowest_kept if alone is not None else None
        marks = [Mark(cut, "lowest passed")] if cut is not None else []
        drawn.append(_histogram(f"{one.name} at checkpoint {number}", found, marks))
    drawn.append(_histogram(f"Keep probability by {one.name}", one.keep, [Mark(KEEP_AT, f"passed from {KEEP_AT:g}")]))
    parts = [element("div", *drawn, class_="multiples")]
    every = (one.score, *one.checkpoints, one.keep)
    lines: list[tuple[str, list[str]]] = [("scored", [grouped(found.summary.scored) for found in every])]
    lines += [("least", [_number(found.summary.least) for found in every])]
    lines += [(f"{part * 100:.0f} %", [_number(_quantile(found, part)) for found in every]) for part in QUANTILES]
    lines += [("greatest", [_number(found.summary.greatest) for found in every])]
    lines += [("mean", [_number(found.summary.mean) for found in every])]
    lines += [("deviation", [_number(found.summary.deviation) for found in every])]
    headers = [Header("number"), *(Header(found.name, True) for found in every)]
    rows = [[plain(name), *map(plain, numbers)] for name, numbers in lines]
    parts.append(folded("Exact numbers", table(f"Distributions of {one.name}", headers, rows)))
    return parts


def _histogram(title: str, found: Distribution, marks: Sequence[Mark]) -> Html:
    bars = found.bars
    if not bars.counts:
        return element("p", plain(f"{title}: nothing was scored."), class_="note")
    drawn = small_counted_histogram(title, bars.edges[0], bars.edges[-1], bars.counts, marks)
    outside = [f"{grouped(n)} {where}" for n, where in ((bars.below, "lower"), (bars.above, "higher")) if n]
    note = [element("span", plain(f"Not drawn: {', '.join(outside)}."))] if outside else []
    return element("figure", element("figcaption", element("strong", plain(title)), *note), drawn)


def _samples(title: str, samples: Sequence[ScoredSample]) -> Html:
    headers = [Header("score", True), Header("keep", True), Header("source"), Header("id"), Header("text")]
    rows = [
        [
            plain(_number(sample.score)),
            plain("" if sample.keep is None else f"{sample.keep:.3f}"),
            crawled(sample.source),
            element("code", crawled(sample.id)),
            element("span", marked(" ".join(sample.text.split())), dir="auto"),
        ]
        for sample in samples
    ]
    return folded(title, table(title, headers, rows))


def _overlaps(one: ScoreOverview) -> list[Html]:
    parts = []
    if one.overlaps:
        headers = [Header("list"), Header("reason or score")]
        headers += [Header(name, True) for name in ("both drop", "this score alone", "the other alone", "neither")]
        headers += [Header("of its drops", True), Header("agreement", True), Header("kappa", True)]
        rows = [_overlap(other) for other in one.overlaps]
        parts.append(table(f"Overlap of drops with {one.name}", headers, rows))
    if one.undecided:
        remark = "Rules cannot be decided on this generation, so they are not compared; run winnow plan to see why."
        parts.append(element("p", plain(remark), class_="note"))
    return parts


def _overlap(one: DropOverlap) -> list[Html]:
    pair = one.pair  # counts the samples that both keep; here those that both drop
    return [
        plain(one.kind),
        breakable(one.name),
        plain(grouped(pair.neither)),
        plain(grouped(pair.only_other)),
        plain(grouped(pair.only_one)),
        plain(grouped(pair.both)),
        plain(share(pair.neither, pair.neither + pair.only_other)),
        plain("" if pair.agreement is None else f"{pair.agreement:.1%}"),
        plain("" if pair.kappa is None else f"{pair.kappa:.3f}"),
    ]


def median(found: Distribution) -> float | None:
    """The median score."""
    return _quantile(found, 0.5)


def quality(found: Quality) -> tuple[str, str, str]:
    """The share of good samples and both ends of its interval; empty if there is no estimate."""
    if not found.rows or found.method != "clusters":
        return "", "", ""
    return f"{found.share:.1%}", f"{found.low:.1%}", f"{found.high:.1%}"


def _quantile(found: Distribution, fraction: float) -> float | None:
    return dict(found.summary.quantiles).get(fraction)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
