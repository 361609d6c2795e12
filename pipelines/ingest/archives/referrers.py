"""Attaches to a capture what the records beside it say of where its address was found: `Referer` and `via`.

Crawlers write a capture, its request and their notes next to each other, in any order. A request or metadata record
belongs to a capture if one names the other's id or, if neither names any, if their addresses are equal; at most
`MOST_RECORDS` and `NEAR_BYTES` may lie between. So a file gives the same result however it is cut: a part also reads
the records before its first and after its last one.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

import orjson

from winnow.pipelines.ingest.archives.archive import Block
from winnow.pipelines.ingest.archives.http import safe_text
from winnow.pipelines.ingest.records import Covered, Dropped, Event, Reader, ReadLimits, Record, Referral
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart
from winnow.schemas.rows.referrers import LOADED, MOST_LOADED, MOST_REFERRERS, PAGE_INFO

MOST_RECORDS: Final = 8
NEAR_BYTES: Final = 64 << 10
MOST_CHARACTERS: Final = 2048  # of an address

_NOTES_BYTES: Final = 64 << 10  # of a record of metadata: what is wanted stands before the links of a page
_PAGE_INFO_BYTES: Final = 4 << 20
_REFERER: Final = re.compile(rb"\n[Rr][Ee][Ff][Ee][Rr][Ee][Rr][ \t]*:([^\r\n]{1,8192})")
_NOTED: Final = re.compile(rb"(?m)^(via|hopsFromSeed)[ \t]*:([^\r\n]{1,8192})", re.IGNORECASE)
_WEB: Final = re.compile("https?://[^/]", re.IGNORECASE)
_SITE: Final = re.compile("https?://[^/?#]+/?", re.IGNORECASE)
_HOPS: Final = re.compile(r"[0-9]{0,9}\+?[A-Za-z]{0,255}")


def referrers_of_request(content: bytes, start: int, stop: int, url: str | None) -> tuple[str, ...]:
    """The pages that a stored request header names.

    Browsers tell another site only the page's own site, such as `https://e.org/`: that names no page.
    """
    end = content.find(b"\r\n\r\n", start, stop)
    found = _REFERER.findall(content, start, stop if end < 0 else end)
    if not found:
        return ()
    return tuple(address for address in _addresses(found) if not _SITE.fullmatch(address) or _is_of(address, url))


def found_by_crawler(content: bytes, start: int, stop: int) -> tuple[tuple[str, ...], str | None]:
    """The pages that a crawler notes in `application/warc-fields`, and the links that led there from a seed."""
    noted = _NOTED.findall(content, start, min(stop, start + _NOTES_BYTES))
    hops = next((value.strip().decode("latin-1") for name, value in noted if name[:1] in b"hH"), "")
    pages = _addresses(value for name, value in noted if name[:1] in b"vV")
    return pages, hops if hops and _HOPS.fullmatch(hops) else None


def web_address(text: str) -> str | None:
    """An address of the web that is not too long to keep; None for anything else, such as `about:client`."""
    return text if len(text) <= MOST_CHARACTERS and _WEB.match(text) else None


def take_page_info(record: Record, block: Block) -> None:
    """Adds to a record the pictures that a page loaded, as its JSON lists them: `{"url": …, "urls": {address: {…}}}`.

    What is too large to be read, no such JSON, or lists no picture adds nothing.
    """
    if not block.held or block.length > _PAGE_INFO_BYTES:
        return
    try:
        listing = orjson.loads(block.content[block.start : block.start + block.length])
    except orjson.JSONDecodeError:
        return
    loaded = listing.get("urls") if isinstance(listing, dict) else None
    if not isinstance(loaded, dict):
        return
    page = web_address(str(listing.get("url") or "") or (record.url or "").removeprefix(PAGE_INFO))
    images = [url for url, one in loaded.items() if _is_image(one) and web_address(url)][:MOST_LOADED]
    if page is not None and images:
        record.metadata[LOADED] = {"url": page, "images": list[Json](images)}


@dataclass(frozen=True, slots=True)
class ReferrerReader:
    """Reads an archive; its captures include what records beside them say."""

    read: Reader

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """The reader's events in the same order."""

        def events(start: int, end: int) -> Iterator[Event]:
            for event in self.read(stream, replace(part, start=start, end=min(end, part.size)), limits):
                assert not isinstance(event, Covered)
                yield event

        before = deque[_Note](maxlen=MOST_RECORDS)
        if part.start > 0:
            for event in events(max(0, part.start - NEAR_BYTES), part.start):
                _look_back(before, event)
        held: _WaitingCapture | None = None
        for event in events(part.start, part.end):
            if held is not None and held.is_done(event):
                yield from held.released()
                held = None
            if isinstance(event, Record):
                held = _WaitingCapture(event, before)
            elif held is not None:
                held.take(event)
            else:
                yield _plain(event)
            _look_back(before, event)
        if held is None:
            return
        start = max(part.end, held.end)
        if start <= held.end + NEAR_BYTES and start < part.size:
            for event in events(start, held.end + NEAR_BYTES + 1):
                if held.is_done(event):
                    break
                held.look(event)
        yield from held.released()


@dataclass(frozen=True, slots=True)
class _Note:
    """What a record beside captures says, and its position."""

    offset: int
    referral: Referral


class _WaitingCapture:
    """A capture that waits for the records behind it."""

    def __init__(self, record: Record, before: Iterable[_Note]) -> None:
        self._record = record
        self._behind: list[Event] = []
        self._seen = 0
        self.end = record.span.offset + record.span.length
        for note in before:
            if record.span.offset - note.offset <= NEAR_BYTES:
                self._tie(note.referral)

    def is_done(self, event: Event) -> bool:
        """Whether neither this event nor later ones can belong to the capture."""
        if not isinstance(event, Dropped) or self._seen >= MOST_RECORDS:
            return True
        return event.span.offset - self.end > NEAR_BYTES

    def look(self, event: Event) -> None:
        """Attach what an event says, if it is about this capture."""
        self._seen += 1
        if isinstance(event, Dropped) and event.referral is not None:
            self._tie(event.referral)

    def take(self, event: Event) -> None:
        """The same for an event that must be yielded behind the capture."""
        self.look(event)
        self._behind.append(_plain(event))

    def released(self) -> Iterator[Event]:
        """The capture, and what was read behind it."""
        yield self._record
        yield from self._behind

    def _tie(self, referral: Referral) -> None:
        record = self._record
        if record.beside or len(referral.ids) > 1:
            if ({record.key, *record.beside} - {None, ""}).isdisjoint(referral.ids):
                return
        elif referral.url is None or referral.url != record.url:
            return
        found = dict.fromkeys((*record.referrers, *referral.referrers))
        record.referrers = tuple(found)[:MOST_REFERRERS]
        record.hops = record.hops or referral.hops


def _look_back(before: "deque[_Note]", event: Event) -> None:
    """Keeps what records since the last capture say."""
    if not isinstance(event, Dropped):
        before.clear()
    elif event.referral is not None:
        before.append(_Note(event.span.offset, event.referral))


def _plain(event: Event) -> Event:
    return Dropped(event.span, event.reason) if isinstance(event, Dropped) else event


def _addresses(found: Iterable[bytes]) -> tuple[str, ...]:
    urls = (web_address(safe_text(one.strip())) for one in found)
    return tuple(dict.fromkeys(url for url in urls if url is not None))[:MOST_REFERRERS]


def _is_image(loaded: object) -> bool:
    """Whether a page loaded something as a picture: by its type, or what the browser wanted it for."""
    if not isinstance(loaded, dict):
        return False
    mime = loaded.get("mime")
    return loaded.get("type") == "image" or (isinstance(mime, str) and mime.startswith("image/"))


def _is_of(site: str, url: str | None) -> bool:
    return url is not None and f"{url.lower()}/".startswith(f"{site.lower().rstrip('/')}/")
