"""Find the credentials in a column of texts, by formats, blocks and assignments."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.credentials.assignments import ANCHORS as ASSIGNED
from winnow.filters.private.credentials.assignments import (
    NAME,
    URL,
    assignments,
    kind_of_assignment,
    kind_of_userinfo,
)
from winnow.filters.private.credentials.blocks import ANCHORS as BLOCKS
from winnow.filters.private.credentials.blocks import PEM, PUTTY, block_at
from winnow.filters.private.credentials.checks import checked
from winnow.filters.private.credentials.formats import FORMATS
from winnow.filters.private.credentials.scan import Hits, Tables, scan_in_pieces, tables_of

_OF_NAMES = ("aws_secret_key", "ibm_cos_secret", "cloudant_credential", "softlayer_key", "ibm_cloud_key")


@dataclass(frozen=True, slots=True)
class Settings:
    """What to detect besides tokens of known formats and private keys."""

    assigned: bool = True  # values assigned to names such as `password`
    urls: bool = True  # passwords in URLs
    max_spans: int = 100_000  # per text: texts with more are not searched to the end


@dataclass(frozen=True, slots=True, order=True)
class Credential:
    """One credential: a byte range of a text, half-open."""

    row: int
    start: int
    end: int
    kind: str


def kinds() -> tuple[str, ...]:
    """All kinds of credentials."""
    return tuple(sorted({*(form.kind for form in FORMATS), *_OF_NAMES, "private_key", "basic_auth", "assigned_secret"}))


@lru_cache(maxsize=4)
def _tables(settings: Settings) -> Tables:
    wanted = {NAME: settings.assigned, URL: settings.urls}
    return tables_of(FORMATS, (*BLOCKS, *(one for one in ASSIGNED if wanted[one.route])))


def credentials(texts: Texts, settings: Settings) -> tuple[list[Credential], frozenset[int]]:
    """The credentials in text order, and the texts with too many.

    Byte ranges do not overlap: overlapping ones are merged, with the kind of the longest.
    """
    found: dict[int, set[Credential]] = {}
    full: set[int] = set()
    for hits in scan_in_pieces(texts, _tables(settings)):
        if full:
            hits = hits.only(~np.isin(hits.rows, list(full)))
        # Matches that reach Python are rare in ordinary texts, and bounded in all.
        for one in (*_tokens(texts, hits), *_blocks(texts, hits), *_assigned(texts, hits)):
            of_row = found.setdefault(one.row, set())
            of_row.add(one)
            if len(of_row) > settings.max_spans:
                full.add(one.row)
    kept = [one for row in sorted(found.keys() - full) for one in _joined(sorted(found[row]))]
    return kept, frozenset(full)


def _joined(found: list[Credential]) -> Iterator[Credential]:
    """Merge overlapping ranges of an ordered list. In a tie of length, a format's kind wins over a name's."""
    run: list[Credential] = []
    end = 0
    for one in [*found, None]:
        if one is None or (run and one.start >= end):
            longest = max(run, key=lambda each: (each.end - each.start, each.kind != "assigned_secret", each.kind))
            yield Credential(longest.row, run[0].start, end, longest.kind)
            run = []
        if one is not None:
            run.append(one)
            end = max(end, one.end) if len(run) > 1 else one.end


def _text(texts: Texts, start: int, end: int) -> str:
    return texts.buffer[start:end].tobytes().decode("utf-8", "replace")


def _tokens(texts: Texts, hits: Hits) -> Iterator[Credential]:
    for at in np.flatnonzero(hits.formats >= 0):
        row, start, form = int(hits.rows[at]), int(hits.starts[at]), FORMATS[hits.formats[at]]
        found = _text(texts, start, int(hits.ends[at]))
        literal = next((one for one in form.literals if one in found), "")
        token = checked(form.check, found, literal)
        if token:
            first = start + found.index(token) - int(texts.offsets[row])
            yield Credential(row, first, first + len(token), form.kind)


def _blocks(texts: Texts, hits: Hits) -> Iterator[Credential]:
    chosen = np.flatnonzero((hits.formats == ~PEM) | (hits.formats == ~PUTTY))
    read, text, begin = -1, b"", 0
    for row, place, route in zip(hits.rows[chosen], hits.starts[chosen], ~hits.formats[chosen], strict=True):
        if row != read:
            begin, stop = texts.offsets[row : row + 2].tolist()
            read, text = row, texts.buffer[begin:stop].tobytes()
        start, end = block_at(text, int(place) - begin, int(route))
        if start < end:
            yield Credential(int(row), start, end, "private_key")


def _assigned(texts: Texts, hits: Hits) -> Iterator[Credential]:
    chosen = np.flatnonzero((hits.formats == ~NAME) | (hits.formats == ~URL))
    rows, routes = hits.rows[chosen], ~hits.formats[chosen]
    places = assignments(texts.buffer, texts.offsets, rows, hits.starts[chosen], hits.ends[chosen], routes)
    solid = np.flatnonzero(places[:, 2] < places[:, 3])
    seen = -1
    for at in solid:
        row, route = int(rows[at]), routes[at]
        first, last, start, end, operator = map(int, places[at])
        if route == NAME and start == seen:  # as `secret_token`, found twice
            continue
        name, value = _text(texts, first, last), _text(texts, start, end)
        begin = int(texts.offsets[row])
        if route == URL:
            host = _text(texts, end + 1, min(end + 256, int(texts.offsets[row + 1]))).split("/", 1)[0].split(":")[0]
            kind = kind_of_userinfo(name, value, host)
            start = first
        else:
            seen = start
            kind = kind_of_assignment(name, value, operator)
        if kind is not None:
            yield Credential(row, start - begin, end - begin, kind)
