"""Sites: how many rows the largest have, what of them is kept, and which rules are the first to drop the rest.

The inspector's page counts every site, and under every choice; the report has those that tasks have counted, with rows
only of shards in which a site is large.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from winnow.pipelines.query.site_duplicates import duplicates_of_sites, kinds_of_rows
from winnow.pipelines.rules.sites import ALL, SiteCounts
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.duplicates import counted
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, COUNTS, NAME, SHARE
from winnow.schemas.records import Generation

MOST_ROWS: Final = 10_000_000
"""Of a store whose clusters are looked through for duplicates of sites: about 90 bytes for each row that has one."""
WITHIN, ACROSS = "with a duplicate on the site", "on another"


@dataclass
class SiteLine:
    """A site."""

    site: str
    rows: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # by the reason that drops a row first
    within: int | None = None  # rows whose cluster has another row of the site; None: not searched for
    across: int | None = None  # rows whose cluster has a row of another site


COLUMNS: Final[tuple[Column[SiteLine], ...]] = (
    Column("site", NAME, lambda one: one.site),
    Column("rows", COUNT, lambda one: one.rows),
    Column("kept", SHARE, lambda one: Share(one.kept, one.rows)),
    Column("dropped first by", COUNTS, lambda one: counted(one.dropped.most_common())),
    Column(WITHIN, COUNT, lambda one: one.within),
    Column(ACROSS, COUNT, lambda one: one.across),
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


def with_duplicates(lines: tuple[SiteLine, ...], store: Store, generation: Generation) -> tuple[SiteLine, ...]:
    """The same with their duplicates, of the last kind that compares rows, if any was searched for."""
    kinds = kinds_of_rows(store, generation)
    if not lines or not kinds or store.manifest(generation, layout.SAMPLES).numbers("rows").sum() > MOST_ROWS:
        return lines
    found = duplicates_of_sites(store, generation, kinds[-1], [line.site for line in lines])
    counts = zip(lines, found.within.tolist(), found.across.tolist(), strict=False)  # the last are all other rows
    return tuple(replace(line, within=within, across=across) for line, within, across in counts)


def by_site(lines: Sequence[SiteLine]) -> Table:
    """A line for each site."""
    return table("What is kept of large sites", COLUMNS, lines).filled(WITHIN, ACROSS)
