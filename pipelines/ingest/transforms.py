"""The Beam transforms of ingest: a task in, the name of its commit out."""

from collections.abc import Iterator

import apache_beam as beam
import orjson

from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.ingest.reread import ExtractionTask, extract_shard
from winnow.pipelines.ingest.task import run_task
from winnow.pipelines.running.counters import DROPPED, QUARANTINED, READ, ROWS, count, count_each
from winnow.pipelines.running.ledger.ingest_tasks import IngestTask, TaskFile
from winnow.pipelines.running.worker import HeartbeatWriter, prepare_worker
from winnow.pipelines.store import layout
from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.records import FilePart


class RunIngest(beam.DoFn):
    """An ingest task → the name of its commit."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context

    def setup(self) -> None:
        """Runs once per process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Runs the task unless it is committed; safe to repeat."""
        task = ingest_task(element)
        key = self._context.sources[task.source].key(self._context.limits)
        with HeartbeatWriter(self._context.store.objects, layout.task_commit(key, task.name)) as heartbeat:
            commit = run_task(self._context, task, heartbeat)
        count(ROWS, commit.kept)
        count(READ, commit.input_bytes)
        count_each(DROPPED, commit.dropped_by_reason)
        count_each(QUARANTINED, commit.quarantined_by_reason)
        yield commit.task


class RunExtraction(RunIngest):
    """A committed shard and a layer that it lacks → the shard's name."""

    def process(self, element: bytes) -> Iterator[str]:
        """Reads the shard's records again by reference."""
        task = ExtractionTask.from_json(element)
        with HeartbeatWriter(self._context.store.objects, task.commit) as heartbeat:
            extract_shard(self._context, task, heartbeat)
        yield task.shard


def ingest_task(element: bytes) -> IngestTask:
    """Parses a task from its line in a task list."""
    fields = orjson.loads(element)
    files = (TaskFile(FilePart(path, size, start, end), version) for path, size, start, end, version in fields["files"])
    return IngestTask(fields["name"], fields["source"], tuple(files))


def ingest_element(task: IngestTask) -> bytes:
    """Formats a task as a line in a task list."""
    files: list[Json] = [
        [file.part.path, file.part.size, file.part.start, file.part.end, file.version] for file in task.files
    ]
    return canonical_json({"name": task.name, "source": task.source, "files": files}).encode()
