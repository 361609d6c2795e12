"""The sections of the page on what a store holds: each is a function of the summary; None if it has nothing to show.

To add a section, write one more function and list it in `page.SECTIONS`.
"""

from dataclasses import replace

from winnow.pipelines.rules.sites import MIN_ROWS
from winnow.runners.facts.examples import (
    EXCERPT_CHARACTERS,
    ContactSheet,
    ExampleRow,
    Examples,
    SheetPicture,
)
from winnow.runners.facts.sites import by_site
from winnow.runners.facts.store import frequent, losses, sources, stages, values
from winnow.runners.facts.store import layers as layers_of
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, folded, join, marked, plain
from winnow.runners.report.pictures import captioned, gallery, measured, moments
from winnow.runners.report.plots.bars import Part, Row, shares
from winnow.runners.report.plots.histograms import Curve, log_histograms
from winnow.runners.report.tables import drawn, note, ranking
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.tables.table import Column, Table, heads, table
from winnow.runners.tables.units import COUNT, PLACE, REASON
from winnow.schemas.counts import count_of
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.summary import ColumnSummary, SourceSummary, StoreSummary, add_counts, by_count

SHOWN_BARS = 20  # of values
MEASURED = replace(COUNT, absent="-")
TONES = ("tone-1", "tone-2", "tone-3", "tone-4", "tone-5", "tone-6", "tone-7", "tone-8")

ID_DIGITS = 12


def funnel(summary: StoreSummary, _: Examples) -> Block | None:
    """The fate of each source's records."""
    if not summary.sources:
        return None
    rows = [Row(source.name, _fates(source)) for source in summary.sources]
    why = losses(summary)
    parts = [shares("What became of records", rows), drawn(sources(summary))]
    parts += [folded(why.title, drawn(why))] if why.rows else []
    parts += [note(f"{unread_note}.") for unread_note in summary.unread_notes()]
    total = summary.total()
    samples, records = count_of(total.samples, "sample"), count_of(total.records, "record")
    brief = f"{samples} of {records} in {count_of(len(summary.sources), 'source')}"
    return Block("sources", "Sources", join(parts), brief)


def _fates(source: SourceSummary) -> tuple[Part, ...]:
    return (
        Part("samples", source.samples, "kept"),
        Part("dropped", sum(source.dropped.values()), "dropped"),
        Part("quarantined", sum(source.quarantined.values()), "quarantined"),
    )


def lengths(summary: StoreSummary, _: Examples) -> Block | None:
    """The length of the sources' texts and of every extractor's texts."""
    measured = ((layer.name, layer.column("text")) for layer in summary.layers)
    found = ((name, column.measure("characters")) for name, column in measured if column)
    curves = [Curve(name, measure) for name, measure in found if measure is not None and measure.count]
    if not curves:
        return None
    fractions = tuple(quantile.fraction for quantile in curves[0].measure.quantiles)

    def quantile(part: float) -> Column[Curve]:
        return Column(f"{part * 100:.0f} %", MEASURED, lambda one: one.measure.quantile(part))

    columns: list[Column[Curve]] = [
        Column("layer", PLACE, lambda one: one.label),
        Column("texts", COUNT, lambda one: one.measure.count),
        Column("shortest", MEASURED, lambda one: one.measure.minimum),
        *map(quantile, fractions),
        Column("longest", MEASURED, lambda one: one.measure.maximum),
        Column("mean", MEASURED, lambda one: one.measure.mean),
    ]
    body = [
        log_histograms("Length of texts", "characters", curves),
        drawn(table("Length of texts in characters", columns, curves)),
        note("Quantiles come from a histogram and are within 1/32 of the true value. The other numbers are exact."),
    ]
    median = curves[0].measure.quantile(0.5)
    brief = "" if median is None else f"median {grouped(median)} characters"
    return Block("lengths", "Length of texts", join(body), brief)


def domains(summary: StoreSummary, examples: Examples) -> Block | None:
    """The most frequent domains, and what is kept of large sites."""
    column = _column(summary, "samples", "domain")
    if column is None:
        return None
    different = "" if column.distinct is None else f"about {count_of(column.distinct, 'domain')}"
    parts = [_most_frequent("Most frequent domains", "domain", column)]
    if examples.sites:
        parts.append(drawn(by_site(examples.sites).between(0, SHOWN_BARS)))
        parts.append(note(f"Counted in shards in which a site has {MIN_ROWS} rows or more."))
    return Block("domains", "Domains", join(parts), different)


def kinds(summary: StoreSummary, _: Examples) -> Block | None:
    """Modality and media type of samples."""
    parts: list[Html] = []
    modalities = add_counts(source.by_modality for source in summary.sources)
    if modalities:
        parts.append(ranking(frequent("Modality of samples", ("modality", "rows"), by_count(modalities))))
    column = _column(summary, "samples", "mime")
    if column is not None:
        parts.append(_most_frequent("Media type of samples", "media type", column))
    brief = ", ".join(f"{name} {grouped(count)}" for name, count in by_count(modalities)[:4])
    return Block("kinds", "Modality and media type", join(parts), brief) if parts else None


def declared_languages(summary: StoreSummary, _: Examples) -> Block | None:
    """The languages that pages declare, by extractor."""
    parts = [
        _most_frequent(f"Language declared by the page ({layer.name})", "language", column)
        for layer in summary.layers
        if layer.name.startswith(EXTRACTED) and (column := layer.column("language")) is not None and column.top
    ]
    return Block("languages", "Declared languages", join(parts), "by the pages themselves") if parts else None


def extractors(summary: StoreSummary, _: Examples) -> Block | None:
    """The status of each extractor's rows, side by side."""
    layers = [layer for layer in summary.layers if layer.statuses and layer.name.startswith(EXTRACTED)]
    if not layers:
        return None
    order = [name for name, _ in by_count(add_counts(layer.statuses for layer in layers))]
    rest = [name for name in order if name != "ok"]
    tones = {"ok": "kept"} | {name: TONES[(index + 1) % len(TONES)] for index, name in enumerate(rest)}
    rows = [
        Row(layer.name, tuple(Part(name, layer.statuses.get(name, 0), tones[name]) for name in order))
        for layer in layers
    ]
    counts = [[(layer.statuses.get(name, 0), layer.rows) for layer in layers] for name in order]
    lines = [
        (name, *(f"{count:,} · {share(count, whole)}" for count, whole in of))
        for name, of in zip(order, counts, strict=True)
    ]
    columns = heads(("status", REASON), *((layer.name, COUNT) for layer in layers))
    body = [shares("Status of extractions", rows), drawn(Table("Rows by status", columns, lines))]
    return Block("extraction", "Extraction", join(body), ", ".join(layer.name for layer in layers))


def layers(summary: StoreSummary, _: Examples) -> Block | None:
    """The layers of the store, and the stages that made them."""
    shown = [one for one in (layers_of(summary), stages(summary)) if one.rows]
    if not shown:
        return None
    brief = f"{count_of(len(summary.layers), 'layer')}, {byte_size(sum(layer.bytes for layer in summary.layers))}"
    return Block("layers", "Layers and stages", join(map(drawn, shown)), brief)


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


def _most_frequent(title: str, name: str, column: ColumnSummary) -> Html:
    notes: list[str] = []
    if column.distinct is not None:
        notes.append(f"About {count_of(column.distinct, 'different value')} (one standard deviation: 1.6 %).")
    if column.nulls:
        notes.append(f"{count_of(column.nulls, 'row has', 'rows have')} no value.")
    if column.uncounted:
        notes.append(f"Counts may be up to {grouped(column.uncounted)} too low.")
    return ranking(values(title, name, column, SHOWN_BARS), " ".join(notes))


def contact_sheets(_: StoreSummary, examples: Examples) -> Block | None:
    """All contact sheets that were asked for."""
    if not examples.sheets:
        return None
    parts = [part for sheet in examples.sheets for part in _sheet(sheet)]
    return Block("contact-sheets", "Contact sheets", join(parts))


def _sheet(sheet: ContactSheet) -> list[Html]:
    parts = [element("h3", crawled(sheet.title)), *(element("p", plain(note), class_="note") for note in sheet.notes)]
    for name, pictures in sheet.groups:
        shown = [_figure(picture) for picture in pictures]
        parts.append(element("p", crawled(name), class_="note"))
        parts.append(gallery(shown) if shown else element("p", plain("no pictures")))
    return parts


def _figure(one: SheetPicture) -> Html:
    reference = one.thumbnail.facts.get("ref") or {}
    lines = [crawled(caption) for caption in one.captions]
    lines += [element("code", plain(one.id[:ID_DIGITS])), plain(measured(one.thumbnail))]
    lines += [plain(moments(one.thumbnail))] if one.thumbnail.moments else []
    lines += [] if one.value is None else [plain(f"value {one.value}")]
    lines.append(crawled(reference.get("member") or reference.get("path") or ""))
    return captioned(
        one.thumbnail, f"{'frames of' if one.thumbnail.moments else 'picture'} {one.id[:ID_DIGITS]}", lines
    )
