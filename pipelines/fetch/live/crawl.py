"""Fetch a list of addresses from their sites: each ends as a row, and those that are kept as a WARC record.

What fails in a way that may pass is tried again later, up to `attempts` times. Errors and redirects have rows and no
records. Bodies that their response or page refuses for training are not kept.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from winnow.filters.web.rights.opt_outs import OptOutConfig
from winnow.pipelines.fetch.live.client import Client
from winnow.pipelines.fetch.live.consent import Refusal, stated_refusal
from winnow.pipelines.fetch.live.exchange import Conditions, Failed, Followed, Response, outcome_of_status
from winnow.pipelines.fetch.live.names import DnsLookUp, Names
from winnow.pipelines.fetch.live.places import Place
from winnow.pipelines.fetch.live.planning import LiveAsk, LivePlan, plan_addresses
from winnow.pipelines.fetch.live.queue import Queue, QueuedAddress
from winnow.pipelines.fetch.live.record import Earlier, clear_uncommitted
from winnow.pipelines.fetch.live.render import Renderer
from winnow.pipelines.fetch.live.segments import Segments
from winnow.pipelines.fetch.live.sitemaps import SitemapReader
from winnow.pipelines.fetch.live.visits import Errand, Owns, Visits, everything, reason_of
from winnow.pipelines.fetch.log import LIST, MAX_DETAIL, clean, log_path
from winnow.pipelines.fetch.outcome import LOG, Decision, Outcome, Reason, decision_without_record
from winnow.pipelines.fetch.progress import Progress, Tally
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.schemas.recipe.fetch import Sitemaps

__all__ = ["LiveAsk", "LivePlan", "fetch_addresses", "plan_addresses"]

_FEW: Final = 1_024
_LARGE: Final = 64 << 10  # bytes of a body that is judged beside the event loop
_COLLECTED: Final = 5_000
"""New objects after which Python looks for those that hold each other: with its 700, a third of a crawl's time."""
_NAMED: Final = ("url", "canonical", "domain")


def fetch_addresses(plan: LivePlan, asked: LiveAsk, tell: Callable[[Progress], None]) -> Tally:
    """Fetch what is pending; the caller holds the store's lease.

    An address whose row was committed is not asked again by a later run, unless it may end differently then.
    """
    plan, tally = begin_addresses(plan, asked, tell)
    asyncio.run(fetch_queue(plan.queue, asked, plan.pending + plan.refused.total(), tell, tally))
    return tally


def begin_addresses(plan: LivePlan, asked: LiveAsk, tell: Callable[[Progress], None]) -> tuple[LivePlan, Tally]:
    """What comes before the pages: sitemaps are read, and lines that are asked for nothing get their rows."""
    clear_uncommitted(asked.objects)
    tally = Tally()
    if plan.sites is not None and asked.addresses.sitemaps is not None and len(plan.sites):
        asyncio.run(_read_sitemaps(plan.sites, asked.addresses.sitemaps, asked, tell, tally))
        plan = plan_addresses(asked)
    asked.objects.put(log_path(LIST), plan.list_rows)
    for reason, lines in sorted(plan.refused.items()):
        tally.add_rows(decision_without_record(reason), reason, lines)
    return plan, tally


async def fetch_queue(
    queue: Queue,
    asked: LiveAsk,
    count: int,
    tell: Callable[[Progress], None],
    tally: Tally,
    owns: Owns = everything,
) -> None:
    """Fetch the addresses of a queue; `count` is of all addresses, for `tell`."""
    command = asked.addresses.render
    async with _visiting(queue, asked, tally, owns) as found:
        renderer = (
            None if command is None else Renderer(command, asked.config, found.visits, found.names, found.scratch)
        )
        pages = Pages(asked, found.visits, found.segments, tally, renderer)
        await found.visits.run(pages, lambda hosts: tell(tally.progress(count, hosts)))
    tell(tally.progress(count))


async def _read_sitemaps(
    sites: Queue, settings: Sitemaps, asked: LiveAsk, tell: Callable[[Progress], None], tally: Tally
) -> None:
    async with _visiting(sites, asked, tally) as found:
        reader = SitemapReader(settings, asked.config, found.visits, asked.objects)
        try:
            await found.visits.run(reader, lambda hosts: tell(tally.progress(None, hosts)))
        finally:
            reader.put()


@dataclass(frozen=True, slots=True)
class _Run:
    """What works on a queue."""

    visits: Visits
    segments: Segments
    names: Names
    scratch: Path


@asynccontextmanager
async def _visiting(queue: Queue, asked: LiveAsk, tally: Tally, owns: Owns = everything) -> AsyncIterator[_Run]:
    """A run over a queue, and where it writes; what is there at its end is committed, however it ends."""
    config = asked.config
    own = DnsLookUp() if asked.look_up is None else None
    names = Names(asked.look_up or own or DnsLookUp(), config.allow_hosts)
    segments = Segments(asked.objects, config, tally)
    try:
        with temporary_folder("fetch") as scratch:
            async with Client(config, names, Path(scratch), tls=asked.tls) as client:
                with _seldom_collected():
                    yield _Run(Visits(queue, asked, client, segments, tally, owns), segments, names, Path(scratch))
    finally:
        segments.close()
        if own is not None:
            await own.close()


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Python's collector leaves out what was there before, such as all modules, and begins more seldom."""
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(_COLLECTED, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not frozen:  # a worker's are frozen from its start, as it shares their memory
            gc.unfreeze()


class Pages:
    """Asks for addresses, judges what comes, and records it."""

    def __init__(
        self, asked: LiveAsk, visits: Visits, segments: Segments, tally: Tally, renderer: Renderer | None = None
    ) -> None:
        self._renderer = renderer
        self._config, self._visits, self._segments, self._tally = asked.config, visits, segments, tally
        agents = (*visits.asker.training, visits.asker.own)
        self._opt_out: OptOutConfig = replace(asked.opt_out, agents=tuple(dict.fromkeys(agents)))

    async def visit(self, address: QueuedAddress, place: Place, errand: Errand) -> None:
        """Ask for an address until it is decided."""
        conditions = Conditions(address.etag, address.last_modified)
        gate = self._visits.gate(errand)
        attempts = 0
        while True:
            attempts += 1
            began = time.time_ns() // 1000
            if self._renderer is not None:
                followed = await self._renderer.follow(place, errand)
            else:
                followed = await self._visits.client.follow(place, gate, conditions=conditions)
            self._count(followed)
            wait = self._visits.wait(address.canonical, followed, attempts)
            if wait is None:
                break
            if isinstance(followed.last, Response):
                followed.last.close()
            errand.not_before = time.monotonic() + wait
        outcome = Outcome(
            url=address.url,
            canonical=address.canonical,
            final_url=followed.place.url,
            domain=address.domain,
            decision=decision_without_record(reason_of(followed.last)),
            reason=reason_of(followed.last),
            attempts=attempts,
            fetched_at=began,
            ms=followed.last.ms,
        )
        if isinstance(followed.last, Failed):
            self._segments.note(replace(outcome, detail=followed.last.detail or None))
        else:
            await self._judge(address, outcome, followed, followed.last)

    def refused(self, address: QueuedAddress, place: Place, refusal: Refusal) -> None:
        """Note that its site does not consent."""
        self._note(address.url, address.canonical, place.domain, refusal)

    def dropped(self, rows: pa.RecordBatch, refusal: Refusal) -> None:
        """Note that their host is left alone; many at once have an object of their own."""
        if rows.num_rows < _FEW:
            for url, canonical, domain in zip(*(rows.column(name).to_pylist() for name in _NAMED), strict=True):
                self._note(url, canonical, domain, refusal)
            return
        decision = decision_without_record(refusal.reason)
        alike = {
            "decision": decision.value,
            "reason": refusal.reason.value,
            "detail": clean(refusal.detail, MAX_DETAIL),
            "attempts": 0,
            "fetched_at": time.time_ns() // 1000,
        }
        known = {name: rows.column(name) for name in _NAMED}
        columns = [
            known.get(field.name, pa.repeat(pa.scalar(alike.get(field.name), field.type), rows.num_rows))
            for field in LOG
        ]
        self._segments.note_rows(pa.Table.from_arrays(columns, schema=LOG), decision, refusal.reason)

    def _note(self, url: str, canonical: str, domain: str, refusal: Refusal) -> None:
        """Note an address that is asked for nothing."""
        self._segments.note(
            Outcome(
                url=url,
                canonical=canonical,
                domain=domain,
                decision=decision_without_record(refusal.reason),
                reason=refusal.reason,
                detail=refusal.detail,
                fetched_at=time.time_ns() // 1000,
            )
        )

    def _count(self, followed: Followed) -> None:
        """Count what came; ends the run when its budget is spent."""
        came = followed.last.bytes if isinstance(followed.last, Failed) else followed.last.body.size
        self._tally.bytes += came
        budget = self._config.budget_bytes
        if budget is not None and self._tally.bytes >= budget:
            why = f"{self._tally.bytes:,} bytes came, fetch.budget_bytes is {budget:,}"
            self._visits.end(Refusal(Reason.BUDGET, why))

    async def _judge(self, address: QueuedAddress, outcome: Outcome, followed: Followed, last: Response) -> None:
        """Write the row of a response, and its record if it is kept."""
        decision, reason = outcome_of_status(last.status)
        outcome = replace(
            outcome,
            decision=decision,
            reason=reason,
            status=last.status,
            fetched_at=last.began,
            etag=last.text("etag"),
            last_modified=last.text("last-modified"),
        )
        refusal = None
        if decision is Decision.FETCHED and last.body.size > _LARGE:
            refusal = await asyncio.to_thread(stated_refusal, last, self._opt_out)
        elif decision is Decision.FETCHED:
            refusal = stated_refusal(last, self._opt_out)
        if refusal is not None:
            outcome = replace(outcome, decision=Decision.REFUSED, reason=refusal.reason, detail=refusal.detail)
        if outcome.decision not in (Decision.FETCHED, Decision.REVISITED):
            last.close()
            self._segments.note(outcome)
            return
        earlier = None
        if decision is Decision.REVISITED:
            earlier = Earlier(address.record_url or address.canonical, address.recorded_at or last.began)
        await self._segments.keep(outcome, last, followed.hops, earlier)
