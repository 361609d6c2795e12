"""Task lists, which every stage runs alike: a list is written down, read by a worker, and its tasks are spread.

Elements are task descriptions, never rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Self, cast

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import canonical_json, content_name


class TaskLine:
    """A task as a line of a task list; for dataclasses whose fields JSON knows."""

    __slots__ = ()

    @classmethod
    def from_json(cls, raw: bytes) -> Self:
        """From its line."""
        return msgspec.json.decode(raw, type=cls)

    def to_json(self) -> bytes:
        """Its line."""
        return canonical_json(asdict(cast(Any, self))).encode()


def put_task_list(objects: ObjectStore, stage: str, tasks: list[bytes]) -> str:
    """Write a stage's tasks down, a line each; returns the object's path."""
    raw = b"\n".join(tasks)
    path = f"{layout.TASK_LISTS}{stage}/{content_name(raw)}.jsonl"
    objects.put_if_absent(path, raw)
    return path


class ReadTasks(beam.DoFn):
    """The path of a task list → its tasks. A list is data that a worker reads, never a constant of the graph."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._driver = versions_here()

    def process(self, element: str) -> Iterator[bytes]:
        """One element a task."""
        # Not in `setup`: Beam's Java side waits three minutes for a worker that fails before it has asked for data.
        require_like_driver(self._driver)
        yield from self._objects.read(element).splitlines()


class RunTasks(beam.PTransform[PBegin, PCollection[str]]):
    """The tasks of a list, spread over the workers: `list path → names of what was committed`."""

    def __init__(
        self, objects: ObjectStore, path: str, runner: beam.DoFn, hints: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._objects = objects
        self._path = path
        self._runner = runner
        self._hints = dict(hints or {})

    def expand(self, pbegin: PBegin) -> PCollection[str]:
        """One fused read, one reshuffle so that tasks spread, one fused run."""
        committed: PCollection[str] = (
            pbegin
            | "TaskList" >> beam.Create([self._path], reshuffle=False)
            | "ReadTasks" >> beam.ParDo(ReadTasks(self._objects)).with_output_types(bytes)
            | "Spread" >> beam.Reshuffle().with_output_types(bytes)
            | "RunTask" >> beam.ParDo(self._runner).with_output_types(str).with_resource_hints(**self._hints)
            # What was committed comes back through Beam: FnApiRunner notices a dead worker only by the output it owes.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return committed
