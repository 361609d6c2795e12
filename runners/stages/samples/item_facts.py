"""The facts that `winnow show` prints about a sample's media and captions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winnow.pipelines.ingest.unusable_media import unread_of
from winnow.runners.tables.quantities import grouped

SHOTS = "video.shots"
"""The layer that knows where the shots of videos are."""

MOST_VALUES = 8
"""How many values of a list are shown."""

CAPTION_CHARACTERS = 200


def media_lines(media: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Two lines for each item: what it is, and where its bytes are; only the first of many items."""
    for medium in media[:MOST_VALUES]:
        yield "medium", ", ".join(_content(medium))
        yield "", ", ".join(_place(medium))
    yield from _rest(len(media), "media")


def _content(medium: Mapping[str, Any]) -> Iterator[str]:
    yield medium["mime"]
    if medium["width"] is not None:
        yield f"{medium['width']} × {medium['height']}"
    if medium["bytes"] is not None:
        yield f"{grouped(medium['bytes'])} bytes"
    if medium["sha256"] is not None:
        yield f"sha256 {medium['sha256']}"


def _place(medium: Mapping[str, Any]) -> Iterator[str]:
    for name in ("orientation", "frames", "seconds"):
        if medium.get(name) is not None:
            yield f"{name} {medium[name]:g}"
    ref = medium["ref"]
    yield f"{ref['container']} {ref['path']} at {grouped(ref['offset'])} + {grouped(ref['length'])}"
    if ref["member"] is not None:
        yield f"member {ref['member']}"
    part = medium.get("clip")
    if part is not None:
        first, end = (part[name] * part["numerator"] / part["denominator"] for name in ("start", "end"))
        yield f"{first:.2f} to {end:.2f} s of {part['of']}"


def shot_lines(begins: Sequence[Sequence[float] | None] | None) -> Iterator[tuple[str, str]]:
    """A line for each video whose shots are known: how many there are, and where they begin."""
    for times in begins or ():
        if times:
            rest = ", …" if len(times) > MOST_VALUES else ""
            shown = ", ".join(f"{time:.2f}" for time in times[:MOST_VALUES])
            yield "shots", f"{grouped(len(times))}, beginning at {shown}{rest} s"


def caption_lines(captions: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """A line for each caption, with where it comes from and the language that its source names."""
    for caption in captions[:MOST_VALUES]:
        text, origin = caption["text"], [caption["origin"], *([caption["language"]] if caption["language"] else [])]
        cut = text if len(text) <= CAPTION_CHARACTERS else text[:CAPTION_CHARACTERS] + "…"
        yield "caption", f"{cut}  ({', '.join(origin)})"
    yield from _rest(len(captions), "captions")


def unread_lines(metadata: str, items: int) -> Iterator[tuple[str, str]]:
    """A line for each sidecar and item that ingest could not use, with the reason; other metadata is not shown.

    `items`: how many media the sample has: without any, the key is a column of the source's own.
    """
    found = unread_of(json.loads(metadata), items) if items else []
    for name, why in found[:MOST_VALUES]:
        yield "unread", f"{name}: {why}"[:CAPTION_CHARACTERS]
    yield from _rest(len(found), "unread")


def _rest(count: int, what: str) -> Iterator[tuple[str, str]]:
    if count > MOST_VALUES:
        yield "", f"and {grouped(count - MOST_VALUES)} more {what} (--json shows all)"


def measure(value: object, most: int) -> str | None:
    """A measured value on a line, or None if it does not fit: structures, and vectors of numbers."""
    if isinstance(value, list):
        shown = [measure(one, most) for one in value[:MOST_VALUES]]
        if any(isinstance(one, list) or text is None for one, text in zip(value, shown, strict=False)):
            return None
        rest = f", … {grouped(len(value))} in all" if len(value) > MOST_VALUES else ""
        return f"[{', '.join(text for text in shown if text is not None)}{rest}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return grouped(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bytes | str):
        text = value.hex() if isinstance(value, bytes) else value
        return text if len(text) <= most else text[:most] + "…"
    return None
