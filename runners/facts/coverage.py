"""Detector coverage of the kept samples on the terminal: what was looked for and found, and what was not covered."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from winnow.pipelines.rules.coverage import LanguageCoverage, SafetyCoverage
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.terminal.tables import Grid, print_grid
from winnow.schemas.counts import count_of

SHOWN_LANGUAGES = 30


def print_coverage(coverage: SafetyCoverage, console: Console) -> None:
    """Print coverage by subcategory, and the uncovered share of every language."""
    print_grid(console, _found(coverage))
    print_grid(console, _uncovered(coverage))
    if coverage.unwatched:
        console.print(f"no detector for  {', '.join(coverage.unwatched)}", markup=False, soft_wrap=True)


def categories(coverage: SafetyCoverage) -> dict[str, tuple[str, ...]]:
    """The subcategories that have a detector, by category."""
    return {name: tuple(of) for name, of in groupby(coverage.detectors, lambda full: full.partition(".")[0])}


def largest_languages(coverage: SafetyCoverage, shown: int) -> list[LanguageCoverage]:
    """The languages with the most samples, with all others combined."""
    first, rest = coverage.languages[:shown], coverage.languages[shown:]
    if not rest:
        return list(first)
    return [*first, _combined(rest)]


def uncovered(one: LanguageCoverage, of: Sequence[str]) -> int:
    """The number of samples of a language without a detector, for the least covered of these subcategories."""
    return max(one.rows - one.seen[name] for name in of)


def _combined(languages: Sequence[LanguageCoverage]) -> LanguageCoverage:
    def added(counts: Sequence[dict[str, int]]) -> dict[str, int]:
        return {name: sum(one[name] for one in counts) for name in counts[0]}

    return LanguageCoverage(
        f"({len(languages):,} others)",
        sum(one.rows for one in languages),
        added([dict(one.seen) for one in languages]),
        added([dict(one.found) for one in languages]),
    )


def _found(coverage: SafetyCoverage) -> Grid:
    total = coverage.total
    rows = [
        (
            name,
            ", ".join(layers),
            grouped(total.seen[name]),
            share(total.seen[name], total.rows),
            grouped(total.found[name]) if name in total.found else "scored",
        )
        for name, layers in coverage.detectors.items()
    ]
    title = f"Safety: detector coverage of the {count_of(total.rows, 'kept sample')} (taxonomy {coverage.version})"
    return Grid(
        title,
        ("subcategory", "detector", "covered", "share", "found in"),
        rows,
        frozenset({0, 1}),
        whole=frozenset({0}),
    )


def _uncovered(coverage: SafetyCoverage) -> Grid:
    named = categories(coverage)
    rows = [
        (one.language, grouped(one.rows), *(share(uncovered(one, of), one.rows) for of in named.values()))
        for one in largest_languages(coverage, SHOWN_LANGUAGES)
    ]
    total = coverage.total
    footer = ("all", grouped(total.rows), *(share(uncovered(total, of), total.rows) for of in named.values()))
    title = "Not covered: share of samples without a detector, for the least covered subcategory of each category"
    return Grid(title, ("language", "samples", *named), rows, frozenset({0}), footer)
