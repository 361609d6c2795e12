"""Parse robots.txt (RFC 9309), with the usage preferences of newer drafts, for a few crawlers.

Only the lines about these crawlers are kept, which are usually few. As in Google's parser a group begins with
`User-agent` lines and ends at the next of these after a rule; other lines end nothing. In a crawler's groups, or those
for `*` if none names it, the longest matching pattern decides, and `Allow` wins a tie. `Content-Usage` (IETF aipref)
and `Content-Signal` also belong to groups, and may begin with a path. So does `Crawl-delay`, which ends no group;
`Sitemap` belongs to none.

Beyond the RFC: a `Disallow` that does not begin with `/` or `*` is read as if it did, as its author wanted to refuse
something.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import orjson

from winnow.filters.web.rights.paths import Pattern, pattern_of
from winnow.filters.web.rights.statements import MALFORMED, TRAIN_AI_NO, preference

MAX_BYTES: Final = 512_000  # RFC 9309 asks for 500 kibibytes at least; Google reads no more
MAX_RULES: Final = 10_000  # per crawler; a path is compared with each
MAX_SITEMAPS: Final = 1_000
EVERYBODY: Final = "*"

Kind: TypeAlias = Literal["allow", "disallow", "usage"]
Line: TypeAlias = tuple[Kind, str]

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_.-]+")
_KINDS: Final[dict[str, Kind]] = {
    "allow": "allow",
    "disallow": "disallow",
    "content-usage": "usage",
    "content-signal": "usage",
}
_MISSPELT: Final = frozenset(("dissallow", "dissalow", "disalow", "diasllow", "disallaw"))  # as in Google's parser
_DELAYS: Final = frozenset(("crawl-delay", "crawldelay"))
_SECONDS: Final = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,9})?")
_SITEMAPS: Final = frozenset(("sitemap", "site-map"))
_AGENT_LINES: Final = frozenset(("user-agent", "useragent", "user agent"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a group."""

    pattern: Pattern
    allows: bool
    line: str


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A file's rule for a crawler and a path, and its line."""

    refused: bool
    line: str = ""


_NOTHING: Final = FoundRule(False)


class Group:
    """The rules for one crawler."""

    def __init__(self, lines: Sequence[Line]) -> None:
        rules: list[Rule] = []
        self._usage: list[Rule] = []
        for kind, value in lines:
            if kind == "usage":
                path, statement = _path_and_preference(value)
                refuses = bool(preference(statement) & {TRAIN_AI_NO, MALFORMED})
                self._usage.append(Rule(pattern_of(path), not refuses, value))
            else:
                pattern = _path_of(value) if kind == "disallow" else value
                rules.append(Rule(pattern_of(pattern), kind == "allow", f"{kind.capitalize()}: {value}"))
        rules.sort(key=lambda rule: (-rule.pattern.length, not rule.allows))
        # If preferences for one path differ, the refusal wins.
        self._usage.sort(key=lambda rule: (-rule.pattern.length, rule.allows))
        self._rules = rules
        self._others = [rule for rule in rules if not rule.pattern.is_plain]
        self._prefixes = tuple(rule.pattern.prefix for rule in rules if rule.pattern.is_plain)

    @property
    def size(self) -> int:
        """How many rules it has."""
        return len(self._rules) + len(self._usage)

    def everything(self) -> FoundRule:
        """The line that refuses every path, where none allows any."""
        for rules in (self._rules, self._usage):
            if not any(rule.allows for rule in rules):
                for rule in rules:
                    if rule.pattern.is_everything:
                        return FoundRule(True, rule.line)
        return _NOTHING

    def access(self, path: str) -> FoundRule:
        """Whether the crawler may not fetch this path."""
        rules = self._rules if path.startswith(self._prefixes) else self._others
        return _first(rules, path)

    def training(self, path: str) -> FoundRule:
        """Whether content under this path may not be used for training."""
        return _first(self._usage, path)


def _first(rules: Sequence[Rule], path: str) -> FoundRule:
    for rule in rules:
        if rule.pattern.matches(path):
            return FoundRule(not rule.allows, rule.line)
    return _NOTHING


@dataclass(slots=True)
class RobotsFile:
    """What a file says to some crawlers, and to everybody."""

    groups: dict[str, list[Line]] = field(default_factory=dict)  # by the crawler that they name
    delays: dict[str, float] = field(default_factory=dict)  # seconds between requests, the longest
    sitemaps: list[str] = field(default_factory=list)  # as written


def relevant_lines(body: str, agents: frozenset[str]) -> dict[str, list[Line]]:
    """The lines of a file for each of these crawlers that it names, and for everybody.

    Args:
        body: The file; bytes beyond the limit are not read.
        agents: Names in lower case.
    """
    return read_robots(body, agents).groups


def read_robots(body: str, agents: frozenset[str]) -> RobotsFile:
    """What a file says to these crawlers (named in lower case), and to everybody."""
    found = RobotsFile()
    groups = found.groups
    current: list[str] = []
    in_rules = named = False
    for key, value in _records(body):
        if key in _AGENT_LINES:
            named = True
            if in_rules:
                current, in_rules = [], False
            agent = _agent(value)
            if agent == EVERYBODY or agent in agents:
                groups.setdefault(agent, [])
                if agent not in current:
                    current.append(agent)
            continue
        kind: Kind | None = "disallow" if key in _MISSPELT else _KINDS.get(key)
        if kind is None:
            if key in _DELAYS and _SECONDS.fullmatch(value):
                found.delays |= {agent: max(float(value), found.delays.get(agent, 0.0)) for agent in current}
            elif key in _SITEMAPS and value and len(found.sitemaps) < MAX_SITEMAPS:
                found.sitemaps.append(value)
            continue
        in_rules = True
        if kind == "usage" and not named:  # before any group: for everybody
            current = [EVERYBODY]
            groups.setdefault(EVERYBODY, [])
        if value:
            for agent in current:
                if len(groups[agent]) < MAX_RULES:
                    groups[agent].append((kind, value))
    return found


def pack(groups: dict[str, list[Line]]) -> bytes:
    """Encode the lines as bytes; equal lines give equal bytes."""
    return orjson.dumps(groups, option=orjson.OPT_SORT_KEYS)


def unpack(packed: bytes) -> dict[str, Group]:
    """Decode the groups."""
    return groups_of(orjson.loads(packed))


def groups_of(lines: Mapping[str, Sequence[Line]]) -> dict[str, Group]:
    """The groups that lines make."""
    return {agent: Group([(kind, value) for kind, value in found]) for agent, found in lines.items()}


def _records(body: str) -> Iterator[tuple[str, str]]:
    """Lower-case keys and values, without comments and empty lines."""
    body = body[:MAX_BYTES].removeprefix("\ufeff")
    for line in _LINE_END.split(body):
        text = line.partition("#")[0].strip()
        key, colon, value = text.partition(":")
        if not colon:
            key, _, value = text.partition(" ")  # `Disallow /`, which Google accepts, too
        if key:
            yield key.strip().lower(), value.strip()


def _agent(value: str) -> str:
    """The product token that a line names: `CCBot/2.0` is ccbot."""
    if value == EVERYBODY or value.startswith(("* ", "*\t")):
        return EVERYBODY
    token = _TOKEN.match(value)
    return token[0].lower() if token else ""


def _path_of(value: str) -> str:
    if value.startswith(("/", "*")):
        return value
    if value.startswith(("http://", "https://")):
        parts = urlsplit(value.replace("[", "%5B").replace("]", "%5D"))
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return f"/{value}"


def _path_and_preference(value: str) -> tuple[str, str]:
    """`/path train-ai=n`, or a preference for every path."""
    if not value.startswith("/"):
        return "/", value
    path, *statement = islice(re.split(r"[ \t]+", value, maxsplit=1), 2)
    return path, statement[0] if statement else ""
