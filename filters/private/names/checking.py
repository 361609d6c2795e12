"""What a model says of a text, checked and turned into bytes.

A model may say anything; no span may come of it that is none. It counts characters, spans count bytes. Marks that
belong to the last character of a span, such as accents of their own, go with it.
"""

import operator
import unicodedata
from collections.abc import Iterable, Set
from itertools import pairwise
from typing import TypeAlias

ByteSpan: TypeAlias = tuple[int, int, str]
"""Where something begins and ends in the UTF-8 of a text, half-open; and its kind."""

_JOINER = "\u200d"


def byte_spans(text: str, found: Iterable[object], kinds: Set[str]) -> list[ByteSpan] | None:
    """The spans in order, in bytes; None where one is none: no numbers, outside of the text, empty or over another."""
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
    """A whole number, of numpy's kinds too; a truth value is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _in_bytes(text: str, spans: list[ByteSpan]) -> list[ByteSpan]:
    found, at, reached = [], 0, 0  # characters and bytes so far: the text is gone through once
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
    """Whether a character is part of what stands before it."""
    character = text[at]
    return unicodedata.category(character) in ("Mn", "Me", "Mc") or _JOINER in (character, text[at - 1])
