"""The sections of a report: each is a function of the summary, and returns None if it has nothing to show.

To add a section, write one more function and list it in `page.SECTIONS`.
"""

from collections.abc import Mapping, Sequence

from winnow.runners.facts.examples import EXCERPT_CHARACTERS, ExampleRow, Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, breakable, crawled, element, folded, join, marked, plain, table
from winnow.runners.report.plots.bars import Part, Row, bars, shares
from winnow.runners.report.plots.histograms import Curve, log_histograms
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.schemas.counts import count_of
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.summary import ColumnSummary, LayerSummary, SourceSummary, StoreSummary, add_counts, by_count

SHOWN_BARS = 20
TONES = ("tone-1", "tone-2", "tone-3", "tone-4", "tone-5", "tone-6", "tone-7", "tone-8")


def funnel(summary: StoreSummary, _: Examples) -> Block | None:
    """The fate of each source's records."""
    if not summary.sources:
        return None
    rows = [Row(source.name, _fates(source)) for source in summary.sources]

    def line(source: SourceSummary) -> list[Html]:
        dropped, quarantined = sum(source.dropped.values()), sum(source.quarantined.values())
        return [
            crawled(source.name),
            crawled(source.source_class),
            crawled(source.licence),
            plain(grouped(source.files)),
            plain(byte_size(source.input_bytes)),
            plain(grouped(source.records)),
            plain(grouped(source.samples)),
            plain(grouped(dropped)),
            plain(grouped(quarantined)),
            plain(share(source.samples, source.records - source.described)),
        ]

    headers = [Header("source"), Header("class"), Header("licence")]
    headers += [
        Header(name, True) for name in ("files", "input", "records", "samples", "dropped", "quarantined", "share")
    ]
    footer = line(summary.total()) if len(summary.sources) > 1 else ()
    counted = table("Records of each source", headers, map(line, summary.sources), footer)
    lost = [
        [
            crawled(source.name),
            plain(fate),
            breakable(reason),
            plain(grouped(count)),
            plain(share(count, source.records)),
        ]
        for source in summary.sources
        for fate, counts in (("dropped", source.dropped), ("quarantined", source.quarantined))
        for reason, count in by_count(counts)
    ]
    reasons = [Header("source"), Header("fate"), Header("reason"), Header("records", True), Header("share", True)]
    why = (
        [folded("Why records became no samples", table("Why records became no samples", reasons, lost))] if lost else []
    )
    unread = [element("p", plain(f"{note}."), class_="note") for note in summary.unread_notes()]
    total = summary.total()
    samples, records = count_of(total.samples, "sample"), count_of(total.records, "record")
    brief = f"{samples} of {records} in {count_of(len(summary.sources), 'source')}"
    return Block("sources", "Sources", join([shares("What became of records", rows), counted, *why, *unread]), brief)


def _fates(source: SourceSummary) -> tuple[Part, ...]:
    return (
        Part("samples", source.samples, "kept"),
        Part("dropped", sum(source.dropped.values()), "dropped"),
        Part("quarantined", sum(source.quarantined.values()), "quarantined"),
    )


def lengths(summary: StoreSummary, _: Examples) -> Block | None:
    """The length of the sources' texts and of every extractor's texts."""
    curves: list[Curve] = []
    for layer in summary.layers:
        column = layer.column("text")
        measure = column.measure("characters") if column else None
        if measure is not None and measure.count:
            curves.append(Curve(layer.name, measure))
    if not curves:
        return None
    fractions = tuple(quantile.fraction for quantile in curves[0].measure.quantiles)
    headers = [Header("layer"), Header("texts", True), Header("shortest", True)]
    headers += [Header(f"{fraction * 100:.0f} %", True) for fraction in fractions]
    headers += [Header("longest", True), Header("mean", True)]
    rows = [
        [breakable(curve.label), plain(grouped(curve.measure.count))]
        + [
            plain("-" if value is None else grouped(value))
            for value in (
                curve.measure.minimum,
                *map(curve.measure.quantile, fractions),
                curve.measure.maximum,
                curve.measure.mean,
            )
        ]
        for curve in curves
    ]
    note = "Quantiles come from a histogram and are within 1/32 of the true value. The other numbers are exact."
    body = [
        log_histograms("Length of texts", "characters", curves),
        table("Length of texts in characters", headers, rows),
        element("p", plain(note), class_="note"),
    ]
    median = curves[0].measure.quantile(0.5)
    brief = "" if median is None else f"median {grouped(median)} characters"
    return Block("lengths", "Length of texts", join(body), brief)


def domains(summary: StoreSummary, _: Examples) -> Block | None:
    """The most frequent domains."""
    column = _column(summary, "samples", "domain")
    if column is None:
        return None
    different = "" if column.distinct is None else f"about {count_of(column.distinct, 'domain')}"
    return Block("domains", "Domains", _values("Most frequent domains", "domain", column), different)


def kinds(summary: StoreSummary, _: Examples) -> Block | None:
    """Modality and media type of samples."""
    parts: list[Html] = []
    modalities = add_counts(source.by_modality for source in summary.sources)
    if modalities:
        parts.append(_counts("Modality of samples", "modality", modalities))
    column = _column(summary, "samples", "mime")
    if column is not None:
        parts.append(_values("Media type of samples", "media type", column))
    brief = ", ".join(f"{name} {grouped(count)}" for name, count in by_count(modalities)[:4])
    return Block("kinds", "Modality and media type", join(parts), brief) if parts else None


def declared_languages(summary: StoreSummary, _: Examples) -> Block | None:
    """The languages that pages declare, by extractor."""
    parts = [
        _values(f"Language declared by the page ({layer.name})", "language", column)
        for layer in summary.layers
        if layer.name.startswith(EXTRACTED) and (column := layer.column("language")) is not None and column.top
    ]
    return Block("languages", "Declared languages", join(parts), "by the pages themselves") if parts else None


def quarantine(summary: StoreSummary, examples: Examples) -> Block | None:
    """Records that could not be read, the reasons, and a few examples."""
    reasons = summary.total().quarantined
    if not reasons and not examples.ranges:
        return None
    parts = [_counts("Reasons for quarantine", "reason", reasons)] if reasons else []
    if examples.ranges:
        headers = [Header("reason"), Header("source"), Header("file"), Header("offset", True), Header("length", True)]
        headers += [Header("unit"), Header("detail")]
        rows = [
            [
                breakable(found.reason),
                crawled(found.source),
                breakable(found.path),
                plain(grouped(found.offset)),
                plain(grouped(found.length)),
                plain(found.unit),
                crawled(found.detail),
            ]
            for found in examples.ranges
        ]
        parts.append(folded("Examples of ranges", table("Examples of ranges", headers, rows)))
    brief = f"{count_of(sum(reasons.values()), 'record')} that could not be read"
    return Block("quarantine", "Quarantine", join(parts), brief)


def extractors(summary: StoreSummary, _: Examples) -> Block | None:
    """The status of each extractor's rows, side by side."""
    layers = [layer for layer in summary.layers if layer.statuses and layer.name.startswith(EXTRACTED)]
    if not layers:
        return None
    order = [name for name, _ in by_count(add_counts(layer.statuses for layer in layers))]
    tones = _status_tones(order)
    rows = [
        Row(layer.name, tuple(Part(name, layer.statuses.get(name, 0), tones[name]) for name in order))
        for layer in layers
    ]
    headers = [Header("status")] + [Header(layer.name, True) for layer in layers]
    lines = [[breakable(name), *(_count_and_share(layer, name) for layer in layers)] for name in order]
    body = [shares("Status of extractions", rows), table("Rows by status", headers, lines)]
    return Block("extraction", "Extraction", join(body), ", ".join(layer.name for layer in layers))


def _status_tones(order: Sequence[str]) -> dict[str, str]:
    rest = [name for name in order if name != "ok"]
    return {"ok": "kept"} | {name: TONES[(index + 1) % len(TONES)] for index, name in enumerate(rest)}


def _count_and_share(layer: LayerSummary, status: str) -> Html:
    count = layer.statuses.get(status, 0)
    return plain(f"{grouped(count)} · {share(count, layer.rows)}")


def layers(summary: StoreSummary, _: Examples) -> Block | None:
    """The layers of the store, and the stages that made them."""
    if not summary.layers and not summary.stages:
        return None
    parts: list[Html] = []
    if summary.layers:
        headers = [Header("layer"), Header("version")]
        headers += [Header(name, True) for name in ("rows", "size", "not measured")]
        rows = [
            [
                crawled(layer.name),
                crawled(layer.version),
                plain(grouped(layer.rows)),
                plain(byte_size(layer.bytes)),
                plain(grouped(layer.nulls)),
            ]
            for layer in summary.layers
        ]
        parts.append(table("Layers", headers, rows))
    if summary.stages:
        headers = [Header("stage")]
        headers += [Header(name, True) for name in ("shards", "rows in", "samples", "dropped", "quarantined")]
        rows = [
            [
                crawled(stage.name),
                *(plain(grouped(count)) for count in (stage.shards, stage.rows, stage.kept)),
                *(plain(grouped(sum(lost.values()))) for lost in (stage.dropped, stage.quarantined)),
            ]
            for stage in summary.stages
        ]
        parts.append(table("Stages", headers, rows))
    brief = f"{count_of(len(summary.layers), 'layer')}, {byte_size(sum(layer.bytes for layer in summary.layers))}"
    return Block("layers", "Layers and stages", join(parts), brief)


def samples(_: StoreSummary, examples: Examples) -> Block | None:
    """Excerpts of a few samples, as plain text."""
    if not examples.rows:
        return None
    brief = f"the first lines of {count_of(len(examples.rows), 'sample')}"
    return Block("samples", "Examples of samples", join(map(_sample, examples.rows)), brief)


def _sample(row: ExampleRow) -> Html:
    cut = row.text[:EXCERPT_CHARACTERS]
    excerpt = marked(cut, keep="\n\t") if cut else element("em", plain("no text"))
    more = plain(" …") if len(row.text) > EXCERPT_CHARACTERS else plain("")
    facts = [crawled(fact) for fact in (row.source, row.mime, row.id) if fact]
    head = [element("p", crawled(row.url), class_="url")] if row.url else []
    about = element("p", Html(" · ".join(facts)), class_="note")
    return element("article", *head, about, element("pre", excerpt, more, dir="auto"))


def _column(summary: StoreSummary, layer: str, column: str) -> ColumnSummary | None:
    found = summary.layer(layer)
    values = found.column(column) if found else None
    return values if values is not None and values.top else None


def _values(title: str, name: str, column: ColumnSummary) -> Html:
    shown = [(value.value, value.count) for value in column.top[:SHOWN_BARS]]
    rest = column.other + sum(value.count for value in column.top[SHOWN_BARS:])
    notes: list[str] = []
    if column.distinct is not None:
        notes.append(f"About {count_of(column.distinct, 'different value')} (one standard deviation: 1.6 %).")
    if column.nulls:
        notes.append(f"{count_of(column.nulls, 'row has', 'rows have')} no value.")
    if column.uncounted:
        notes.append(f"Counts may be up to {grouped(column.uncounted)} too low.")
    return _ranking(title, name, shown, rest, column.values, " ".join(notes))


def _counts(title: str, name: str, counts: Mapping[str, int]) -> Html:
    ranked = by_count(counts)
    rest = sum(count for _, count in ranked[SHOWN_BARS:])
    return _ranking(title, name, ranked[:SHOWN_BARS], rest, sum(counts.values()), "")


def _ranking(title: str, name: str, shown: Sequence[tuple[str, int]], rest: int, whole: int, note: str) -> Html:
    rows = [Row(value or '""', (Part(name, count),)) for value, count in shown]
    lines = [[crawled(value), plain(grouped(count)), plain(share(count, whole))] for value, count in shown]
    if rest:
        rows.append(Row("all others", (Part(name, rest, "tone-rest"),)))
        lines.append([plain("all others"), plain(grouped(rest)), plain(share(rest, whole))])
    headers = [Header(name), Header("rows", True), Header("share", True)]
    parts = [element("h3", plain(title)), bars(title, rows, whole)]
    parts.append(folded("Exact numbers", table(title, headers, lines)))
    if note:
        parts.append(element("p", plain(note), class_="note"))
    return element("div", *parts, class_="ranking")
