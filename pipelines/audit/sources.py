"""Checks that every byte, line and row of the sources is accounted for, independently of the readers.

For each file, the ranges that became rows, were dropped or were quarantined are combined and compared with
the file as it is: archives and tars member by member, JSON lines by their newlines, tables by their footers (law 3).
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.ingest.boundary import READER_FAILED, failure, is_of_content
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.records import ReadLimits, Span
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, TasksAt, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.counts import count_of
from winnow.schemas.identity import content_name
from winnow.schemas.records import TaskCommit

CLAIMS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("unit", pa.string()),
        pa.field("member", pa.int32()),
        pa.field("readable", pa.bool_()),
        pa.field("failed", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class SourcesTask(TaskLine):
    """Some files of a source: the ingest tasks that read a file in parts, or a batch of whole files, together."""

    source: str
    groups: tuple[tuple[TaskCommit, ...], ...]


@dataclass(slots=True)
class SourcesFound:
    """What was found in the files of a task."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0  # in which every range is accounted for
    bytes: int = 0


def check_files(context: IngestContext, task: SourcesTask) -> SourcesFound:
    """Compares the claims on each file with the file."""
    found = SourcesFound()
    source = context.sources[task.source]
    for group in task.groups:
        try:
            claims = _claims(context.store.objects, group)
        except (DamagedError, MissingError) as error:
            found.problems.append(str(error))
            continue
        sizes = {part.path: part.size for commit in group for part in commit.inputs}
        for path, expected in sorted(sizes.items()):
            spans = claims.filter(pc.equal(claims["path"], path))
            if _check_file(source, path, expected, spans, context.limits, found):
                found.files += 1
                found.bytes += expected
    return found


class SourcesCheck:
    """Checks every file of every source in the recipe."""

    def __init__(self, context: IngestContext, findings: Findings) -> None:
        self._context = context
        self._findings = findings
        self._tasks: dict[str, TaskFolder] = {}  # by source

    def plan(self, tasks_at: TasksAt, commits: Iterable[TaskCommit]) -> None:
        """Adds the tasks, in the order of the sources and of their files."""
        by_source: dict[str, list[TaskCommit]] = {}
        for commit in commits:
            by_source.setdefault(commit.source, []).append(commit)
        for name, source in self._context.sources.items():
            tasks = self._tasks[name] = tasks_at(source.objects.root)
            for some, size in slices(_groups(by_source.get(name, ())), _input_bytes):
                tasks.add(_kind(self._context, name), SourcesTask(name, some), size)

    def conclude(self) -> None:
        """Reports files with ranges that are not accounted for."""
        files = size = 0
        wrong = False
        kinds = ((tasks, _kind(self._context, name).name) for name, tasks in self._tasks.items())
        for found in chain.from_iterable(tasks.found(kind, SourcesFound) for tasks, kind in kinds):
            self._findings.problems += [line for line in found.problems if line not in self._findings.problems]
            self._findings.notes += found.notes
            wrong |= bool(found.problems)
            files, size = files + found.files, size + found.bytes
        if not wrong:
            self._findings.proved.append(
                f"{count_of(files, 'source file')}, {count_of(size, 'byte')}: every range is accounted for exactly once"
            )


def _kind(context: IngestContext, source: str) -> TaskKind:
    return TaskKind(
        f"source-{content_name(source.encode())}", SourcesTask, TaskWithoutBlocks(partial(check_files, context))
    )


def _input_bytes(group: tuple[TaskCommit, ...]) -> int:
    return sum(commit.input_bytes + OPENING_BYTES for commit in group)


def _groups(tasks: Iterable[TaskCommit]) -> Iterator[tuple[TaskCommit, ...]]:
    """Groups tasks to check together: the parts of one file, or one batch of whole files."""
    by_first: dict[str, list[TaskCommit]] = {}
    for task in tasks:
        by_first.setdefault(task.inputs[0].path, []).append(task)
    for path in sorted(by_first):
        yield tuple(by_first[path])


def _claims(objects: ObjectStore, tasks: Iterable[TaskCommit]) -> pa.Table:
    batches = []
    for task in tasks:
        for shard in task.shards:
            for batch in read_batches(objects, shard.object.path, ["source"]):
                origin = batch["source"]
                batches.append(_claimed([pc.struct_field(origin, name) for name in CLAIMS.names[:5]], None))
        for ranges in (task.dropped, task.quarantine):
            if ranges is not None:
                for batch in read_batches(objects, ranges.path, [*CLAIMS.names[:5], "reason"]):
                    reasons = batch["reason"] if ranges is task.quarantine else None
                    batches.append(_claimed([batch[name] for name in CLAIMS.names[:5]], reasons))
    return pa.Table.from_batches(batches, schema=CLAIMS)


def _claimed(columns: list[pa.Array], quarantined_for: pa.Array | None) -> pa.RecordBatch:
    reasons = pa.nulls(len(columns[0]), pa.string()) if quarantined_for is None else quarantined_for
    failed = pc.fill_null(pc.equal(reasons, READER_FAILED), False)
    return pa.RecordBatch.from_arrays([*columns, pc.is_null(reasons), failed], schema=CLAIMS)


def _check_file(
    source: IngestSource, path: str, expected: int, claims: pa.Table, limits: ReadLimits, found: SourcesFound
) -> bool:
    place = f"{source.rows.name}: {path}"
    try:
        stream = source.objects.open(path)
    except FileNotFoundError:
        found.notes.append(f"{place}: no longer exists, so its ranges cannot be checked again")
        return False
    with closing(stream):
        size = stream.seek(0, 2)
        if size != expected:
            found.problems.append(f"{place}: has {size} bytes, but had {expected} when it was ingested")
            return False
        try:
            wrong = format_of(source.format, path).check_claims(
                OpenFile(stream, path, size, limits), list(_spans(claims))
            )
        except Exception as error:
            if not is_of_content(error):
                raise
            wrong = [f"the audit itself failed on the file, please report it: {failure(error)}"]
    found.problems += [f"{place}: {line}" for line in wrong]
    return not wrong


def _spans(claims: pa.Table) -> Iterator[Claim]:
    for batch in claims.to_batches():
        for row in zip(*(batch[name].to_pylist() for name in CLAIMS.names[1:]), strict=True):
            offset, length, unit, member, readable, failed = row
            yield Claim(Span(offset, length, unit, member), readable, failed)
