"""Collects what a response and its page say about permitted use, unchanged but bounded, for operators to read."""

from collections.abc import Iterable, Mapping
from typing import Final

from winnow.filters.extraction.meta_elements import opt_out_elements
from winnow.pipelines.ingest.archives.http import Fields, decode_field
from winnow.schemas.identity import Json
from winnow.schemas.rows.opt_out import CUT, HEADER_NAMES, HEADERS, MAX_CHARACTERS, MAX_VALUES, META

OPT_OUT_FIELDS: Final = tuple(name.encode("ascii") for name in HEADER_NAMES)


def of_headers(fields: Fields) -> dict[str, Json]:
    """The statements in a response's header; empty if it makes none."""
    raw = ((name, value) for name in OPT_OUT_FIELDS for value in fields.get(name, ()))
    # A character takes at most four bytes, so a megabyte value is cut before it is decoded.
    values = ((name, value[: 4 * MAX_CHARACTERS], len(value) > 4 * MAX_CHARACTERS) for name, value in raw)
    return _bounded(HEADERS, ((name.decode("ascii"), decode_field(value), cut) for name, value, cut in values))


def with_metas(statements: Json, html: str) -> Json:
    """Adds the statements of a page's `<meta>` elements to those of its response."""
    found = _bounded(META, opt_out_elements(html))
    if not found[META]:
        return statements
    return {**(statements if isinstance(statements, Mapping) else {}), **found}


def _bounded(where: str, statements: Iterable[tuple[str, str, bool]]) -> dict[str, Json]:
    """The distinct statements by name, truncated if there are too many."""
    kept: dict[str, dict[str, None]] = {}
    count, cut = 0, False
    for name, value, is_part in statements:
        values = kept.setdefault(name, {})
        short = value[:MAX_CHARACTERS]
        cut |= is_part or len(short) < len(value)
        if short in values:
            continue
        if count == MAX_VALUES:
            cut = True
            break
        values[short] = None
        count += 1
    found: dict[str, Json] = {where: {name: list(values) for name, values in kept.items() if values}}
    return {**found, CUT: True} if cut else found
