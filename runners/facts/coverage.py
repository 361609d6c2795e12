"""Detector coverage of the kept samples: what was looked for and found, and what was not covered.

A null counts as not covered, never as safe.
"""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from winnow.pipelines.rules.coverage import LanguageCoverage, SafetyCoverage
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import join
from winnow.runners.report.plots.bars import Part, Row, shares
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Share, Table, heads, largest, table
from winnow.runners.tables.units import COUNT, NAME, REASON, SHARE, WORDS
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.safety import subcategories
from winnow.schemas.summary import StoreSummary


def searched(coverage: SafetyCoverage) -> Table:
    """What each detector covers and finds, by subcategory."""
    total, meanings = coverage.total, subcategories()
    rows = [
        (
            name,
            meanings[name].meaning,
            ", ".join(layers),
            total.seen[name],
            Share(total.seen[name], total.rows),
            total.found.get(name, "scored"),
        )
        for name, layers in coverage.detectors.items()
    ]
    title = f"Safety: detector coverage of the {count_of(total.rows, 'kept sample')} (taxonomy {coverage.version})"
    columns = heads(("subcategory", REASON), ("meaning", WORDS), "detector", ("covered", COUNT), ("share", SHARE))
    return Table(title, (*columns, *heads(("found in", COUNT))), rows)


def uncovered(coverage: SafetyCoverage, most: int) -> Table:
    """The share of samples without a detector by language, for the least covered subcategory of each category."""

    def column(name: str, of: Sequence[str]) -> Column[LanguageCoverage]:
        return Column(name, SHARE, lambda one: Share(_unseen(one, of), one.rows))

    columns: list[Column[LanguageCoverage]] = [
        Column("language", NAME, lambda one: one.language),
        Column("samples", COUNT, lambda one: one.rows),
        *(column(*item) for item in _categories(coverage).items()),
    ]
    title = "Not covered: share of samples without a detector, for the least covered subcategory of each category"
    return table(title, columns, largest(coverage.languages, most, _combined), coverage.total)


def print_coverage(coverage: SafetyCoverage, console: Console) -> None:
    """Print coverage by subcategory, and the uncovered share of every language."""
    print_tables(console, searched(coverage).without("meaning"), uncovered(coverage, 30))
    if coverage.unwatched:
        console.print(f"no detector for  {', '.join(coverage.unwatched)}")


def coverage(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page."""
    found = examples.coverage
    if found is None or not found.rows:
        return None
    total = found.total
    unseen = {name: _unseen(total, of) for name, of in _categories(found).items()}
    bars = [
        Row(name, (Part("covered", total.rows - count, "kept"), Part("not covered", count, "tone-rest")))
        for name, count in unseen.items()
    ]
    parts = [
        note("A sample without a detector is unchecked, not safe. A category is covered as its least subcategory is."),
        shares("Detector coverage by category", bars),
        drawn(searched(found).without("covered")),
        drawn(uncovered(found, 60)),
    ]
    parts += [note(f"This recipe has no detector for: {', '.join(found.unwatched)}.")] if found.unwatched else []
    return Block("safety", "Safety: detector coverage", join(parts), f"of the {grouped(total.rows)} kept samples")


def _categories(coverage: SafetyCoverage) -> dict[str, tuple[str, ...]]:
    """The subcategories that have a detector, by category."""
    return {name: tuple(of) for name, of in groupby(coverage.detectors, lambda full: full.partition(".")[0])}


def _unseen(language: LanguageCoverage, of: Sequence[str]) -> int:
    """The number of samples of a language without a detector, for the least covered of these subcategories."""
    return max(language.rows - language.seen[name] for name in of)


def _combined(languages: Sequence[LanguageCoverage]) -> LanguageCoverage:
    def added(counts: Sequence[dict[str, int]]) -> dict[str, int]:
        return {name: sum(count[name] for count in counts) for name in counts[0]}

    return LanguageCoverage(
        f"({len(languages):,} others)",
        sum(language.rows for language in languages),
        added([dict(language.seen) for language in languages]),
        added([dict(language.found) for language in languages]),
    )
