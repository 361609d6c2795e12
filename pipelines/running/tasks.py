"""Tasks as lines of a task list, which every stage writes before its pipeline starts."""

import io
from collections.abc import Iterable
from typing import Self

import msgspec

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import content_name


class TaskLine:
    """A task as a line of a task list, for dataclasses with JSON-compatible fields."""

    __slots__ = ()

    @classmethod
    def from_json(cls, raw: bytes) -> Self:
        """Parses its line."""
        return msgspec.json.decode(raw, type=cls)

    def to_json(self) -> bytes:
        """Formats its line."""
        return line_of(self)


_SORTED = msgspec.json.Encoder(order="sorted")


def line_of(task: object) -> bytes:
    """A dataclass as a line: its canonical JSON, without the copy by `asdict`, which takes far longer.

    Large and small floats are written otherwise than `canonical_json` does, and read back the same.
    """
    return _SORTED.encode(task)


def joined_lines(lines: Iterable[bytes]) -> bytes:
    """Lines in one text; they need not be in memory together."""
    text = io.BytesIO()
    for number, line in enumerate(lines):
        text.write(b"\n" + line if number else line)
    return text.getvalue()


def put_task_list(objects: ObjectStore, stage: str, tasks: Iterable[bytes], folder: str = layout.TASK_LISTS) -> str:
    """Writes a stage's tasks, one line each; returns the object's path."""
    raw = joined_lines(tasks)
    path = f"{folder}{stage}/{content_name(raw)}.jsonl"
    objects.put_if_absent(path, raw)
    return path
