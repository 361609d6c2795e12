"""The wiring of ingest: task lists in, commits out. Elements are task descriptions, never rows."""

from collections.abc import Iterator

import apache_beam as beam
import orjson
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.ingest.context import IngestContext
from winnow.pipelines.ingest.records import FilePart
from winnow.pipelines.ingest.reread import ExtractionTask, extract_shard
from winnow.pipelines.ingest.task import run_task
from winnow.pipelines.ledger.intake import IngestTask, TaskFile
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.worker import Heart, settle
from winnow.schemas.identity import Json, canonical_json, content_name


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

    def process(self, element: str) -> Iterator[bytes]:
        """One element a task."""
        yield from self._objects.read(element).splitlines()


class RunIngest(beam.DoFn):
    """An ingest task → the name of its commit."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: bytes) -> Iterator[str]:
        """Runs the task unless it is committed; safe to repeat."""
        task = ingest_task(element)
        heart = Heart(self._context.store.objects, layout.SAMPLES, task.name)
        try:
            commit = run_task(self._context, task, heart)
        finally:
            heart.stop()
        yield commit.task


class RunExtraction(beam.DoFn):
    """A committed shard and a layer that it lacks → the name of the layer's commit."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: bytes) -> Iterator[str]:
        """Reads the shard's records again by reference."""
        task = ExtractionTask.from_json(element)
        heart = Heart(self._context.store.objects, task.layer, task.shard)
        try:
            extract_shard(self._context, task, heart)
        finally:
            heart.stop()
        yield task.shard


class RunTasks(beam.PTransform[PBegin, PCollection[str]]):
    """The tasks of a list, spread over the workers: `list path → names of what was committed`."""

    def __init__(self, objects: ObjectStore, path: str, runner: beam.DoFn) -> None:
        super().__init__()
        self._objects = objects
        self._path = path
        self._runner = runner

    def expand(self, pbegin: PBegin) -> PCollection[str]:
        """One fused read, one reshuffle so that tasks spread, one fused run."""
        committed: PCollection[str] = (
            pbegin
            | "TaskList" >> beam.Create([self._path], reshuffle=False)
            | "ReadTasks" >> beam.ParDo(ReadTasks(self._objects)).with_output_types(bytes)
            | "Spread" >> beam.Reshuffle().with_output_types(bytes)
            | "RunTask" >> beam.ParDo(self._runner).with_output_types(str)
            # What was committed comes back through Beam: FnApiRunner notices a dead worker only by the output it owes.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return committed


def ingest_task(element: bytes) -> IngestTask:
    """A task from its line in a task list."""
    fields = orjson.loads(element)
    files = (TaskFile(FilePart(path, size, start, end), version) for path, size, start, end, version in fields["files"])
    return IngestTask(fields["name"], fields["source"], tuple(files))


def ingest_element(task: IngestTask) -> bytes:
    """A task's line in a task list."""
    files: list[Json] = [
        [file.part.path, file.part.size, file.part.start, file.part.end, file.version] for file in task.files
    ]
    return canonical_json({"name": task.name, "source": task.source, "files": files}).encode()
