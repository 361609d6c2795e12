"""The thresholds of rules: how many samples are on each side, and those closest to each."""

from collections.abc import Sequence

from rich.console import Console

from winnow.pipelines.rules.near_thresholds import NearSample, NearThreshold
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, breakable, element, folded, join, plain
from winnow.runners.report.plots.histograms import Mark, small_histogram
from winnow.runners.report.tables import drawn
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, EXCERPT, ID, NAME, PRECISE, REASON, SHARE
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.summary import Measure, StoreSummary

EXCERPT_CHARACTERS = 70

THRESHOLDS: tuple[Column[NearThreshold], ...] = (
    Column("rule", REASON, lambda one: f"{one.phase}.{one.reason}"),
    Column("threshold", REASON, lambda one: one.cut.condition),
    Column("met", COUNT, lambda one: one.met),
    Column("share", SHARE, lambda one: Share(one.met, one.met + one.unmet)),
    Column("not met", COUNT, lambda one: one.unmet),
    Column("null", COUNT, lambda one: one.null),
)
NEAREST: tuple[Column[NearSample], ...] = (
    Column("value", PRECISE, lambda one: one.value),
    Column("threshold", PRECISE, lambda one: one.limit),
    Column("language", NAME, lambda one: one.language),
    Column("source", NAME, lambda one: one.source),
    Column("id", ID, lambda one: one.id),
    Column("text", EXCERPT, lambda one: " ".join(one.text.split())),
)


def nearest(threshold: NearThreshold) -> tuple[Table, Table]:
    """The samples closest to a threshold, on both sides."""
    named = f"{threshold.reason}: closest samples that"
    return (
        table(f"{named} meet {threshold.cut.condition}", NEAREST, threshold.met_samples),
        table(f"{named} do not meet {threshold.cut.condition}", NEAREST, threshold.unmet_samples),
    )


def print_thresholds(found: Sequence[NearThreshold], console: Console) -> None:
    """Print one line per threshold: how many samples are on each side."""
    print_tables(console, table("Thresholds", THRESHOLDS, found))


def print_nearest_samples(found: Sequence[NearThreshold], console: Console) -> None:
    """Print the samples closest to each threshold."""
    for threshold in found:
        print_tables(console, *(one.cut("text", EXCERPT_CHARACTERS) for one in nearest(threshold)))


def thresholds(summary: StoreSummary, examples: Examples) -> Block | None:
    """The distribution of every measure that a rule uses, and the samples closest to each threshold."""
    by_column: dict[str, list[NearThreshold]] = {}
    for threshold in examples.thresholds:
        by_column.setdefault(threshold.cut.column, []).append(threshold)
    if not by_column:
        return None
    figures = [figure for column, found in by_column.items() if (figure := _drawn(summary, column, found)) is not None]
    parts = [element("div", *figures, class_="multiples")] if figures else []
    parts.append(element("h3", plain("The samples closest to each threshold")))
    parts += [_closest(threshold) for found in by_column.values() for threshold in found]
    brief = f"{count_of(len(by_column), 'measure')}, {count_of(len(examples.thresholds), 'threshold')}"
    return Block("thresholds", "Measures and thresholds", join(parts), brief)


def _drawn(summary: StoreSummary, column: str, found: list[NearThreshold]) -> Html | None:
    """A small histogram with the thresholds of a measure; its caption names the rules."""
    measure = _measure(summary, column)
    if measure is None:
        return None
    fixed = ((one.cut.value, f"{one.cut.operator} {one.cut.limit}") for one in found)
    marks = [Mark(value, label) for value, label in fixed if value is not None]
    rules = ", ".join(f"{one.reason} ({one.cut.operator} {one.cut.limit})" for one in found)
    caption = element("figcaption", element("strong", breakable(column)), element("span", breakable(rules)))
    return element("figure", caption, small_histogram(column, measure, marks))


def _closest(threshold: NearThreshold) -> Html:
    whole = threshold.met + threshold.unmet
    met = f"{grouped(threshold.met)} of {grouped(whole)} ({share(threshold.met, whole)})"
    heading = f"{threshold.phase}.{threshold.reason}: {met} are {threshold.cut.operator} {threshold.cut.limit}"
    if threshold.null:
        heading += f"; {count_of(threshold.null, 'was', 'were')} not measured"
    return folded(heading, *map(drawn, nearest(threshold)))


def _measure(summary: StoreSummary, name: str) -> Measure | None:
    for layer in summary.layers:
        if name.startswith(f"{layer.name}."):
            found = layer.column(name.removeprefix(f"{layer.name}."))
            return found.measure("value") if found is not None else None
    return None
