"""The recipe's `fetch` section, and the sources whose files `winnow fetch` writes: archives and lists of addresses."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.recipe.checks import Between, Matching, NotEmpty, PathText

HowFetched: TypeAlias = Literal["copy", "by_reference"]
SameBytes: TypeAlias = Literal["revisit", "keep"]
Render: TypeAlias = tuple[Annotated[str, NotEmpty()], ...]

COMMON_CRAWL = "https://data.commoncrawl.org/"

_CRAWL = Matching(r"[A-Za-z0-9_.-]{1,80}", "the name of a crawl, such as CC-MAIN-2026-40")
_TOKEN = Matching(r"[A-Za-z][A-Za-z0-9_-]{0,63}", "a crawler's name, such as example-bot")
_CONTACT = Matching(
    r"(mailto:[^\s@<>()]+@[^\s@<>()]+\.[^\s@<>()]+|https?://[^\s<>()]+\.[^\s<>()]+)",
    "an address where sites reach you: mailto:you@example.org, or https://example.org/crawler",
)
_LOCATION = PathText("a path or an address")
_HOST = Matching(r"[A-Za-z0-9.:\[\]_-]{1,253}", "a host, or an address of one")


@dataclass(frozen=True)
class ArchiveSample:
    """How many records a query takes of one group; which, a hash of their addresses says."""

    per_domain: Annotated[int, Between(1, 1 << 40)] | None = None
    per_host: Annotated[int, Between(1, 1 << 40)] | None = None
    share: Annotated[float, Between(0.0, 1.0)] = 1.0


@dataclass(frozen=True)
class ArchiveQuery:
    """Records of an indexed archive such as Common Crawl.

    One of these says which: `where` over the columnar index, a list of `addresses` or `domains`, or a `cdxj` file.
    """

    crawl: Annotated[str, _CRAWL] | None = None
    where: Annotated[str, NotEmpty()] | None = None
    addresses: Annotated[str, _LOCATION] | None = None
    domains: Annotated[str, _LOCATION] | None = None
    cdxj: Annotated[str, _LOCATION] | None = None
    index: Annotated[str, _LOCATION] | None = None  # the folder of the index's Parquet files; else the crawl's own
    data: Annotated[str, _LOCATION] = COMMON_CRAWL  # what file names in the index are relative to
    limit: Annotated[int, Between(1, 1 << 50)] | None = None
    sample: ArchiveSample = ArchiveSample()
    robots: bool = True  # the same crawl's captures of robots.txt, beside the records
    fetch: HowFetched = "copy"

    def __post_init__(self) -> None:
        named = [key for key in ("addresses", "domains", "cdxj") if getattr(self, key) is not None]
        if not named and self.where is None:
            raise ValueError("says not which records: expected 'where', 'addresses', 'domains' or 'cdxj'")
        if len(named) > 1:
            raise ValueError(f"has {' and '.join(named)}; expected one of them")
        if self.crawl is None and self.index is None and self.cdxj is None:
            raise ValueError("names no 'crawl', such as CC-MAIN-2026-40, and no 'index'")


@dataclass(frozen=True)
class Sitemaps:
    """Which addresses the sitemaps of listed sites add."""

    depth: Annotated[int, Between(1, 10)] = 3  # of indexes of sitemaps
    count: Annotated[int, Between(1, 1 << 30)] = 10_000  # of addresses, of one registered domain


@dataclass(frozen=True)
class AddressList:
    """Addresses that are fetched from their sites."""

    file: Annotated[str, _LOCATION]
    column: Annotated[str, NotEmpty()] = "url"  # of a table
    sitemaps: Sitemaps | None = None
    render: Annotated[Render, NotEmpty()] | None = None  # a command that takes addresses and writes WARC


@dataclass(frozen=True)
class FetchConfig:
    """Who fetches, how politely, and what one address may cost."""

    contact: Annotated[str, _CONTACT] | None = None  # required for sites; archives need none
    agent: Annotated[str, _TOKEN] = "winnow"  # the name that robots.txt is asked for, and that requests carry
    training_agents: tuple[Annotated[str, _TOKEN], ...] | None = None  # whose refusals count, too; None: `url.robots`'s
    seconds_between: Annotated[float, Between(0.0, 86_400.0)] = 1.0  # requests to one host
    per_host: Annotated[int, Between(1, 64)] = 1  # requests at once
    per_domain: Annotated[int, Between(1, 256)] = 4
    at_once: Annotated[int, Between(1, 10_000)] = 256
    per_endpoint: Annotated[int, Between(1, 256)] = 10  # requests at once to a host of archives
    attempts: Annotated[int, Between(1, 20)] = 4
    max_bytes: Annotated[int, Between(1 << 10, 1 << 32)] = 64 << 20  # of a response's body, as sent and as unpacked
    max_header_bytes: Annotated[int, Between(1 << 10, 1 << 20)] = 64 << 10
    max_redirects: Annotated[int, Between(0, 20)] = 5
    connect_seconds: Annotated[float, Between(0.1, 600.0)] = 10.0
    first_byte_seconds: Annotated[float, Between(0.1, 600.0)] = 20.0
    total_seconds: Annotated[float, Between(0.1, 86_400.0)] = 300.0
    min_bytes_a_second: Annotated[int, Between(0, 1 << 30)] = 512
    same_bytes: SameBytes = "revisit"  # as another address of its domain had lately: a reference to that record
    budget_bytes: Annotated[int, Between(1, 1 << 60)] | None = None  # of the whole run
    ports: tuple[Annotated[int, Between(1, 65_535)], ...] = (80, 443)
    allow_hosts: tuple[Annotated[str, _HOST], ...] = ()  # hosts that may have private addresses, in a network of yours
