"""Runs a task list on Beam, the same for every stage: a worker reads the list, and its tasks are spread.

Elements are task descriptions, never rows.
"""

from collections.abc import Iterator, Mapping

import apache_beam as beam
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.content import read_content


class ReadTasks(beam.DoFn):
    """The path of a task list → its tasks. A list is data that a worker reads, never a constant of the graph."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._driver = versions_here()

    def process(self, element: str) -> Iterator[bytes]:
        """Yields one element per task."""
        # Not in `setup`: Beam's Java side waits three minutes for a worker that fails before it has asked for data.
        require_like_driver(self._driver)
        yield from read_content(self._objects, element).splitlines()


class RunTasks(beam.PTransform[PBegin, PCollection[str]]):
    """Spreads the tasks of a list over the workers: `list path → names of what was committed`."""

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
            # What was committed comes back through Beam: FnApiRunner notices a dead worker only by missing output.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return committed
