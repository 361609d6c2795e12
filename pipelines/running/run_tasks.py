"""Runs a task list on Beam, the same for every stage: a worker reads the list, and its tasks are spread.

What is spread is where in the list each task is described, never rows: Beam's local runner keeps all of it in the
driver's memory, several times over.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Final

import apache_beam as beam
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.running.on_node import OnNode, naming_host
from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.integrity.damage import damaged
from winnow.schemas.identity import content_hash

_PLACE: Final = struct.Struct("<QL8s")  # a line's start and length, and its hash


class ReadTasks(beam.DoFn):
    """The path of a task list → the places of its lines. Lists are data that workers read, no constants of a graph."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._driver = versions_here()

    def process(self, element: str) -> Iterator[bytes]:
        """Yields one element per task."""
        # Not in `setup`: Beam's Java side waits three minutes for a worker that fails before it has asked for data.
        require_like_driver(self._driver)
        start = 0
        for line in read_content(self._objects, element).splitlines():
            yield _PLACE.pack(start, len(line), content_hash(line).digest())
            start += len(line) + 1


class LoadTask(beam.DoFn):
    """The place of a line → the line, which describes a task."""

    def __init__(self, objects: ObjectStore, path: str) -> None:
        self._objects = objects
        self._path = path
        self._driver = versions_here()

    def process(self, element: bytes) -> Iterator[bytes]:
        """Reads it, and nothing else of the list."""
        start, length, digest = _PLACE.unpack(element)
        with naming_host(self._driver):
            line = self._objects.read(self._path, start, length)
            if content_hash(line).digest() != digest:
                raise damaged(self._objects.root, self._path, f"the line at {start} has another hash")
        yield line


class SpreadTasks(beam.PTransform[PBegin, PCollection[bytes]]):
    """The lines of a list, spread over the workers."""

    def __init__(self, objects: ObjectStore, path: str, hints: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._objects = objects
        self._path = path
        self._hints = dict(hints or {})

    def expand(self, pbegin: PBegin) -> PCollection[bytes]:
        """One fused read, and one reshuffle."""
        load = beam.ParDo(LoadTask(self._objects, self._path)).with_output_types(bytes)
        lines: PCollection[bytes] = (
            pbegin
            | "TaskList" >> beam.Create([self._path], reshuffle=False)
            | "ReadTasks" >> beam.ParDo(ReadTasks(self._objects)).with_output_types(bytes)
            | "Spread" >> beam.Reshuffle().with_output_types(bytes)
            | "LoadTask" >> load.with_resource_hints(**self._hints)
        )
        return lines


class RunTasks(beam.PTransform[PBegin, PCollection[str]]):
    """Spreads the tasks of a list over the workers: `list path → names of committed tasks`."""

    def __init__(
        self, objects: ObjectStore, path: str, runner: beam.DoFn, hints: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._tasks = SpreadTasks(objects, path, hints)
        self._runner = runner
        self._hints = dict(hints or {})

    def expand(self, pbegin: PBegin) -> PCollection[str]:
        """One fused run of the tasks that were spread."""
        committed: PCollection[str] = (
            pbegin
            | "Tasks" >> self._tasks
            | "RunTask" >> beam.ParDo(OnNode(self._runner)).with_output_types(str).with_resource_hints(**self._hints)
            # What was committed comes back through Beam: FnApiRunner notices a dead worker only by missing output.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return committed
