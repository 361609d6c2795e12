"""Quarantine: why records could not be read, and where some of them are."""

from winnow.runners.facts.examples import ExampleRange, Examples
from winnow.runners.facts.store import frequent
from winnow.runners.report.block import Block
from winnow.runners.report.markup import folded, join
from winnow.runners.report.tables import drawn, ranking
from winnow.runners.tables.table import Column, Table, table
from winnow.runners.tables.units import COUNT, NAME, PLACE, REASON, WORDS
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary, by_count

RANGES: tuple[Column[ExampleRange], ...] = (
    Column("reason", REASON, lambda one: one.reason),
    Column("source", NAME, lambda one: one.source),
    Column("file", PLACE, lambda one: one.path),
    Column("offset", COUNT, lambda one: one.offset),
    Column("length", COUNT, lambda one: one.length),
    Column("unit", WORDS, lambda one: one.unit),
    Column("detail", NAME, lambda one: one.detail),
)


def reasons(summary: StoreSummary) -> Table:
    """The records of all sources by the reason for which they could not be read."""
    return frequent("Reasons for quarantine", ("reason", "rows"), by_count(summary.total().quarantined))


def quarantine(summary: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page."""
    why = reasons(summary)
    if not why.rows and not examples.ranges:
        return None
    shown = table("Examples of ranges", RANGES, examples.ranges)
    parts = [ranking(why)] if why.rows else []
    parts += [folded(shown.title, drawn(shown))] if shown.rows else []
    brief = f"{count_of(sum(summary.total().quarantined.values()), 'record')} that could not be read"
    return Block("quarantine", "Quarantine", join(parts), brief)
