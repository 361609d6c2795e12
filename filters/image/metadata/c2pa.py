"""Reads what a C2PA manifest store says: where a picture comes from, and whether it may be mined or trained on.

Signatures are not checked: a statement that nobody vouches for is still one that a crawl should respect. Statements of
every manifest count, also those of pictures that this one was made from. A statement that cannot be read counts as a
refusal.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

import orjson

from winnow.filters.extras import required_package
from winnow.filters.image.metadata.statements import (
    ALLOWED,
    CONSTRAINED,
    MALFORMED,
    NOT_ALLOWED,
    PURPOSES,
    Facts,
    Purpose,
    Statement,
    Use,
    shortened,
)

__all__ = ["c2pa_facts"]

_MOST_BOXES: Final = 4096
_MOST_DEPTH: Final = 16
_MOST_STATEMENTS: Final = 64
_TRAINING: Final = ("c2pa.training-mining", "cawg.training-mining")
_ACTIONS: Final = ("c2pa.actions", "c2pa.actions.v2")
_USES: Final[dict[object, Use]] = {"allowed": ALLOWED, "notAllowed": NOT_ALLOWED, "constrained": CONSTRAINED}


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of a labelled box: its type and bytes."""

    label: str
    kind: bytes
    data: bytes


def c2pa_facts(store: bytes) -> Facts:
    """What a manifest store says."""
    facts = Facts(c2pa=True)
    for content in _contents(store):
        label = content.label.split("__")[0]  # a second assertion of one kind is numbered
        if label in _TRAINING:
            facts.statements += _training(label, _decoded(content))
        elif label in _ACTIONS and facts.source_type is None:
            facts.source_type = _source_type(_decoded(content))
    del facts.statements[_MOST_STATEMENTS:]
    return facts


def _contents(store: bytes) -> Iterator[_Content]:
    """The labelled contents of all boxes, in order; those of a box that claims more than there is end there."""
    looks = 0

    def walk(at: int, end: int, label: str, depth: int) -> Iterator[_Content]:
        nonlocal looks
        while at + 8 <= end and looks < _MOST_BOXES:
            looks += 1
            size, kind = struct.unpack(">I4s", store[at : at + 8])
            start = at + 8
            if size == 1 and start + 8 <= end:
                (size,) = struct.unpack(">Q", store[start : start + 8])
                start += 8
            stop = end if size == 0 else min(at + size, end)
            if stop < start:
                return
            if kind == b"jumb" and depth < _MOST_DEPTH:
                yield from walk(start, stop, "", depth + 1)
            elif kind == b"jumd":
                label = _label(store[start:stop])
            else:
                yield _Content(label, kind, store[start:stop])
            at = stop

    yield from walk(0, len(store), "", 0)


def _label(description: bytes) -> str:
    """The label in a description box: behind a type of 16 bytes and a byte of switches, ended by zero."""
    if len(description) < 17 or not description[16] & 2:
        return ""
    return description[17:].split(b"\0", 1)[0].decode(errors="replace")


def _decoded(content: _Content) -> object:
    """An assertion's value; None if it cannot be read."""
    if content.kind == b"json":
        try:
            return orjson.loads(content.data)
        except orjson.JSONDecodeError:
            return None
    if content.kind != b"cbor":
        return None
    cbor = required_package("reading C2PA assertions", "cbor2", "image")
    try:
        return cbor.loads(content.data, max_depth=64)
    except (cbor.CBORError, ValueError, TypeError, OverflowError, RecursionError):
        return None


def _training(label: str, value: object) -> Iterator[Statement]:
    """The statements of an assertion about training and mining."""
    entries = value.get("entries") if isinstance(value, Mapping) else None
    if not isinstance(entries, Mapping):
        yield Statement("c2pa", label, "", PURPOSES, MALFORMED)
        return
    for name, entry in list(entries.items())[:_MOST_STATEMENTS]:
        short = str(name).rsplit(".", 1)[-1]
        purposes: tuple[Purpose, ...] = tuple(one for one in get_args(Purpose) if one == short) or PURPOSES
        use = entry.get("use") if isinstance(entry, Mapping) else None
        said = _USES.get(use if isinstance(use, str) else None, MALFORMED)
        if purposes is PURPOSES and said == ALLOWED:  # of something that is not known here
            continue
        yield Statement("c2pa", shortened(f"{label}/{name}") or label, str(use or "")[:64], purposes, said)


def _source_type(value: Any) -> str | None:
    """The kind of source that an action names, such as trainedAlgorithmicMedia."""
    actions = value.get("actions") if isinstance(value, Mapping) else None
    for action in actions if isinstance(actions, list) else ():
        named = action.get("digitalSourceType") if isinstance(action, Mapping) else None
        if isinstance(named, str):
            return shortened(named.rstrip("/").rsplit("/", 1)[-1])
    return None
