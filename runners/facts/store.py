"""A store's content: the fate of its records, its stages and layers, languages, and statistics of measures."""

from collections.abc import Sequence

from rich.console import Console

from winnow.runners.tables.table import Column, Share, Table, Value, heads, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, REASON, SHARE, WORDS
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.languages import language
from winnow.schemas.languages.counts import LANGUAGE_LAYER, LanguageCounts, language_counts
from winnow.schemas.summary import ColumnSummary, LayerSummary, SourceSummary, StageSummary, StoreSummary, by_count

SHOWN_VALUES = 10
SHOWN_NAMES = 30
SHOWN_LANGUAGES = 40

SOURCES: tuple[Column[SourceSummary], ...] = (
    Column("source", NAME, lambda one: one.name, "name"),
    Column("class", NAME, lambda one: one.source_class),
    Column("licence", NAME, lambda one: one.licence),
    Column("files", COUNT, lambda one: one.files),
    Column("input", BYTES, lambda one: one.input_bytes),
    Column("records", COUNT, lambda one: one.records),
    Column("samples", COUNT, lambda one: one.samples),
    Column("share", SHARE, lambda one: Share(one.samples, one.records - one.described)),
    Column("dropped", COUNT, lambda one: sum(one.dropped.values())),
    Column("quarantined", COUNT, lambda one: sum(one.quarantined.values())),
)
STAGES: tuple[Column[StageSummary], ...] = (
    Column("stage", NAME, lambda one: one.name),
    Column("shards", COUNT, lambda one: one.shards),
    Column("rows in", COUNT, lambda one: one.rows),
    Column("samples", COUNT, lambda one: one.kept),
    Column("dropped", COUNT, lambda one: sum(one.dropped.values())),
    Column("quarantined", COUNT, lambda one: sum(one.quarantined.values())),
)
LAYERS: tuple[Column[LayerSummary], ...] = (
    Column("layer", NAME, lambda one: one.name),
    Column("version", NAME, lambda one: one.version),
    Column("rows", COUNT, lambda one: one.rows),
    Column("size", BYTES, lambda one: one.bytes),
    Column("not measured", COUNT, lambda one: one.nulls),
    Column("status", WORDS, lambda one: ", ".join(f"{name} {count:,}" for name, count in by_count(one.statuses))),
)


def sources(summary: StoreSummary) -> Table:
    """The fate of the records of each source."""
    return table("Sources", SOURCES, summary.sources, summary.total() if len(summary.sources) > 1 else None)


def origins(summary: StoreSummary) -> Table:
    """The sources for cards, which add the amounts of what they are of."""
    return sources(summary).without("files", "input", "samples", "share", "dropped", "quarantined")


def losses(summary: StoreSummary) -> Table:
    """Why records became no samples."""
    rows = [
        (source.name, fate, reason, count, Share(count, source.records))
        for source in summary.sources
        for fate, counts in (("dropped", source.dropped), ("quarantined", source.quarantined))
        for reason, count in by_count(counts)
    ]
    columns = heads("source", ("fate", WORDS), ("reason", REASON), ("records", COUNT), ("share", SHARE))
    return Table("Records that became no sample", columns, rows)


def stages(summary: StoreSummary) -> Table:
    """What went into each stage, and came out of it."""
    return table("Stages", STAGES, summary.stages)


def layers(summary: StoreSummary) -> Table:
    """The size of each layer, and how many rows it could not measure."""
    return table("Layers", LAYERS, summary.layers)


def frequent(
    title: str,
    named: tuple[str, str],
    counts: Sequence[tuple[str, int]],
    whole: int = 0,
    most: int = SHOWN_NAMES,
    other: int = 0,
) -> Table:
    """The most frequent names, with their shares of `whole` or of all; the rest, with `other`, is one row."""
    rest = other + sum(count for _, count in counts[most:])
    rows = [(name or '""', count) for name, count in counts[:most]] + ([("all others", rest)] if rest else [])
    whole = whole or sum(count for _, count in rows)
    columns = heads(named[0], (named[1], COUNT), ("share", SHARE))
    return Table(title, columns, [(name, count, Share(count, whole)) for name, count in rows])


def values(title: str, name: str, column: ColumnSummary, most: int) -> Table:
    """The most frequent values of a column."""
    counts = [(value.value, value.count) for value in column.top]
    return frequent(title, (name, "rows"), counts, column.values, most, column.other)


def families(counted: LanguageCounts) -> Table:
    """The families of the languages of documents."""
    return frequent("Language families", ("family", "documents"), by_count(counted.families), counted.rows)


def groups(counted: LanguageCounts) -> Table:
    """The groups of the languages of documents."""
    return frequent("Language groups", ("group", "documents"), by_count(counted.groups), counted.rows)


def languages(counted: LanguageCounts, most: int | None = None) -> Table:
    """The languages of documents, the most frequent first; of more than `most`, the others together."""

    def row(code: str, count: int) -> tuple[Value, ...]:
        known = language(code.partition("_")[0])
        named = (known.name, known.group, known.family) if known else (None, None, None)
        return (code, *named, count, Share(count, counted.rows))

    ranked = by_count(counted.codes)
    rows = [row(code, count) for code, count in ranked[:most]]
    if most is not None and (rest := ranked[most:]):
        more = counted.other + sum(count for _, count in rest)
        rows.append((f"(and {len(rest)} more)", None, None, None, more, Share(more, counted.rows)))
    columns = heads("code", "language", "group", "family", ("documents", COUNT), ("share", SHARE))
    return Table(f"Languages ({LANGUAGE_LAYER})", columns, rows)


def print_summary(summary: StoreSummary, console: Console) -> None:
    """Print the sources, the reasons for lost records, and the store's path."""
    print_tables(console, sources(summary), losses(summary))
    _print_notes(summary, console)
    print_line(console, _place(summary))


def print_layers(summary: StoreSummary, console: Console) -> None:
    """Print the layers and the languages."""
    print_tables(console, layers(summary), *_languages(summary))
    print_line(console, _place(summary))


def print_stats(summary: StoreSummary, console: Console) -> None:
    """Print sources, losses, stages, layers, and the columns of each layer, for `winnow stats`."""
    print_line(console, _place(summary), "bold")
    print_tables(console, sources(summary), losses(summary), _modalities(summary), stages(summary), layers(summary))
    if (counted := language_counts(summary)) is not None:
        print_tables(console, families(counted), *_languages(summary))
    print_tables(console, *(one for layer in summary.layers for one in (_measures(layer), _values(layer))))
    _print_notes(summary, console)


def _place(summary: StoreSummary) -> str:
    tree = f", tree {summary.tree_hash}" if summary.tree_hash else ""
    return f"{summary.store}: generation {summary.generation}{tree}"


def _languages(summary: StoreSummary) -> list[Table]:
    counted = language_counts(summary)
    return [] if counted is None else [languages(counted, SHOWN_LANGUAGES)]


def _modalities(summary: StoreSummary) -> Table:
    rows = [
        (source.name, modality, count, Share(count, source.samples))
        for source in summary.sources
        for modality, count in by_count(source.by_modality)
    ]
    columns = heads("source", "modality", ("samples", COUNT), ("share", SHARE))
    return Table("Modalities of samples", columns, rows)


def _measures(layer: LayerSummary) -> Table:
    """Statistics of the columns whose values are not counted individually."""
    rows = [
        (
            column.name,
            measure.name,
            column.nulls,
            None if column.distinct is None else f"~{column.distinct:,}",
            measure.minimum,
            *(measure.quantile(fraction) for fraction in (0.05, 0.5, 0.95)),
            measure.maximum,
            measure.mean,
        )
        for column in layer.columns
        if column.values and not column.top
        for measure in column.measures
    ]
    numbers = ("null", "distinct", "min", "5 %", "median", "95 %", "max", "mean")
    columns = heads("column", "measure", *((name, COUNT) for name in numbers))
    return Table(f"{layer.name}: columns", columns, rows)


def _values(layer: LayerSummary) -> Table:
    """The most frequent values of the columns whose values are counted."""
    rows: list[tuple[Value, ...]] = []
    for column in layer.columns:
        shown = values("", "value", column, SHOWN_VALUES).rows if column.top else ()
        rows += [("" if place else column.name, *row) for place, row in enumerate(shown)]
        if column.nulls and column.top:
            rows.append(("", "(null)", column.nulls, None))
    columns = heads("column", "value", ("rows", COUNT), ("share", SHARE))
    return Table(f"{layer.name}: values", columns, rows)


def _print_notes(summary: StoreSummary, console: Console) -> None:
    """Print what was not read, and whose counts do not reconcile."""
    for note in summary.unread_notes():
        print_line(console, f"note  {note}")
    for name in summary.unbalanced:
        text = f"{name}: samples + dropped + quarantined does not equal the input; run winnow audit"
        print_line(console, text, "bold red")
