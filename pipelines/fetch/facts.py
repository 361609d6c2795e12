"""What a log says as counts, for people: how addresses ended, and at which sites."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from winnow.pipelines.fetch.log import load_log, log_engine
from winnow.pipelines.fetch.outcome import REASONS, Decision, Reason
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.location import open_location
from winnow.schemas.tombstones import FORGOTTEN

MOST_SITES = 30


@dataclass(frozen=True, slots=True)
class Ended:
    """Addresses of a source that ended alike."""

    decision: Decision
    reason: Reason
    addresses: int
    bytes: int  # of their bodies, as sent; of their records, where they are of an archive


@dataclass(frozen=True, slots=True)
class Site:
    """Addresses of a registered domain; without a name, of those that have none."""

    domain: str
    addresses: int
    fetched: int
    refused: int
    failed: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FetchedSource:
    """What became of the addresses of a source, most first."""

    source: str
    ended: tuple[Ended, ...]
    sites: tuple[Site, ...]  # the largest

    @property
    def addresses(self) -> int:
        """All that have an end."""
        return sum(one.addresses for one in self.ended)

    @property
    def later(self) -> int:
        """Those that another run tries again."""
        return sum(one.addresses for one in self.ended if one.reason.again is one.reason.again.LATER)


def fetched_sources(store: ObjectStore, most_sites: int = MOST_SITES) -> Iterator[FetchedSource]:
    """The sources of a store that were fetched, by name, as their logs say; sites that are forgotten have no names."""
    hiding = load_hiding(store)
    forgotten = Matcher(hiding.selectors).address if hiding else None
    names = sorted({info.path.split("/")[1] for info in store.list(layout.FETCHED) if "/log/" in info.path})
    for name in names:
        found = fetched_source(open_location(f"{store.root}/{layout.fetched(name).rstrip('/')}"), name, most_sites)
        if forgotten is not None:
            shown = (
                replace(one, domain=FORGOTTEN) if forgotten(f"http://{one.domain}/") else one for one in found.sites
            )
            found = replace(found, sites=tuple(shown))
        yield found


def fetched_source(objects: ObjectStore, name: str, most_sites: int = MOST_SITES) -> FetchedSource:
    """The counts of one source; `objects` is its fetched folder."""
    with log_engine() as engine:
        load_log(engine, objects)
        ended = engine.execute(
            "SELECT decision, reason, count(*), coalesce(sum(coalesce(body_bytes, length)), 0)::BIGINT FROM log "
            "GROUP BY ALL ORDER BY 3 DESC, 1, 2"
        ).fetchall()
        sites = engine.execute(
            "SELECT coalesce(domain, ''), count(*), count_if(decision IN ('fetched', 'revisited')), "
            "count_if(decision = 'refused'), count_if(decision = 'failed'), "
            "coalesce(sum(coalesce(body_bytes, length)), 0)::BIGINT "
            f"FROM log GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {most_sites:d}"
        ).fetchall()
    return FetchedSource(
        name,
        tuple(Ended(Decision(decision), REASONS[reason], rows, size) for decision, reason, rows, size in ended),
        tuple(Site(*row) for row in sites),
    )
