"""Interpret one statement about a page's use: robots directives, a reservation, a preference.

Each has its own grammar. Robots directives are words separated by commas; after a crawler's name and a colon, the
following ones in the same value apply to that crawler. TDMRep (W3C) knows 0 and 1. `Content-Usage` (IETF aipref) and
`Content-Signal` are dictionaries of uses. A misspelt word means what it resembles; unreadable ones are `malformed`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from winnow.schemas.rows.opt_out import CONTENT_SIGNAL, CONTENT_USAGE, ROBOTS, TDM_POLICY, TDM_RESERVATION, X_ROBOTS_TAG

NOAI = "noai"
NOIMAGEAI = "noimageai"
NOINDEX = "noindex"
NOIMAGEINDEX = "noimageindex"
NOARCHIVE = "noarchive"
NOSNIPPET = "nosnippet"
TDM = "tdm"
TRAIN_AI_NO = "train_ai_no"
MALFORMED = "malformed"  # its meaning is unsure

MEANINGS: Final = (NOAI, NOIMAGEAI, NOINDEX, NOIMAGEINDEX, NOARCHIVE, NOSNIPPET, TDM, TRAIN_AI_NO, MALFORMED)

_DIRECTIVES: Final = {
    "noai": NOAI,
    "noml": NOAI,
    "disallowaitraining": NOAI,
    "noimageai": NOIMAGEAI,
    "noindex": NOINDEX,
    "none": NOINDEX,
    "noimageindex": NOIMAGEINDEX,
    "noarchive": NOARCHIVE,
    "nocache": NOARCHIVE,
    "nosnippet": NOSNIPPET,
}
_NO_RESTRICTION: Final = frozenset(
    (
        "all",
        "allow",
        "any",
        "archive",
        "cache",
        "document",
        "documents",
        "follow",
        "general",
        "global",
        "imageindex",
        "index",
        "indexifembedded",
        "nofollow",
        "noodp",
        "nopagereadaloud",
        "nositelinkssearchbox",
        "notranslate",
        "noyaca",
        "noydir",
        "odp",
        "public",
        "snippet",
        "translate",
        "ydir",
        "yes",
    )
)
_WITH_VALUE: Final = frozenset(("max-snippet", "max-image-preview", "max-video-preview"))
_UNTIL: Final = "unavailable_after"
_UNTIL_AT: Final = re.compile(r"unavailable[_-]after[\s:]*", re.IGNORECASE)
_STEMS: Final = ("noimageindex", "noimageai", "noindex", "noai", "noml", "disallowai", "noarchive", "nosnippet")
_STEM_MEANINGS: Final = {**_DIRECTIVES, "disallowai": NOAI}

_ITEMS: Final = re.compile("[,;]")
_BETWEEN: Final = re.compile("[^a-z_-]+")
_NOT_LETTERS: Final = re.compile("[^a-z]+")
_WEEKDAY: Final = re.compile(r"\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\s*", re.IGNORECASE)
_KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*")

# aipref's label for training, those of its earlier drafts, and Content Signals'.
_TRAINING: Final = frozenset(("train-ai", "train-genai", "genai", "ai", "bots", "tdm", "ai-train"))
_YES: Final = frozenset(("y", "yes"))
_NO: Final = frozenset(("n", "no"))


@dataclass(frozen=True, slots=True)
class Directive:
    """One word of a robots value: its crawler (empty for everybody), the word in lower case, and its value."""

    agent: str
    word: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a statement for us."""

    meanings: frozenset[str]
    until: datetime | None = None  # the page may be used until then


NOTHING: Final = Meaning(frozenset())


@lru_cache(maxsize=4096)
def said_by(name: str, value: str, agents: frozenset[str]) -> Meaning:
    """Interpret a header or element with this name for these crawlers.

    Args:
        name: In lower case: of a header, a standard's element, or a crawler that an element addresses.
        value: The raw value.
        agents: Our crawlers' names in lower case.
    """
    if name == TDM_RESERVATION:
        return _reservation(value)
    if name in (CONTENT_USAGE, CONTENT_SIGNAL):
        return Meaning(preference(value))
    if name == TDM_POLICY:  # the location of the terms; it reserves nothing
        return NOTHING
    if name in (X_ROBOTS_TAG, ROBOTS):
        return _robots("", value, agents)
    return _robots(_product(name), value, agents)


def robots_directives(value: str, agent: str = "") -> Iterator[Directive]:
    """The directives of an `X-Robots-Tag` or robots element, each with its crawler.

    `googlebot: noindex, noai` addresses only googlebot, as Google documents; another name with a colon ends that.
    """
    items = iter(_ITEMS.split(value))
    for item in items:
        dated = _UNTIL_AT.search(item)
        rest = item if dated is None else item[: dated.start()]
        while rest:
            before, colon, rest = rest.partition(":")
            words = before.lower().split()
            key = words.pop() if colon and words else ""
            yield from _plain(words, agent)
            if key in _WITH_VALUE:
                given, _, rest = rest.strip().partition(" ")
                yield Directive(agent, key, given.lower())
            elif key in _DIRECTIVES or key in _NO_RESTRICTION or _resembled(key):
                yield Directive(agent, key, rest.strip() or "?")
            elif key:
                agent = _product(key)
        if dated is not None:
            until = item[dated.end() :]
            # A date of RFC 850 has a comma after the day of the week.
            yield Directive(agent, _UNTIL, f"{until},{next(items, '')}" if _WEEKDAY.fullmatch(until) else until)


def _plain(words: list[str], agent: str) -> Iterator[Directive]:
    """Directives without values; `no ai` is one split by a space."""
    torn = ""
    for word in words:
        if word == "no" and not torn:
            torn = "no-"
        else:
            yield Directive(agent, torn + word)
            torn = ""
    if torn:
        yield Directive(agent, "no")


def _product(name: str) -> str:
    """A crawler's name without its version."""
    return name.lower().partition("/")[0].strip()


def _robots(agent: str, value: str, agents: frozenset[str]) -> Meaning:
    meanings: set[str] = set()
    until: datetime | None = None
    understood = unknown = False
    for directive in robots_directives(value, agent):
        if directive.agent not in ("", "*", ROBOTS) and directive.agent not in agents:
            understood = True
            continue
        if directive.word == _UNTIL:
            date = parse_until(directive.value)
            if date is None:
                meanings.add(MALFORMED)
            else:
                until = date if until is None else min(until, date)
            understood = True
            continue
        found = _meanings(directive)
        understood |= found is not None
        unknown |= found is None
        meanings |= found or set()
    if unknown and not understood:
        meanings.add(MALFORMED)
    return Meaning(frozenset(meanings), until) if meanings or until else NOTHING


def _meanings(directive: Directive) -> set[str] | None:
    """What a directive restricts, possibly nothing; None for an unknown word."""
    word = directive.word
    if word in _WITH_VALUE:
        return {NOSNIPPET} if word == "max-snippet" and directive.value == "0" else set()
    parts = [part for part in _BETWEEN.split(word) if part]
    if parts and all(part in _DIRECTIVES or part in _NO_RESTRICTION for part in parts):
        return {_DIRECTIVES[part] for part in parts if part in _DIRECTIVES}
    resembled = _resembled(word)
    return None if resembled is None else {resembled}


def _resembled(word: str) -> str | None:
    """The directive meant by a misspelt word: `no-ai`, `noai=1`, `noaitraining`."""
    letters = _NOT_LETTERS.sub("", word)
    stem = next((stem for stem in _STEMS if letters.startswith(stem)), None)
    return None if stem is None else _STEM_MEANINGS[stem]


def parse_until(value: str) -> datetime | None:
    """Parse a date of RFC 822, RFC 850 or ISO 8601, in UTC if it has no zone; None if invalid."""
    text = value.strip().strip("\"'")
    found: datetime | None = None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            found = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _reservation(value: str) -> Meaning:
    meanings: set[str] = set()
    for item in value.split(","):
        stripped = item.strip(" \t\"'")
        if stripped != "0":
            meanings |= {TDM} if stripped == "1" else {TDM, MALFORMED}
    return Meaning(frozenset(meanings)) if meanings else NOTHING


def preference(value: str) -> frozenset[str]:
    """Interpret a statement of aipref or Content Signals: whether it refuses training, and whether it is unreadable."""
    meanings: set[str] = set()
    for member in value.split(","):
        key, equals, given = member.partition(";")[0].strip().lower().partition("=")
        key, given = key.rstrip(), given.strip().strip("\"'")
        if key in _TRAINING:
            if given not in _YES:
                meanings |= {TRAIN_AI_NO} if given in _NO else {TRAIN_AI_NO, MALFORMED}
        elif _resembled(key) in (NOAI, NOIMAGEAI):
            meanings |= {TRAIN_AI_NO, MALFORMED}
        elif not equals or not _KEY.fullmatch(key):
            meanings.add(MALFORMED)
    return frozenset(meanings)
