"""Sites: how many rows the largest have, what of them is kept, and which rules are the first to drop the rest.

The inspector's page counts every site, and under every choice; the report has those that tasks have counted, with rows
only of shards in which a site is large.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.rules.sites import ALL, SiteCounts
from winnow.runners.facts.duplicates import counted
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, COUNTS, NAME, SHARE


@dataclass
class SiteLine:
    """A site."""

    site: str
    rows: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # by the reason that drops a row first


COLUMNS: Final[tuple[Column[SiteLine], ...]] = (
    Column("site", NAME, lambda one: one.site),
    Column("rows", COUNT, lambda one: one.rows),
    Column("kept", SHARE, lambda one: Share(one.kept, one.rows)),
    Column("dropped first by", COUNTS, lambda one: counted(one.dropped.most_common())),
)


def site_lines(sites: SiteCounts, reasons: Sequence[str]) -> tuple[SiteLine, ...]:
    """The sites of all sources, those with most rows first; `reasons`: of each rule."""
    found: dict[str, SiteLine] = {}
    for site, rule, rows, first in zip(sites.site, sites.rule, sites.rows, sites.first, strict=True):
        line = found.setdefault(site, SiteLine(site))
        if rule == ALL:
            line.rows += rows
            line.kept += first
        elif first:
            line.dropped[reasons[rule]] += first
    return tuple(sorted(found.values(), key=lambda line: (-line.rows, line.site)))


def by_site(lines: Sequence[SiteLine]) -> Table:
    """A line for each site."""
    return table("What is kept of large sites", COLUMNS, lines)
