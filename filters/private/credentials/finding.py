"""Find the credentials in a column of texts, by formats, blocks and assignments."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.credentials.assignments import ANCHORS as ASSIGNED
from winnow.filters.private.credentials.assignments import (
    NAME,
    URL,
    assignment,
    kind_of_assignment,
    kind_of_userinfo,
    userinfo,
)
from winnow.filters.private.credentials.blocks import ANCHORS as BLOCKS
from winnow.filters.private.credentials.blocks import PEM, PUTTY, block_at
from winnow.filters.private.credentials.checks import checked
from winnow.filters.private.credentials.formats import FORMATS, Format
from winnow.filters.private.credentials.scan import Tables, hits_in_pieces, tables_of

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
    tables, found, full = _tables(settings), dict[int, set[Credential]](), set[int]()
    for hits in hits_in_pieces(texts, tables):  # rare in ordinary texts
        for one in _found(texts, tables, hits.tolist(), full):
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


def _found(texts: Texts, tables: Tables, hits: list[list[int]], full: set[int]) -> Iterator[Credential]:
    """The credentials at the hits of texts that are not full."""
    text, block_of, read = texts.buffer.data, lru_cache(maxsize=1)(partial(_block_text, texts)), -1
    seen, begin, end = -1, 0, 0
    for row, at, stop, route in hits:
        if row != read:
            read, (begin, end) = row, texts.offsets[row : row + 2].tolist()
        if row in full:
            continue
        kind, start, last = None, begin, begin
        if route >= 0:
            if around := tables.formats[route].around(text, at, stop, begin, end):
                kind, start, last = _token(text, *around, FORMATS[route])
        elif ~route in (PEM, PUTTY):
            start, last = block_at(block_of(row), at - begin, ~route)
            kind, start, last = "private_key" if start < last else None, begin + start, begin + last
        elif ~route == NAME:
            one = assignment(text, at, stop, begin, end)
            if one and one.start != seen:  # as `secret_token`, found twice
                seen = start = one.start
                last = one.end
                kind = kind_of_assignment(
                    _written(text, one.first, one.last), _written(text, start, last), one.operator
                )
        elif one := userinfo(text, stop, end):
            host = _written(text, one.end + 1, min(one.end + 256, end)).split("/", 1)[0].split(":")[0]
            start, last = one.first, one.end
            kind = kind_of_userinfo(_written(text, start, one.last), _written(text, one.start, last), host)
        if kind is not None:
            yield Credential(row, start - begin, last - begin, kind)


def _written(text: memoryview, start: int, end: int) -> str:
    return bytes(text[start:end]).decode("utf-8", "replace")


def _block_text(texts: Texts, row: int) -> bytes:
    return texts.buffer[texts.offsets[row] : texts.offsets[row + 1]].tobytes()


def _token(text: memoryview, start: int, end: int, form: Format) -> tuple[str | None, int, int]:
    """The kind of a token and where it is, if its check holds."""
    found = _written(text, start, end)
    token = checked(form.check, found, next((one for one in form.literals if one in found), ""))
    first = start + found.index(token) if token else start
    return (form.kind if token else None), first, first + len(token or "")
