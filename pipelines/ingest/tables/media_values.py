"""What the media column of a row holds: the bytes of media, or the names of files below the source's root.

A value is a string (a name), bytes (a name or a medium), a struct of `bytes` and `path` as Hugging Face's `Image`
feature writes it, or a list of these. Bytes with a zero among them, or more of them than any path has, are a medium: no
file can have such a name, and a picture begins with a header that has zeros. So are none at all, but an empty one.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from winnow.pipelines.ingest.records import Record, Span, Unreadable
from winnow.pipelines.ingest.tables.values import Binary
from winnow.pipelines.store.names import object_name
from winnow.schemas.identity import Json

EXPECTED_MEDIA: Final = "the path of a file, its bytes, or a list of these"
MOST_MEDIA: Final = 1024  # of a row
LONGEST_NAME: Final = 4096  # PATH_MAX

_BYTES, _PATH = "bytes", "path"


@dataclass(frozen=True, slots=True)
class RowMedia:
    """The media of a row."""

    items: tuple[Record, ...]
    rest: Json  # what the column says besides; None if nothing
    absent: int = 0  # entries of a list that hold nothing


@dataclass(frozen=True, slots=True)
class BadMedia:
    """Why a row's media cannot be used."""

    reason: str
    detail: str


class _WrongError(Exception):
    """A value that is no medium."""


def row_media(value: Json, column: str, span: Span, container: str, path: str) -> RowMedia | BadMedia:
    """The media in a column's value. `path` is the table's path from the source's root, to which names are relative."""
    place = f"column {column!r}"
    several = isinstance(value, list)
    values = value if isinstance(value, list) else [value]
    if len(values) > MOST_MEDIA:
        return BadMedia("too_large", f"{place} holds a list of {len(values)}, the limit is {MOST_MEDIA}")
    items: list[Record] = []
    rest: list[Json] = []
    for number, one in enumerate(values):
        item = Record(span, f"{column}[{number}]" if several else column, container)
        other, is_medium = _fill(item, one, place, path)
        rest.append(other)
        if is_medium:
            items.append(item)
    other = None if all(one is None for one in rest) else rest if several else rest[0]
    return RowMedia(tuple(items), other, len(values) - len(items) if several else 0)


def _fill(item: Record, value: Json, place: str, path: str) -> tuple[Json, bool]:
    """Fills an item with the medium of a value, or with its error; returns the rest of the value, and whether it has a
    medium."""
    try:
        held, other = _content(value)
    except _WrongError as error:
        item.flaw = _flaw(item, "wrong_type", f"{place} holds {error}, expected {EXPECTED_MEDIA}")
        return value, True
    if isinstance(held, bytes):
        item.body, item.body_bytes = held, len(held)
    elif held is not None:
        item.names = beside(path, held)
    if held is not None and not held:
        item.flaw = _flaw(item, "missing_media", f"{item.key}: empty")
    elif isinstance(held, str) and item.names is None:
        item.flaw = _flaw(item, "missing_media", f"{place}: {held!r}: expected a path below the source's root")
    return other, held is not None


def _flaw(item: Record, reason: str, detail: str) -> Unreadable:
    return Unreadable(item.span, reason, detail[:200])


def medium_of(value: Json, number: int | None) -> bytes | None:
    """The bytes of a medium in a value, of a list the one with this number; None if there are none."""
    if number is not None:
        value = value[number] if isinstance(value, list) and number < len(value) else None
    try:
        held, _ = _content(value)
    except _WrongError:
        return None
    return held if isinstance(held, bytes) else None


def is_media(value: Json) -> bool:
    """Whether a value, or each of a list, is of a type that can be a medium."""
    return all(
        one is None or isinstance(one, str | Binary) or (isinstance(one, Mapping) and not one.keys().isdisjoint(_KEYS))
        for one in (value if isinstance(value, list) else [value])
    )


def beside(path: str, named: str) -> str | None:
    """Resolves a path relative to the folder of `path`, from the source's root; None if it leaves the source.

    An absolute one stays so: whether it is below the root is known where files are opened.
    """
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), named))
    outside = found in (".", "..", "/") or found.startswith(("//", "../"))
    return None if outside or not named or "\0" in named or "://" in named else found


_KEYS: Final = frozenset((_BYTES, _PATH))


def _content(value: Json) -> tuple[bytes | str | None, Json]:
    """A medium's bytes or name, None for no medium; and what the value says besides."""
    if isinstance(value, Binary):
        if not value.raw or len(value.raw) > LONGEST_NAME or b"\0" in value.raw:
            return value.raw, None
        return object_name(value.raw), None
    if value is None:
        return None, None
    if isinstance(value, str):
        return object_name(value.encode("utf-8", "surrogatepass")), None
    if not isinstance(value, Mapping):
        raise _WrongError(kind_of_value(value))
    if value.keys().isdisjoint(_KEYS):
        raise _WrongError("an object without 'bytes' and 'path'")
    held, named = value.get(_BYTES), value.get(_PATH)
    if isinstance(named, Binary):
        named = object_name(named.raw)
    if not isinstance(held, Binary | None):
        raise _WrongError(f"{kind_of_value(held)} as 'bytes'")
    if not isinstance(named, str | None):
        raise _WrongError(f"{kind_of_value(named)} as 'path'")
    taken = _BYTES if held is not None else _PATH
    other = {name: one for name, one in value.items() if name not in (taken, _BYTES) and one is not None}
    return (held.raw if held is not None else named or None), other or None


def kind_of_value(value: Json) -> str:
    """What to call a value of the wrong type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Binary):
        return "bytes"
    if isinstance(value, Mapping):
        return "an object"
    return "a string" if isinstance(value, str) else "a list"
