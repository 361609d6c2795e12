"""Sitemaps: the addresses that sites say they have, as more lines of a list (sitemaps.org).

A site's sitemaps are those that its robots.txt names, else /sitemap.xml. They are read in the turns of their hosts and
with consent, as pages are; an index of sitemaps leads to others, as deep as the recipe allows. Only addresses of the
site's registered domain count, and so many of a domain as the recipe allows. XML is read as it comes, without
entities and networks; a sitemap may also be lines of text.
"""

import asyncio
import io
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from lxml import etree

from winnow.filters.web.rights.host_files import inflated
from winnow.filters.web.urls import registered_domain
from winnow.pipelines.fetch.live.consent import Refusal, origin_of
from winnow.pipelines.fetch.live.exchange import Response
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.pipelines.fetch.live.planning import FOUND, FOUND_ROWS
from winnow.pipelines.fetch.live.queue import QueuedAddress
from winnow.pipelines.fetch.live.visits import Errand, Visits
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.recipe.fetch import FetchConfig, Sitemaps

USUAL: Final = "/sitemap.xml"
MAX_BYTES: Final = 50 << 20  # of one, as the protocol says; unpacked as well
MAX_SITEMAPS: Final = 1_000  # of one site

_PUT_AT: Final = 200_000  # addresses
_START: Final = (b"\xef\xbb\xbf", b" ", b"\t", b"\r", b"\n", b"<")


@dataclass(frozen=True, slots=True)
class SitemapEntries:
    """What a sitemap names."""

    pages: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)


def sitemap_entries(content: bytes, most: int) -> SitemapEntries:
    """The addresses in a sitemap, at most so many of each kind; what cannot be read ends it."""
    found = SitemapEntries()
    if not content.startswith(_START):
        lines = content.decode("utf-8", "replace").splitlines()
        found.pages.extend(line.strip() for line in lines[: 10 * most] if line.strip().startswith("http"))
        del found.pages[most:]
        return found
    try:
        for _, element in etree.iterparse(
            io.BytesIO(content.lstrip(b"\xef\xbb\xbf \t\r\n")),
            events=("end",),
            tag="{*}loc",
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        ):
            around = element.getparent()
            kind = "" if around is None else etree.QName(around).localname
            kept = {"url": found.pages, "sitemap": found.sitemaps}.get(kind)
            if kept is not None and element.text and len(kept) < most:
                kept.append(element.text.strip())
            if around is not None:  # what was read is freed
                element.clear()
                while around.getprevious() is not None:
                    del around.getparent()[0]
    except etree.LxmlError:
        return found
    for kept in (found.pages, found.sitemaps):
        if kept and content.rstrip().endswith(kept[-1].encode()):  # it was cut off there
            kept.pop()
    return found


class SitemapReader:
    """Reads the sitemaps of the sites in a queue, each of which is its first page."""

    def __init__(self, settings: Sitemaps, config: FetchConfig, visits: Visits, objects: ObjectStore) -> None:
        self._settings, self._config, self._visits, self._objects = settings, config, visits, objects
        self._count: Counter[str] = Counter()  # of a domain's addresses
        self._sites: list[str] = []
        self._urls: list[str | None] = []

    async def visit(self, address: QueuedAddress, place: Place, errand: Errand) -> None:
        """Read a site's sitemaps."""
        self._visits.give_back(errand)
        rules = self._visits.rules.find(origin_of(place))
        named = [] if rules is None else list(rules.sitemaps)
        level = [one for one in (self._place(written, place) for written in named or [USUAL]) if one is not None]
        seen = {one.url for one in level}
        for depth in range(self._settings.depth + 1):
            following: list[Place] = []
            for one in level:
                entries = await self._entries(one)
                self._add(address.canonical, place, entries.pages)
                if depth < self._settings.depth:
                    for written in entries.sitemaps:
                        found = self._place(written, one)
                        if found is not None and found.url not in seen and len(seen) < MAX_SITEMAPS:
                            seen.add(found.url)
                            following.append(found)
                if self._count[place.domain] >= self._settings.count:
                    break
            level = following
        self._end(address.canonical)

    def refused(self, address: QueuedAddress, place: Place, refusal: Refusal) -> None:
        """A site that refuses its first page may still allow its sitemaps, but no page that they name would follow."""
        del place, refusal
        self._end(address.canonical)

    def dropped(self, rows: pa.RecordBatch, refusal: Refusal) -> None:
        """Sites that were not asked are asked the next time."""

    def put(self) -> None:
        """Put what was found."""
        if self._sites:
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table([self._sites, self._urls], schema=FOUND_ROWS), sink, compression="zstd")
            self._objects.put(f"{FOUND}{time.time_ns():020}-{uuid4().hex[:8]}.parquet", sink.getvalue().to_pybytes())
            self._sites, self._urls = [], []

    def _place(self, written: str, base: Place) -> Place | None:
        """Where a sitemap lies; None if it is none of this domain."""
        found = place_of(written, self._config.ports, base.url)
        return found if isinstance(found, Place) and found.domain == base.domain else None

    async def _entries(self, place: Place) -> SitemapEntries:
        errand, attempts = Errand(), 0
        while True:
            attempts += 1
            followed = await self._visits.client.follow(place, self._visits.gate(errand), max_bytes=MAX_BYTES)
            wait = self._visits.wait(place.url, followed, attempts)
            if wait is None:
                break
            errand.not_before = time.monotonic() + wait
            if isinstance(followed.last, Response):
                followed.last.close()
        if not isinstance(followed.last, Response):
            return SitemapEntries()
        with followed.last as last:
            if not 200 <= last.status < 300 or followed.place.domain != place.domain:
                return SitemapEntries()
            return await asyncio.to_thread(_read, last.decoded(MAX_BYTES), self._settings.count)

    def _add(self, site: str, place: Place, pages: list[str]) -> None:
        for page in pages:
            if self._count[place.domain] >= self._settings.count:
                return
            if registered_domain(page) == place.domain:
                self._count[place.domain] += 1
                self._sites.append(site)
                self._urls.append(page)

    def _end(self, site: str) -> None:
        """Note that a site's sitemaps were read."""
        self._sites.append(site)
        self._urls.append(None)
        if len(self._sites) >= _PUT_AT:
            self.put()


def _read(content: bytes, most: int) -> SitemapEntries:
    return sitemap_entries(b"".join(_bounded(content)), most)


def _bounded(content: bytes) -> Iterator[bytes]:
    """A file's bytes, unpacked if it is packed, up to the limit."""
    size = 0
    try:
        for piece in inflated(io.BytesIO(content)):
            yield piece[: MAX_BYTES - size]
            size += len(piece)
            if size >= MAX_BYTES:
                return
    except (OSError, EOFError):
        return
