"""Later opt-outs: rules for a page's address in stored copies of robots.txt and tdmrep.json.

A crawl may be older than its sites' opt-outs. Every address is checked against the user's newest files of its host, for
the user's crawlers. Hosts without a file are null, as their rules are unknown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Annotated, Generic, TypeVar

import pyarrow as pa

from winnow.filters.operators import STATUS, Assets, Kernel, TextOperator
from winnow.filters.web.rights.host_files import HostFiles, Refused, read_host_files, split_url
from winnow.filters.web.rights.paths import one_spelling
from winnow.filters.web.rights.robots_txt import EVERYBODY, unpack
from winnow.filters.web.rights.site_rules import groups_for, path_rules
from winnow.filters.web.rights.tdmrep import Reservation, reservations
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Matching, NotEmpty
from winnow.schemas.rows.opt_out import TRAINING_AGENTS

NO_RULES = "no_rules"
NO_ADDRESS = "no_address"
URL = "samples.url"

_CACHED = 1024  # parsed contents
_CACHED_RULES = 200_000  # of them all: a hostile file has ten thousand for each crawler, of 300 bytes each
_CACHED_HOSTS = 65536
_SHOWN = 256
_AGENT = Matching(r"\*|[a-z0-9][a-z0-9._-]{0,63}", "a crawler's name in lower case, such as ccbot, or *")

WRITES = pa.schema(
    [
        STATUS,
        pa.field("disallowed", pa.bool_()),  # one of our crawlers may not fetch the address
        pa.field("train_ai_no", pa.bool_()),  # Content-Usage or Content-Signal in robots.txt refuses training
        pa.field("tdm", pa.bool_()),  # tdmrep.json reserves it
        pa.field("agent", pa.string()),  # whose rules refuse, as the file names them
        pa.field("rule", pa.string()),  # the first line that refuses
    ]
)


@dataclass(frozen=True, slots=True)
class RobotsConfig:
    """The files, and the crawlers that we count as."""

    rules: str = ""  # the path of the file that `winnow robots` writes
    agents: Annotated[tuple[Annotated[str, _AGENT], ...], NotEmpty()] = (EVERYBODY, *TRAINING_AGENTS)
    """Refusals to any of these count; `*` is a crawler that no group names."""
    too_many_requests: Refused = "unknown"  # the meaning of status 429; `missing`: there is no file, as for 404


_T = TypeVar("_T")
Row = tuple[str, bool | None, bool | None, bool | None, str | None, str | None]


class _Parsed(Generic[_T]):
    """Parsed contents, the last used ones."""

    def __init__(self, parse: Callable[[int], _T], size: Callable[[_T], int]) -> None:
        self._parse, self._size = parse, size
        self._kept: dict[int, _T] = {}  # the last used one is the last
        self._rules = 0
        self._one_at_a_time = Lock()  # engines may run bundles side by side

    def __call__(self, content: int) -> _T:
        """What a content says."""
        with self._one_at_a_time:
            found = self._kept.pop(content, None)
            if found is None:
                found = self._parse(content)
                self._rules += self._size(found)
            self._kept[content] = found
            while len(self._kept) > 1 and (self._rules > _CACHED_RULES or len(self._kept) > _CACHED):
                self._rules -= self._size(self._kept.pop(next(iter(self._kept))))
            return found


class Robots:
    """Looks up addresses in the rules of all hosts."""

    def __init__(self, kept: HostFiles, agents: tuple[str, ...]) -> None:
        # One cache for each kind of file, as each parses differently.
        self._groups = _Parsed(
            lambda content: groups_for(unpack(kept.packed[content]), agents),
            lambda groups: sum(group.size for _, group in groups),
        )
        self._reservations = _Parsed(lambda content: _reservations(kept.packed[content]), len)
        self._files = lru_cache(_CACHED_HOSTS)(lambda host: (kept.find(host, "robots"), kept.find(host, "tdmrep")))

    def row(self, url: str) -> Row:
        """The columns for one address."""
        place = split_url(url)
        if place is None:
            return NO_ADDRESS, None, None, None, None, None
        robots, tdmrep = self._files(place[0])
        if robots is None and tdmrep is None:
            return NO_RULES, None, None, None, None, None
        found = path_rules(
            None if robots is None else self._groups(robots),
            None if tdmrep is None else self._reservations(tdmrep),
            one_spelling(place[1]),
        )
        rule = None if found.rule is None else found.rule[:_SHOWN]
        return "ok", found.disallowed, found.train_ai_no, found.tdm, found.agent, rule


def _reservations(packed: bytes) -> tuple[Reservation, ...]:
    return reservations(packed.decode("utf-8", "replace"))


def robots(batch: pa.RecordBatch, rules: Robots) -> pa.RecordBatch:
    """The layer of a batch; each different address is looked up once."""
    urls = batch.column(URL).dictionary_encode()
    rows = [rules.row(url) for url in urls.dictionary.to_pylist()]
    at = urls.indices
    columns = [pa.array([row[place] for row in rows], field.type).take(at) for place, field in enumerate(WRITES)]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _rules(config: RobotsConfig) -> tuple[str, ...]:
    if not config.rules:
        raise RecipeError("url.robots: `rules` is not set; expected the path of a file that `winnow robots` writes")
    return (config.rules,)


def _load(config: RobotsConfig, assets: Assets) -> Kernel:
    (path,) = _rules(config)
    kept = read_host_files(assets.path(path), frozenset(config.agents) - {EVERYBODY}, config.too_many_requests)
    return partial(robots, rules=Robots(kept, config.agents))


OPERATOR = TextOperator(
    name="url.robots",
    version=2,  # 2: a tdmrep.json that is a page reserves nothing, status 429 says nothing
    summary="rules for the address in your stored copies of robots.txt and tdmrep.json",
    config=RobotsConfig,
    reads=lambda _config: (URL,),
    writes=lambda _config: WRITES,
    load=_load,
    needs=(URL,),
    assets=_rules,
    reasons=(NO_RULES, NO_ADDRESS),
    detects=lambda _config: dict.fromkeys(("disallowed", "train_ai_no", "tdm"), "rights.opt_out"),
)
