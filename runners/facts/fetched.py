"""Sources that are fetched: what a fetch will cost, and how addresses ended, with their reasons and sites."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from winnow.pipelines.fetch.facts import Ended, FetchedSource, Site
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import folded, join
from winnow.runners.report.tables import drawn
from winnow.runners.tables.table import Column, Share, Table, heads, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, REASON, SHARE, Unit
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary

if TYPE_CHECKING:
    from winnow.pipelines.fetch.archives.plan import ArchivePlan
    from winnow.pipelines.fetch.live.planning import LivePlan

DOLLARS = Unit(lambda one: f"${one:,.2f}" if one >= 1 else f"${one:.2g}")

ARCHIVES: tuple[Column[tuple[str, "ArchivePlan"]], ...] = (
    Column("source", NAME, lambda one: one[0]),
    Column("records", COUNT, lambda one: one[1].records),
    Column("size", BYTES, lambda one: one[1].bytes, "bytes"),
    Column("requests", COUNT, lambda one: one[1].requests),
    Column("read", BYTES, lambda one: one[1].read_bytes, "read_bytes"),
    Column("$ for requests, about", DOLLARS, lambda one: one[1].dollars, "dollars"),
    Column("$ with transfer, about", DOLLARS, lambda one: one[1].dollars_outside, "dollars_outside"),
    Column("files", COUNT, lambda one: one[1].tasks),
    Column("robots.txt", COUNT, lambda one: one[1].robots, "robots"),
    Column("not in the index", COUNT, lambda one: one[1].not_in_index),
    Column("without a place", COUNT, lambda one: one[1].unplaced, "unplaced"),
)
LISTS: tuple[Column[tuple[str, "LivePlan"]], ...] = (
    Column("source", NAME, lambda one: one[0]),
    Column("addresses", COUNT, lambda one: one[1].addresses),
    Column("repeated", COUNT, lambda one: one[1].repeated),
    Column("left out", COUNT, lambda one: one[1].refused.total() - one[1].repeated),
    Column("done already", COUNT, lambda one: one[1].done),
    Column("to ask for", COUNT, lambda one: one[1].pending),
    Column("hosts", COUNT, lambda one: one[1].hosts),
)
SITES: tuple[Column[Site], ...] = (
    Column("site", NAME, lambda one: one.domain or "(none)"),
    Column("addresses", COUNT, lambda one: one.addresses),
    Column("fetched", COUNT, lambda one: one.fetched),
    Column("refused", COUNT, lambda one: one.refused),
    Column("failed", COUNT, lambda one: one.failed),
    Column("size", BYTES, lambda one: one.bytes, "bytes"),
)


def planned_archive(source: str, plan: "ArchivePlan") -> Table:
    """What a query will cost; prices are Amazon's, for readers in the archive's region and elsewhere."""
    return table("Records of the archive", ARCHIVES, [(source, plan)])


def planned_list(source: str, plan: "LivePlan") -> Table:
    """Which addresses of a list will be asked for."""
    return table("Addresses of the list", LISTS, [(source, plan)])


def ended(sources: Sequence[FetchedSource]) -> Table:
    """How the addresses of each source ended."""

    def row(source: FetchedSource, one: Ended) -> tuple[str, str, str, int, Share, int]:
        share = Share(one.addresses, source.addresses)
        return source.source, one.decision, one.reason, one.addresses, share, one.bytes

    columns = heads("source", "decision", ("reason", REASON), ("addresses", COUNT), ("share", SHARE), ("size", BYTES))
    return Table("What became of addresses", columns, [row(source, one) for source in sources for one in source.ended])


def sites(source: FetchedSource) -> Table:
    """The largest sites of a source."""
    return table(f"{source.source}: sites with the most addresses", SITES, source.sites)


def fetched(summary: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page."""
    del summary
    if not examples.fetched:
        return None
    of_sites = [sites(source) for source in examples.fetched if source.sites]
    parts = [drawn(ended(examples.fetched)), *(folded(one.title, drawn(one)) for one in of_sites)]
    count = sum(source.addresses for source in examples.fetched)
    return Block("fetched", "Fetched", join(parts), f"how {count_of(count, 'address', 'addresses')} ended")
