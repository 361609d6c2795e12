"""Validate a model's spans and convert them to bytes.

A model may return anything; no invalid span may result. Models count characters, spans count bytes. Marks that belong
to the last character of a span, such as separate accents, are included.
"""

import operator
import unicodedata
from collections.abc import Iterable, Set
from itertools import pairwise
from typing import TypeAlias

ByteSpan: TypeAlias = tuple[int, int, str]
"""Start and end in the UTF-8 of a text (half-open), and the kind."""

_JOINER = "\u200d"


def byte_spans(text: str, found: Iterable[object], kinds: Set[str]) -> list[ByteSpan] | None:
    """The sorted spans in bytes; None if one is invalid: not numbers, outside the text, empty or overlapping."""
    spans = []
    for one in found:
        if not isinstance(one, tuple | list) or len(one) != 3 or not isinstance(one[2], str) or one[2] not in kinds:
            return None
        start, end = _place(one[0]), _place(one[1])
        if start is None or end is None or not 0 <= start < end <= len(text):
            return None
        spans.append((start, end, str(one[2])))
    spans.sort()
    if any(later[0] < former[1] for former, later in pairwise(spans)):
        return None
    return spans if text.isascii() else _in_bytes(text, spans)


def _place(value: object) -> int | None:
    """Read an integer, also of numpy's types, but not a boolean."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _in_bytes(text: str, spans: list[ByteSpan]) -> list[ByteSpan]:
    found, at, reached = [], 0, 0  # characters and bytes so far: the text is read once
    for number, (start, end, kind) in enumerate(spans):
        limit = spans[number + 1][0] if number + 1 < len(spans) else len(text)
        while end < limit and _belongs(text, end):
            end += 1
        first = reached + len(text[at:start].encode())
        last = first + len(text[start:end].encode())
        found.append((first, last, kind))
        at, reached = end, last
    return found


def _belongs(text: str, at: int) -> bool:
    """Whether a character extends the one before it."""
    character = text[at]
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or _JOINER in (character, text[at - 1])
