"""Terminal tables of a store's content and of the fate of its source records."""

from collections.abc import Mapping

from rich.console import Console

from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.terminal.tables import Grid, print_grid, print_line
from winnow.schemas.languages import language
from winnow.schemas.languages.counts import LANGUAGE_LAYER, language_counts
from winnow.schemas.summary import LayerSummary, Number, SourceSummary, StoreSummary, by_count

SHOWN_VALUES = 10
SHOWN_LANGUAGES = 40


def print_summary(summary: StoreSummary, console: Console) -> None:
    """Print the sources, the reasons for lost records, and the store's path."""
    print_grid(console, _sources(summary))
    print_grid(console, _losses(summary))
    _print_unread(summary, console)
    _print_verdict(summary, console)
    print_line(console, _place(summary))


def print_layers(summary: StoreSummary, console: Console) -> None:
    """Print the layers and the languages."""
    print_grid(console, _layers(summary))
    print_grid(console, _languages(summary))
    print_line(console, _place(summary))


def print_stats(summary: StoreSummary, console: Console) -> None:
    """Print sources, losses, stages, layers, and the columns of each layer, for `winnow stats`."""
    print_line(console, _place(summary), "bold")
    for grid in (_sources(summary), _losses(summary), _modalities(summary), _stages(summary), _layers(summary)):
        print_grid(console, grid)
    print_grid(console, _families(summary))
    print_grid(console, _languages(summary))
    for layer in summary.layers:
        print_grid(console, _measures(layer))
        print_grid(console, _values(layer))
    _print_unread(summary, console)
    _print_verdict(summary, console)


def _place(summary: StoreSummary) -> str:
    tree = f", tree {summary.tree_hash}" if summary.tree_hash else ""
    return f"{summary.store}: generation {summary.generation}{tree}"


def _sources(summary: StoreSummary) -> Grid:
    def row(source: SourceSummary) -> tuple[str, ...]:
        dropped, quarantined = sum(source.dropped.values()), sum(source.quarantined.values())
        return (
            source.name,
            source.source_class,
            source.licence,
            grouped(source.files),
            byte_size(source.input_bytes),
            grouped(source.records),
            grouped(source.samples),
            share(source.samples, source.records - source.described),
            grouped(dropped),
            grouped(quarantined),
        )

    headers = ("source", "class", "licence", "files", "input", "records", "samples", "share", "dropped", "quarantined")
    footer = row(summary.total()) if len(summary.sources) > 1 else None
    return Grid("Sources", headers, [row(source) for source in summary.sources], frozenset({0, 1, 2}), footer)


def _losses(summary: StoreSummary) -> Grid:
    rows = [
        (source.name, fate, reason, grouped(count), share(count, source.records))
        for source in summary.sources
        for fate, counts in (("dropped", source.dropped), ("quarantined", source.quarantined))
        for reason, count in by_count(counts)
    ]
    headers = ("source", "fate", "reason", "records", "share")
    return Grid("Records that became no sample", headers, rows, frozenset({0, 1, 2}))


def _modalities(summary: StoreSummary) -> Grid:
    rows = [
        (source.name, modality, grouped(count), share(count, source.samples))
        for source in summary.sources
        for modality, count in by_count(source.by_modality)
    ]
    return Grid("Modalities of samples", ("source", "modality", "samples", "share"), rows, frozenset({0, 1}))


def _stages(summary: StoreSummary) -> Grid:
    rows = [
        (
            stage.name,
            grouped(stage.shards),
            grouped(stage.rows),
            grouped(stage.kept),
            grouped(sum(stage.dropped.values())),
            grouped(sum(stage.quarantined.values())),
        )
        for stage in summary.stages
    ]
    return Grid("Stages", ("stage", "shards", "rows in", "samples", "dropped", "quarantined"), rows)


def _layers(summary: StoreSummary) -> Grid:
    rows = [
        (
            layer.name,
            layer.version,
            grouped(layer.rows),
            byte_size(layer.bytes),
            grouped(layer.nulls),
            _statuses(layer.statuses),
        )
        for layer in summary.layers
    ]
    return Grid("Layers", ("layer", "version", "rows", "size", "not measured", "status"), rows, frozenset({0, 1, 5}))


def _languages(summary: StoreSummary) -> Grid:
    counted = language_counts(summary)
    rows: list[tuple[str, ...]] = []
    for code, count in by_count(counted.codes) if counted else ():
        known = language(code.partition("_")[0])
        named = (known.name, known.group or "", known.family or "") if known else ("", "", "")
        rows.append((code, *named, grouped(count), share(count, counted.rows if counted else 0)))
    rest = rows[SHOWN_LANGUAGES:]
    if rest and counted:
        more = counted.other + sum(count for _, count in by_count(counted.codes)[SHOWN_LANGUAGES:])
        rows[SHOWN_LANGUAGES:] = [(f"(and {len(rest)} more)", "", "", "", grouped(more), share(more, counted.rows))]
    headers = ("code", "language", "group", "family", "documents", "share")
    return Grid(f"Languages ({LANGUAGE_LAYER})", headers, rows, frozenset({0, 1, 2, 3}))


def _families(summary: StoreSummary) -> Grid:
    counted = language_counts(summary)
    ranked = by_count(counted.families) if counted else []
    rows = [(family, grouped(count), share(count, counted.rows if counted else 0)) for family, count in ranked]
    return Grid("Language families", ("family", "documents", "share"), rows)


def _statuses(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {grouped(count)}" for name, count in by_count(statuses))


def _measures(layer: LayerSummary) -> Grid:
    """Statistics of the columns whose values are not counted individually."""

    def shown(value: Number | None) -> str:
        return "" if value is None else grouped(value)

    rows = [
        (
            column.name,
            measure.name,
            grouped(column.nulls),
            "" if column.distinct is None else f"~{grouped(column.distinct)}",
            shown(measure.minimum),
            *(shown(measure.quantile(fraction)) for fraction in (0.05, 0.5, 0.95)),
            shown(measure.maximum),
            shown(measure.mean),
        )
        for column in layer.columns
        if column.values and not column.top
        for measure in column.measures
    ]
    headers = ("column", "measure", "null", "distinct", "min", "5 %", "median", "95 %", "max", "mean")
    return Grid(f"{layer.name}: columns", headers, rows, frozenset({0, 1}))


def _values(layer: LayerSummary) -> Grid:
    """The most frequent values of the columns whose values are counted."""
    rows: list[tuple[str, ...]] = []
    for column in layer.columns:
        for place, value in enumerate(column.top[:SHOWN_VALUES]):
            name = column.name if place == 0 else ""
            rows.append((name, value.value or '""', grouped(value.count), share(value.count, column.values)))
        if rest := column.other + sum(value.count for value in column.top[SHOWN_VALUES:]):
            rows.append(("", "(all others)", grouped(rest), share(rest, column.values)))
        if column.nulls and column.top:
            rows.append(("", "(null)", grouped(column.nulls), ""))
    return Grid(f"{layer.name}: values", ("column", "value", "rows", "share"), rows, frozenset({0, 1}))


def _print_unread(summary: StoreSummary, console: Console) -> None:
    for note in summary.unread_notes():
        print_line(console, f"note  {note}")


def _print_verdict(summary: StoreSummary, console: Console) -> None:
    sources = [source.name for source in summary.sources if not source.balanced]
    stages = [stage.name for stage in summary.stages if not stage.balanced]
    for name in (*sources, *stages):
        text = f"{name}: samples + dropped + quarantined does not equal the input; run winnow audit"
        print_line(console, text, "bold red")
