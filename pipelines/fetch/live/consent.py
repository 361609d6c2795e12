"""Whether a site lets an address be fetched and used: asked of its files before, and of the response afterwards.

The files are robots.txt (RFC 9309), /.well-known/tdmrep.json and ai.txt, which is written like robots.txt. They are
read by the functions behind `url.robots`, and responses are judged by `page.opt_out` itself. What is not known
refuses: a file that cannot be reached, a server that fails (5xx) or is too busy to say (429). A file that does not
exist (other 4xx) refuses nothing, and neither does a page in its place.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import orjson
import pyarrow as pa

from winnow.filters.extraction.charset import decode_page
from winnow.filters.web.rights.host_files import host_file_line, is_page
from winnow.filters.web.rights.opt_outs import FETCHED_AT, METADATA, OptOutConfig, opt_out
from winnow.filters.web.rights.paths import one_spelling
from winnow.filters.web.rights.robots_txt import EVERYBODY, RobotsFile, groups_of, read_robots
from winnow.filters.web.rights.site_rules import Groups, groups_for, path_rules
from winnow.filters.web.rights.tdmrep import Reservation, reservations
from winnow.pipelines.fetch.live.exchange import Failed, Followed, Response
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.http import content_type
from winnow.pipelines.ingest.archives.opt_out import of_headers, with_metas
from winnow.schemas.identity import canonical_json
from winnow.schemas.recipe.fetch import FetchConfig
from winnow.schemas.rows.opt_out import HEADERS, KEY, TRAINING_AGENTS
from winnow.schemas.rows.samples import TIMESTAMP

ROBOTS: Final = "/robots.txt"
TDMREP: Final = "/.well-known/tdmrep.json"
AI: Final = "/ai.txt"
KEPT_SECONDS: Final = 86_400.0  # RFC 9309, 2.4
MAX_FILE_BYTES: Final = 5 << 20  # a larger file is none that could be read; of robots.txt the first 500 kB count
MAX_META_BYTES: Final = 1 << 20  # of a page, in which its elements are looked for; `page.opt_out` reads all of it later
MAX_REST: Final = 300.0  # seconds; a site that asks for longer ones is left for another day

_KEPT_RULES: Final = 400_000  # parsed lines of all sites, of 300 bytes each
_KEPT_SITES: Final = 200_000
_FILES: Final = 3
_LARGE: Final = 32 << 10  # characters of a file that is read beside the event loop
_SITE: Final = 8  # what a site costs beside its rules, in rules
_TOO_MANY_REQUESTS: Final = 429
_OWN: Final = (Reason.NO_HOST, Reason.NAME_SERVER, Reason.PRIVATE_ADDRESS)
_MARKUP: Final = (None, "text/html", "application/xhtml+xml", "application/xml", "text/xml")
_SNIFFED: Final = 512  # bytes of what its header declares to be no page
_EDGES: Final = b"\xef\xbb\xbf \t\r\n\0"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an address is not fetched or not kept."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class SiteRules:
    """What the files of one scheme, host and port say."""

    asked_at: float  # seconds, by the crawl's clock
    closed: Refusal | None = None  # everything is refused
    robots: Groups = ()
    reserved: tuple[Reservation, ...] = ()
    ai: Groups = ()
    rest: float = 0.0  # seconds between requests
    sitemaps: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many rules it has."""
        return _SITE + len(self.reserved) + sum(group.size for _, group in (*self.robots, *self.ai))

    def refusal(self, target: str) -> Refusal | None:
        """Why the address with this path and query must not be asked; None if it may."""
        if self.closed is not None or not (self.robots or self.reserved or self.ai):
            return self.closed
        path = one_spelling(target)
        found = path_rules(self.robots, self.reserved, path)
        if found.disallowed or found.train_ai_no:
            return Refusal(Reason.ROBOTS, f"{found.rule} (User-agent: {found.agent})")
        if found.tdm:
            return Refusal(Reason.TDM_RESERVED, f"{TDMREP}: {found.rule}")
        found = path_rules(self.ai, None, path)
        if found.disallowed or found.train_ai_no:
            return Refusal(Reason.TDM_RESERVED, f"{AI}: {found.rule} (User-agent: {found.agent})")
        return None


@dataclass(frozen=True, slots=True)
class Asker:
    """As whom files are read: the fetcher's own name, and the crawlers whose refusals count, too."""

    own: str
    training: tuple[str, ...]

    @classmethod
    def of(cls, config: FetchConfig) -> "Asker":
        """As the recipe says."""
        training = TRAINING_AGENTS if config.training_agents is None else config.training_agents
        return cls(config.agent.lower(), tuple(agent.lower() for agent in training))

    @property
    def names(self) -> frozenset[str]:
        """All names, in lower case."""
        return frozenset((self.own, *self.training))

    def groups(self, file: RobotsFile) -> Groups:
        """The groups that count: ours or everybody's, and those that name a training crawler."""
        groups = groups_of(file.groups)
        return groups_for(groups, (self.own, *(agent for agent in self.training if agent in groups)))

    def rest(self, file: RobotsFile) -> float:
        """The seconds between requests that are asked of us."""
        return file.delays.get(self.own, file.delays.get(EVERYBODY, 0.0) if self.own not in file.groups else 0.0)


def origin_of(place: Place) -> str:
    """The scheme, host and port to which files belong."""
    return f"{place.scheme}://{place.authority}"


Ask = Callable[[Place], Awaitable[Followed]]
"""Fetches a file, following redirects, in the turns of each host; the caller closes the response."""
Keep = Callable[[Response, bytes], Awaitable[None]]
"""Keeps a file's response, and its line for `url.robots`."""


async def ask_site(
    place: Place, asker: Asker, ask: Ask, keep: Keep, now: Callable[[], float], slow: Callable[[float], None]
) -> SiteRules:
    """Ask for the files of an address's site; robots.txt first, the others only if it leaves anything to be asked.

    `slow` is told the rest that robots.txt asks for, which counts for the other files, too.
    """
    robots = await _text(place, ROBOTS, ask, keep)
    if isinstance(robots, Refusal):
        return SiteRules(now(), robots)
    if len(robots) > _LARGE:
        rules = await asyncio.to_thread(_rules, now(), asker, robots)
    else:
        rules = _rules(now(), asker, robots)
    if rules.closed is not None:
        return rules
    slow(rules.rest)
    reserved = await _text(place, TDMREP, ask, keep)
    if isinstance(reserved, Refusal):
        return replace(rules, closed=reserved)
    ai = await _text(place, AI, ask, keep)
    if isinstance(ai, Refusal):
        return replace(rules, closed=ai)
    return replace(_with_others(rules, asker, reserved, ai), asked_at=now())


def remembered_sites(lines: Iterable[bytes], asker: Asker, now: float) -> Iterator[tuple[Place, SiteRules]]:
    """The sites all of whose files are known from less than a day ago, by the lines that `ask_site` kept."""
    texts: dict[str, dict[str, str]] = {}
    for line in lines:
        entry = orjson.loads(line)
        age = (datetime.now(UTC) - datetime.fromisoformat(entry["fetched_at"])).total_seconds()
        place = place_of(entry["url"], range(1 << 16))
        if age >= KEPT_SECONDS or isinstance(place, Failed):
            continue
        origin = origin_of(place)
        known = texts.setdefault(origin, {})
        known[place.target] = entry["body"]
        rules = _rules(now - age, asker, known[ROBOTS]) if ROBOTS in known else None
        if rules is not None and (rules.closed is not None or len(known) == _FILES):
            yield place, rules if rules.closed is not None else _with_others(rules, asker, known[TDMREP], known[AI])
            del texts[origin]
        if len(texts) > _KEPT_SITES:
            texts.clear()


def _rules(asked_at: float, asker: Asker, robots: str) -> SiteRules:
    """What a robots.txt says."""
    file = read_robots(robots, asker.names)
    rules = SiteRules(asked_at, None, asker.groups(file), rest=asker.rest(file), sitemaps=tuple(file.sitemaps))
    if rules.rest > MAX_REST:
        longest = f"Crawl-delay: {rules.rest:g} is longer than {MAX_REST:g} seconds"
        return replace(rules, closed=Refusal(Reason.BUSY, longest), rest=0.0)
    return replace(rules, closed=_everything(rules.robots))


def _with_others(rules: SiteRules, asker: Asker, reserved: str, ai: str) -> SiteRules:
    """What the other files say, too."""
    return replace(
        rules,
        reserved=reservations(reserved) if reserved and not is_page(reserved) else (),
        ai=() if is_page(ai) else asker.groups(read_robots(ai, asker.names)),
    )


def _everything(groups: Groups) -> Refusal | None:
    """The refusal of every path, where no rule allows any."""
    for name, group in groups:
        found = group.everything()
        if found.refused:
            return Refusal(Reason.ROBOTS, f"{found.line} (User-agent: {name})")
    return None


async def _text(place: Place, path: str, ask: Ask, keep: Keep) -> str | Refusal:
    """A file's text, empty where there is none; or that nothing may be fetched, as it is not known what it says."""
    found = place_of(origin_of(place) + path, (place.port,))
    assert not isinstance(found, Failed), "the origin of an address is an address"
    followed = await ask(found)
    last = followed.last
    if isinstance(last, Failed):
        if last.reason is Reason.ELSEWHERE or (last.reason in _OWN and not followed.hops):
            return Refusal(last.reason, last.detail)
        return Refusal(Reason.ROBOTS_UNREACHABLE, f"{path}: {last.reason.value}: {last.detail}")
    with last:
        exists = 200 <= last.status < 300
        if not exists and not (400 <= last.status < 500 and last.status != _TOO_MANY_REQUESTS):
            return Refusal(Reason.ROBOTS_UNREACHABLE, f"{path}: status {last.status}")
        body = ""
        if exists:
            declared = content_type((last.text("content-type") or "").encode())[1]
            body = decode_page(last.decoded(MAX_FILE_BYTES), declared).text
        moment = datetime.fromtimestamp(last.began / 1e6, UTC).isoformat().replace("+00:00", "Z")
        await keep(last, host_file_line(found.url, moment, body, last.status))
        return body


def stated_refusal(response: Response, config: OptOutConfig) -> Refusal | None:
    """What a response or its page says against its use, judged as `page.opt_out` judges stored pages."""
    statements = of_headers(response.head.fields)
    mime, charset = content_type((response.text("content-type") or "").encode())
    if mime in _MARKUP or response.decoded(_SNIFFED).lstrip(_EDGES).startswith(b"<"):
        found = with_metas(statements, decode_page(response.decoded(MAX_META_BYTES), charset).text)
        statements = found if isinstance(found, dict) else statements
    if statements == {HEADERS: {}}:
        return None
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([canonical_json({KEY: statements})]),
            pa.array([response.began], pa.int64()).cast(TIMESTAMP),
        ],
        [METADATA, FETCHED_AT],
    )
    judged = opt_out(batch, config)
    if not judged.column("opted_out")[0].as_py():
        return None
    signals = judged.column("signals")[0].as_py() or []
    return Refusal(Reason.OPT_OUT, "; ".join(f"{one['name']}: {one['value']}" for one in signals))


class KeptRules:
    """The rules of the sites that were asked lately, as many as memory has room for."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: OrderedDict[str, SiteRules] = OrderedDict()  # the last used one is the last
        self._size = 0

    def find(self, origin: str) -> SiteRules | None:
        """What is known of a site; None if it must be asked."""
        found = self._kept.get(origin)
        if found is None:
            return None
        if found.asked_at + KEPT_SECONDS <= self._now():
            self._drop(origin)
            return None
        self._kept.move_to_end(origin)
        return found

    def add(self, origin: str, rules: SiteRules) -> None:
        """Keep what a site said."""
        self._drop(origin)
        self._kept[origin] = rules
        self._size += rules.size
        while len(self._kept) > 1 and (self._size > _KEPT_RULES or len(self._kept) > _KEPT_SITES):
            self._drop(next(iter(self._kept)))

    def _drop(self, origin: str) -> None:
        rules = self._kept.pop(origin, None)
        self._size -= 0 if rules is None else rules.size
