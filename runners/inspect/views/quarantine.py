"""What ingest could not read: how often for which reason, and where, with the first bytes of each place."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from winnow.pipelines.binding.sources import bind_media
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.runners.inspect.asking import text_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.pages import paged
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.records import TaskCommit

SHOWN_BYTES: Final = 256

_IN_BYTES: Final = ("bytes", "member")  # units whose offset is one in the file


def answer(opened: Opened, asked: Asked) -> Answer:
    """The reasons, and a page of the places of one reason or of all."""
    wanted = text_of(asked, "reason", "")
    counts: Counter[str] = Counter()
    tasks: list[tuple[TaskCommit, int]] = []
    for task in opened.store.each_task(opened.generation):
        counts.update(task.quarantined_by_reason)
        there = {reason: rows for reason, rows in task.quarantined_by_reason.items() if wanted in ("", reason)}
        if there and task.quarantine is not None:
            tasks.append((task, sum(there.values())))
    page, pages, shown = paged(asked, sum(rows for _, rows in tasks))
    sources = _Sources(opened)
    return {
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in counts.most_common()],
        "rows": [sources.described(row) for row in _between(opened, tasks, wanted, shown)],
        "page": page,
        "pages": pages,
    }


Range: TypeAlias = dict[str, Any]
"""A row of the table of quarantined ranges."""


def _between(opened: Opened, tasks: list[tuple[TaskCommit, int]], wanted: str, shown: slice) -> Iterator[Range]:
    """The places with these numbers, in the order of tasks; those of forgotten records quote nothing of them."""
    forgotten = ForgottenRanges.of(opened.store, opened.store.generation_record(opened.generation.number))
    at = 0
    for task, rows in tasks:
        if at < shown.stop and at + rows > shown.start:
            check_cancelled()
            found = (row for batch in forgotten.read(task) for row in batch.to_pylist())
            for number, row in enumerate(row for row in found if wanted in ("", row["reason"])):
                if shown.start <= at + number < shown.stop:
                    yield row
        at += rows


class _Sources:
    """The files that places are in, as far as they are still there."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._forgets = bool(load_hiding(opened.store.objects))
        self._objects: dict[str, ObjectStore | None] = {}

    def described(self, row: Range) -> Answer:
        """A place with its first bytes, in hexadecimal."""
        return {
            "file": row["path"],
            "source": row["source"],
            "offset": row["offset"],
            "length": row["length"],
            "unit": row["unit"],
            "reason": row["reason"],
            "detail": row["detail"],
            "hex": self._read(row).hex(),
        }

    def _read(self, row: Range) -> bytes:
        """Of the file that the recipe's source has under this name; nothing if it cannot be told or read, or may be
        of a forgotten record.
        """
        if (row["record"] is None and not row["detail"]) or (self._forgets and row["unit"] == "member"):
            return b""  # emptied as its record is forgotten, or packed together with others that may be
        objects = self._source(row["source"])
        path = str(row["path"])
        if objects is None or row["unit"] not in _IN_BYTES or path.startswith("/") or ".." in path.split("/"):
            return b""
        most = SHOWN_BYTES if row["unit"] == "member" else min(row["length"], SHOWN_BYTES)
        try:
            return objects.read(path, row["offset"], most)
        except (OSError, WinnowError):  # it may have been moved or changed since
            return b""

    def _source(self, name: str) -> ObjectStore | None:
        if name not in self._objects:
            self._objects[name] = self._bound(name)
        return self._objects[name]

    def _bound(self, name: str) -> ObjectStore | None:
        recipe = self._opened.recipe
        if recipe is None or all(source.name != name for source in recipe.config.sources):
            return None
        try:
            return bind_media(recipe.config, recipe.config.source(name)).objects
        except SourceError:
            return None


VIEW = View(answer)
