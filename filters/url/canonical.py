"""A digest of each page's canonical address: equal digests mean the same page.

First the address is spelt as browsers spell it (`winnow.filters.web.urls.canonical_url`). Then each rule of the
configuration that is on ignores one difference more. Most addresses are read in place by a kernel, the others by
`canonical_url`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import uint64

from winnow.filters.language.kernels.digests import DIGEST, Halves, digest_column, digests_of, finished
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.operators import STATUS, TextOperator
from winnow.filters.web import urls
from winnow.filters.web.url_lists.hashing import Bytes, lowered
from winnow.filters.web.url_lists.scanning import CLASSES, NOT_PLAIN, is_escape, scan
from winnow.schemas.kernels import kernel, leaf
from winnow.schemas.recipe.checks import Matching

NAME = "url.canonical"
VERSION = 3  # 2: parameters of one name keep their order, and `sid` counts; 3: routes of single-page sites count
URL = "samples.url"
NOT_AN_ADDRESS = "not_an_address"

WRITES = pa.schema([STATUS, pa.field("digest", DIGEST)])

TRACKING_PREFIX = "utm_"
TRACKING = (  # click identifiers of advertisers and mailers, and the visitor's origin
    "gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "_ga", "ref_src",
)  # fmt: skip
SESSIONS = ("phpsessid", "jsessionid")
_IN_PATH = "jsessionid"  # Java servers also write it after a semicolon in the path

Names: TypeAlias = tuple[Bytes, npt.NDArray[np.int64]]
"""Concatenated parameter names, and the start of each."""

_ROUTE = re.compile(r"#(?:(!|%21)|(?=/|%2[Ff]))(?!(?:/|%2[Ff])*\Z)")  # `#!` and `#/` without more: a site's first page
_PORT = re.compile(r":(?:80|443)\Z")
_QUERY = re.compile(r"%[0-9A-Fa-f]{2}|[^!$&(-;=?-~]")  # a lone percent sign is not an escape, and is escaped
_FRAGMENT = re.compile(r"%[0-9A-Fa-f]{2}|[^!#$&(-;=?-~]")
_spelt = partial(urls.encoded, errors="replace")
_PREFIX = np.frombuffer(TRACKING_PREFIX.encode(), np.uint8)
_STARTS = np.frombuffer(b"http://https://", np.uint8)
_HTTP, _HTTPS = len(b"http://"), len(b"https://")
_MAX_PARAMETERS = 64  # sorted in the kernel, in quadratic time


@dataclass(frozen=True, slots=True)
class CanonicalConfig:
    """Which differences between addresses are ignored."""

    scheme: bool = True  # http or https, and their default ports
    www: bool = True  # `www.` before a domain
    slashes: bool = True  # at the end of a path, and several for one
    tracking: bool = True  # parameters that only say where a visitor comes from
    sessions: bool = True  # PHPSESSID and jsessionid
    sort_query: bool = True  # the order of parameters of different names
    routes: bool = False  # `#!/…` and `#/…`, by which scripts of single-page sites choose what they show
    ignore: tuple[Annotated[str, Matching(r"[^=&#]+", "the name of a parameter of a query")], ...] = ()  # in any case


def canonical_url(url: str, config: CanonicalConfig) -> str | None:
    """The page's canonical address; None unless it is an http or https address with a host. Idempotent.

    Example: `https://www.Example.com:443/a//b/?utm_source=x&b=2&a=1#top` is `http://example.com/a/b?a=1&b=2`.
    """
    spelt = urls.canonical_url(url)
    route = "" if config.routes else _route(url)
    if spelt is not None and config.sessions and ";" in spelt:
        spelt = urls.canonical_url(_without_session(spelt))  # again: a dot segment may remain
    if spelt is None:
        return None
    scheme, _, after = spelt.partition("://")
    authority, slash, rest = after.partition("/")
    path, _, query = (slash + rest).partition("?")
    if config.scheme:
        scheme, authority = "http", _PORT.sub("", authority)
    while config.www and authority.startswith("www.") and "." in authority[4:]:
        authority = authority[4:]
    if config.slashes:
        path = re.sub("//+", "/", path).removesuffix("/") or "/"
    dropped = _dropped(config)
    kept = [one for one in _spelt_part(query, _QUERY).split("&") if one and not _is_dropped(one, dropped, config)]
    if config.sort_query:
        kept.sort(key=_name)  # those of one name keep their order, which may matter
    found = f"{scheme}://{authority}{path}{'?' if kept else ''}{'&'.join(kept)}{route}"
    return found if len(found) <= urls.MAX_URL_CHARACTERS else None


def _route(url: str) -> str:
    """The part of the address that names a page of a single-page site, with its `#`; empty if there is none."""
    fragment = urls.fragment_of(url)
    match = _ROUTE.match(fragment)
    return f"#{'!' if match[1] else ''}{_spelt_part(fragment[match.end() :], _FRAGMENT)}" if match else ""


def _without_session(spelt: str) -> str:
    path, mark, query = spelt.partition("?")
    return re.sub(rf"(?i);{_IN_PATH}(?:=[^;/]*)?(?=[;/]|\Z)", "", path) + mark + query


def _spelt_part(part: str, odd: re.Pattern[str]) -> str:
    return odd.sub(_spelt, part)


def _dropped(config: CanonicalConfig) -> frozenset[str]:
    ours = (*(TRACKING if config.tracking else ()), *(SESSIONS if config.sessions else ()))
    return frozenset((*ours, *(_QUERY.sub(_spelt, name).lower() for name in config.ignore)))


def _is_dropped(parameter: str, dropped: frozenset[str], config: CanonicalConfig) -> bool:
    name = _name(parameter).lower()
    return name in dropped or (config.tracking and name.startswith(TRACKING_PREFIX))


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _names(dropped: frozenset[str]) -> Names:
    encoded = [name.encode() for name in sorted(dropped)]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64)


@leaf  # type: ignore[untyped-decorator]
def _is_at(text: Bytes, start: int, end: int, names: Bytes, first: int, last: int) -> bool:
    """Whether this name is at this position, ignoring case."""
    if end - start < last - first:
        return False
    for at in range(last - first):  # noqa: SIM110  # a kernel
        if lowered(text[start + at]) != names[first + at]:
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _counts(text: Bytes, start: int, end: int, tracking: bool, names: Bytes, places: npt.NDArray[np.int64]) -> bool:
    """Whether a parameter identifies the page."""
    last = start
    while last < end and text[last] != 61:
        last += 1
    if tracking and _is_at(text, start, last, _PREFIX, 0, len(_PREFIX)):
        return False
    for name in range(len(places) - 1):
        size = places[name + 1] - places[name]
        if size == last - start and _is_at(text, start, last, names, places[name], places[name + 1]):
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _is_before(text: Bytes, start: int, end: int, other: int, other_end: int) -> bool:
    """Whether the name of one parameter is sorted before that of another."""
    at = 0
    while True:
        ended = start + at == end or text[start + at] == 61
        other_ended = other + at == other_end or text[other + at] == 61
        if ended or other_ended:
            return bool(ended and not other_ended)
        if text[start + at] != text[other + at]:
            return bool(text[start + at] < text[other + at])
        at += 1


@leaf
def _parameters(  # type: ignore[no-untyped-def]
    text, at, end, classes, tracking, in_order, names, places, starts, ends
):
    """Find the parameters that count, in order; returns their number, or NOT_PLAIN."""
    count = 0
    while at < end:
        start = at
        while at < end and text[at] != 38:
            if text[at] == 37 and not is_escape(text, at, end, classes):
                return NOT_PLAIN
            at += 1
        if at > start and _counts(text, start, at, tracking, names, places):
            if count == _MAX_PARAMETERS:
                return NOT_PLAIN
            slot = count
            while in_order and slot > 0 and _is_before(text, start, at, starts[slot - 1], ends[slot - 1]):
                starts[slot], ends[slot] = starts[slot - 1], ends[slot - 1]
                slot -= 1
            starts[slot], ends[slot] = start, at
            count += 1
        at += 1
    return count


@leaf  # type: ignore[untyped-decorator]
def _after_www(text: Bytes, start: int, last: int) -> int:
    """The start of the host after every `www.` that is followed by a domain."""
    while last - start > 4 and text[start + 3] == 46:
        for at in range(start, start + 3):
            if lowered(text[at]) != 119:
                return start
        at = start + 4
        while at < last and text[at] != 46:
            at += 1
        if at == last:
            return start
        start += 4
    return start


@leaf
def _write_port(text, at, end, ignored, out, size):  # type: ignore[no-untyped-def]
    """Write the port at this position, unless it is one of these two."""
    if at < end and text[at] == 46:
        at += 1
    if end - at < 2:
        return size
    port = 0
    for place in range(at + 1, end):
        port = 10 * port + text[place] - 48
    if port in ignored:
        return size
    out[size] = 58
    size += 1
    while at + 2 < end and text[at + 1] == 48:
        at += 1
    for place in range(at + 1, end):
        out[size] = text[place]
        size += 1
    return size


@leaf
def _write(  # type: ignore[no-untyped-def]
    text, first, stop, classes, rules, names, places, starts, ends, out
):
    """Write the canonical form of a plain address; returns its length, or NOT_PLAIN."""
    plain, _, start, last, path, query, end = scan(text, first, stop, False, classes)
    if not plain:
        return NOT_PLAIN
    any_scheme, any_www, any_slashes, tracking, sessions, in_order, no_routes = rules
    if not no_routes and end + 1 < stop and (text[end + 1] <= 33 or text[end + 1] == 37 or text[end + 1] == 47):
        return NOT_PLAIN  # it may be a route: `!`, `/`, an escape, or white space that browsers drop
    count = _parameters(text, query + 1, end, classes, tracking, in_order, names, places, starts, ends)
    if count == NOT_PLAIN:
        return NOT_PLAIN
    secure = lowered(text[start - 4]) == 115  # the `s` of `https://`
    size = _HTTP if any_scheme or not secure else _HTTPS
    begin = 0 if size == _HTTP else _HTTP
    for at in range(size):
        out[at] = _STARTS[begin + at]
    for at in range(_after_www(text, start, last) if any_www else start, last):
        out[size] = lowered(text[at])
        size += 1
    default = 443 if secure else 80
    size = _write_port(text, last, path, (80, 443) if any_scheme else (default, default), out, size)
    out[size] = 47
    size += 1
    root = size
    for at in range(path, query):
        byte = text[at]
        if byte == 59 and sessions and at + 1 < query and lowered(text[at + 1]) == 106:
            return NOT_PLAIN  # it may be a session
        if at == path and byte == 47:
            continue  # it is written
        if byte != 47 or out[size - 1] != 47 or not any_slashes:
            out[size] = byte
            size += 1
    if size > root and any_slashes and out[size - 1] == 47:
        size -= 1
    for parameter in range(count):
        out[size] = 38 if parameter else 63
        size += 1
        for at in range(starts[parameter], ends[parameter]):
            out[size] = text[at]
            size += 1
    return size


@kernel
def _digests(  # type: ignore[no-untyped-def]
    text, offsets, classes, rules, names, places, most
):
    halves = np.zeros((len(offsets) - 1, 2), np.uint64)
    plain = np.zeros(len(offsets) - 1, np.bool_)
    out = np.empty(most + 16, np.uint8)
    starts, ends = np.empty(_MAX_PARAMETERS, np.int64), np.empty(_MAX_PARAMETERS, np.int64)
    for row in range(len(offsets) - 1):
        size = _write(text, offsets[row], offsets[row + 1], classes, rules, names, places, starts, ends, out)
        plain[row] = size != NOT_PLAIN
        if plain[row]:
            halves[row, 0], halves[row, 1] = finished(uint64(0), uint64(0), out, 0, size, size)
    return halves, plain


def canonical(batch: pa.RecordBatch, config: CanonicalConfig) -> pa.RecordBatch:
    """The layer of a batch of addresses."""
    texts = texts_of(batch.column(URL))
    for array in (texts.buffer, texts.offsets):  # always read-only, so that kernels are compiled once
        array.setflags(write=False)
    names, places = _names(_dropped(config))
    halves, there = _digests(
        texts.buffer,
        texts.offsets,
        CLASSES,
        (config.scheme, config.www, config.slashes, config.tracking, config.sessions, config.sort_query, config.routes),
        names,
        places,
        urls.MAX_URL_CHARACTERS,
    )
    odd = np.flatnonzero(~there)
    if len(odd):
        spelt = [canonical_url(url, config) for url in texts.array.take(pa.array(odd)).to_pylist()]
        read = odd[[url is not None for url in spelt]]
        halves[read] = _digests_of_strings([url for url in spelt if url is not None])
        there[read] = True
    columns = [pa.array(np.where(there, "ok", NOT_AN_ADDRESS), pa.string()), digest_column(halves, there)]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _digests_of_strings(spelt: Sequence[str]) -> Halves:
    return digests_of(texts_of(pa.array(spelt, pa.large_string())))


OPERATOR = TextOperator(
    name=NAME,
    version=VERSION,
    summary="digest of the page's address, equal for addresses of the same page",
    config=CanonicalConfig,
    reads=lambda _config: (URL,),
    writes=lambda _config: WRITES,
    load=lambda config, _assets: partial(canonical, config=config),
    needs=(URL,),
    reasons=(NOT_AN_ADDRESS,),
)
