"""The records of a request in WARC 1.1 (ISO 28500): request, response or revisit, and metadata.

A response is kept as it came, but for its transfer coding, which is undone; its header then says
`X-Crawl-Transfer-Encoding`, as Common Crawl writes it. A record's id is a hash of its kind, its address and its time.
"""

import base64
import itertools
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, TypeAlias

from winnow.pipelines.fetch.live.exchange import Hop, Response
from winnow.pipelines.fetch.outcome import Outcome, Reason
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.identity import digest

__all__ = [
    "Earlier",
    "Record",
    "metadata_record",
    "request_record",
    "response_record",
    "revisit_record",
    "warcinfo_record",
]

Record: TypeAlias = tuple[bytes, Iterable[bytes]]
"""A record's header, and its block in pieces."""

_VERSION: Final = b"WARC/1.1\r\n"
_HTTP: Final = "application/http; msgtype="
_FIELDS: Final = "application/warc-fields"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRANSFER: Final = re.compile(rb"(?im)^(?=Transfer-Encoding[ \t]*:)")
_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The response that a revisit repeats."""

    url: str  # in its normal form
    fetched_at: int  # microseconds since 1970


def request_record(response: Response) -> Record:
    """What was sent."""
    head = _head("request", response, _HTTP + "request", len(response.request), _beside(response))
    return head, (response.request,)


def response_record(response: Response) -> Record:
    """What came."""
    header = _TRANSFER.sub(b"X-Crawl-", response.header)
    more = [("WARC-Payload-Digest", _sha256(response.body.sha256))]
    head = _head("response", response, _HTTP + "response", len(header) + response.body.size, more)
    return head, itertools.chain((header,), response.body.pieces())


def revisit_record(response: Response, reason: Reason, earlier: Earlier | None) -> Record:
    """The header of what came, and which response has the body."""
    header = _TRANSFER.sub(b"X-Crawl-", response.header)
    is_unchanged = reason is Reason.UNCHANGED
    more = [("WARC-Profile", _PROFILE + ("server-not-modified" if is_unchanged else "identical-payload-digest"))]
    if earlier is not None:
        more.append(("WARC-Refers-To", _urn("response", earlier.url, earlier.fetched_at)))
        more.append(("WARC-Refers-To-Target-URI", earlier.url))
        more.append(("WARC-Refers-To-Date", _date(earlier.fetched_at)))
    if not is_unchanged:
        more.append(("WARC-Payload-Digest", _sha256(response.body.sha256)))
    return _head("revisit", response, _HTTP + "response", len(header), more), (header,)


def metadata_record(outcome: Outcome, response: Response, hops: Sequence[Hop]) -> Record:
    """The decision, the time it took, and the redirects before it; `via` are the addresses that redirected, as crawlers
    note what led to an address."""
    fields: list[tuple[str, object]] = [("decision", outcome.decision), ("reason", outcome.reason)]
    fields += [("detail", outcome.detail)] if outcome.detail else []
    fields += [("via", hop.url) for hop in hops]
    fields += [("redirect", f"{hop.status} {hop.url}") for hop in hops]
    fields.append(("fetchTimeMs", response.ms))
    block = _lines(fields)
    return _head("metadata", response, _FIELDS, len(block), _beside(response)), (block,)


def warcinfo_record(name: str, agent: str) -> Record:
    """Who wrote a file: its first record."""
    block = _lines(
        [
            ("software", f"winnow {winnow_version()}"),
            ("format", "WARC File Format 1.1"),
            ("http-header-user-agent", agent),
            ("robots", "obeyed (RFC 9309)"),
        ]
    )
    head = _lines(
        [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", _urn("warcinfo", name, 0)),
            ("WARC-Date", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"),
            ("WARC-Filename", f"{name}.warc.gz"),
            ("Content-Type", _FIELDS),
            ("Content-Length", len(block)),
        ]
    )
    return _VERSION + head + b"\r\n", (block,)


def _beside(response: Response) -> list[tuple[str, str]]:
    """The response to which a record belongs."""
    return [("WARC-Concurrent-To", _urn("response", response.place.url, response.began))]


def _head(kind: str, response: Response, block_type: str, length: int, more: Iterable[tuple[str, str]]) -> bytes:
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", _urn(kind if kind != "revisit" else "response", response.place.url, response.began)),
        ("WARC-Date", _date(response.began)),
        ("WARC-Target-URI", response.place.url),
        ("WARC-IP-Address", response.address),
        *more,
        ("Content-Type", block_type),
        ("Content-Length", length),
    ]
    return _VERSION + _lines(fields) + b"\r\n"


def _lines(fields: Iterable[tuple[str, object]]) -> bytes:
    """Fields of a header, each in one line whatever its value says."""
    return b"".join(f"{name}: {' '.join(str(value).split())}\r\n".encode("utf-8", "replace") for name, value in fields)


@lru_cache(16)  # the records of a response name each other
def _urn(kind: str, url: str, began: int) -> str:
    return f"<urn:uuid:{uuid.UUID(bytes=digest('warc', kind, url, began), version=5)}>"


@lru_cache(16)
def _date(began: int) -> str:
    return f"{_EPOCH + timedelta(microseconds=began):%Y-%m-%dT%H:%M:%S.%fZ}"


def _sha256(raw: bytes) -> str:
    return f"sha256:{base64.b32encode(raw).decode('ascii')}"
