"""What a source holds and which tasks it consists of, decided once and then frozen.

A large file becomes several tasks, each a byte range; small files are packed, several to a task
(`ingest/planning/task_sizes.py`). The first plan of a source records its tasks, later plans add tasks for new files, so
a crawl grows without renaming anything, and a run that died finds the same tasks again. Every plan is one record put if
absent; they are numbered without gaps, and each has a checksum over its place and its values.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.ingest.records import FilePart
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.damage import damaged, first_line, missing
from winnow.pipelines.store.integrity.sealed import CHECKSUM
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest, path_slug
from winnow.schemas.records import StoreRecord
from winnow.schemas.values import ValueHasher


@dataclass(frozen=True, slots=True)
class Listing:
    """The matching files of one source, sorted by path."""

    source: str
    files: tuple[ObjectInfo, ...]

    @property
    def bytes(self) -> int:
        """Their total size."""
        return sum(file.size for file in self.files)


Deal: TypeAlias = Callable[[Sequence[ObjectInfo]], Sequence[tuple[FilePart, ...]]]
"""Deals new files, in the order of their paths, to tasks; only called if there are any."""

ROWS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("retired", pa.bool_(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
    ]
)


_ROWS_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A file, or part of one, that a task reads; `version` is from the listing when it was frozen."""

    part: FilePart
    version: str


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A unit of ingest: parts of one large file, or a batch of small files."""

    name: str
    source: str
    files: tuple[TaskFile, ...]

    @property
    def bytes(self) -> int:
        """How many bytes of its files the task reads."""
        return sum(file.part.end - file.part.start for file in self.files)


@dataclass(frozen=True, slots=True)
class IntakePlan:
    """The tasks of a source: the frozen ones, compared with its listing, and those to add."""

    number: int  # of the record for the additions; not needed if nothing changed
    tasks: tuple[IngestTask, ...]  # all current tasks, ordered by name
    added: tuple[IngestTask, ...]
    retired: tuple[str, ...]
    changed: tuple[str, ...]  # paths whose size or version differs from the frozen one
    vanished: tuple[str, ...]  # frozen paths that no longer exist


def plan_intake(
    store: Store, listing: Listing, patterns: Sequence[str], deal: Deal, committed: Set[str] = frozenset()
) -> IntakePlan:
    """Compares a listing with what is frozen, and deals new files to tasks. Writes nothing.

    Args:
        store: The store.
        listing: The source's files.
        patterns: Which of them are ingested.
        deal: Makes tasks of new files.
        committed: The names of the source's committed tasks, all of which must be frozen.
    """
    intake = _read(store, listing.source)
    _require(store, listing.source, intake, committed)
    frozen, retirements = intake.tasks, Counter(intake.retirements)
    now = {info.path: info for info in listing.files}
    changed: set[str] = set()
    vanished: set[str] = set()
    unmatched: set[str] = set()
    for task in frozen.values():
        for file in task.files:
            path = file.part.path
            if not matches(path, patterns):
                unmatched.add(path)
            elif path not in now:
                vanished.add(path)
            elif (now[path].size, now[path].version) != (file.part.size, file.version):
                changed.add(path)
    retired = {name for name, task in frozen.items() if any(file.part.path in unmatched for file in task.files)}
    retirements.update(file.part.path for name in retired for file in frozen[name].files)
    kept = {name: task for name, task in frozen.items() if name not in retired}
    covered = {file.part.path for task in kept.values() for file in task.files}
    fresh = [info for info in listing.files if info.path not in covered]
    added = _tasks(fresh, listing.source, deal, retirements)
    return IntakePlan(
        number=intake.next,
        tasks=tuple(sorted((*kept.values(), *added), key=lambda task: task.name)),
        added=added,
        retired=tuple(sorted(retired)),
        changed=tuple(sorted(changed)),
        vanished=tuple(sorted(vanished)),
    )


def require_tasks(store: Store, source: str, committed: Set[str]) -> None:
    """Raises a MissingError if the source's records lack a committed task: the last record is lost."""
    _require(store, source, _read(store, source), committed)


def replace_changed(
    store: Store, planned: IntakePlan, listing: Listing, deal: Deal, paths: Iterable[str]
) -> IntakePlan:
    """Retires the tasks of these paths and plans new tasks for their current files."""
    replaced = set(paths)
    retired = {task.name for task in planned.tasks if any(file.part.path in replaced for file in task.files)}
    kept = [task for task in planned.tasks if task.name not in retired]
    covered = {file.part.path for task in kept for file in task.files}
    intake = _read(store, listing.source)
    retirements = Counter(intake.retirements)
    retirements.update(file.part.path for task in planned.tasks if task.name in retired for file in task.files)
    fresh = [info for info in listing.files if info.path not in covered]
    added = _tasks(fresh, listing.source, deal, retirements)
    return IntakePlan(
        number=intake.next,
        tasks=tuple(sorted((*kept, *added), key=lambda task: task.name)),
        added=added,
        retired=tuple(sorted({*planned.retired, *retired})),
        changed=(),
        vanished=planned.vanished,
    )


def freeze(store: Store, source: str, planned: IntakePlan) -> bool:
    """Records the additions; False if another plan has taken the number, so that this one is stale."""
    if not planned.added and not planned.retired:
        return True
    rows = [
        {
            "task": task.name,
            "retired": False,
            "path": file.part.path,
            "size": file.part.size,
            "version": file.version,
            "start": file.part.start,
            "end": file.part.end,
        }
        for task in planned.added
        for file in task.files
    ]
    rows += [{"task": name, "retired": True} for name in planned.retired]
    path = layout.intake(source, planned.number)
    table = pa.Table.from_pylist(rows, schema=ROWS)
    sealed = table.replace_schema_metadata({CHECKSUM: _checksum(store.record, path, table)})
    sink = pa.BufferOutputStream()
    pq.write_table(sealed, sink, compression="zstd")
    return store.objects.put_if_absent(path, sink.getvalue().to_pybytes())


def read_intake(objects: ObjectStore, record: StoreRecord, path: str) -> pa.Table:
    """One record; DamagedError if it is not what this store put under this path."""
    try:
        raw = pa.BufferReader(objects.read(path))
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    try:
        table = pq.read_table(raw, use_threads=False, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise damaged(objects.root, path, first_line(error)) from None
    said = (table.schema.metadata or {}).get(CHECKSUM.encode(), b"").decode("ascii", "replace")
    if table.schema != ROWS or said != _checksum(record, path, table):
        raise damaged(objects.root, path, "its checksum is that of other content")
    return table


def _checksum(record: StoreRecord, path: str, table: pa.Table) -> str:
    values = ValueHasher(table.schema)
    for batch in table.to_batches():
        values.update(batch)
    return digest(record.identity, path, values.hexdigest(), size=8).hex()


def reject_changed(source: str, changed: Sequence[str]) -> None:
    """Refuses to continue if files have changed since they were ingested."""
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise SourceError(
            f"source {source!r}: {changed[0]}{more} changed since it was ingested; "
            "run with --replace to ingest the current content instead"
        )


@dataclass(frozen=True)
class _Intake:
    """What the records of a source say together."""

    next: int  # the number of the next record
    tasks: Mapping[str, IngestTask]  # the current ones
    names: Set[str]  # of all tasks, also of retired ones
    retirements: Mapping[str, int]  # how often a task of each path was retired


def _read(store: Store, source: str) -> _Intake:
    tasks: dict[str, list[TaskFile]] = {}
    names: set[str] = set()
    number = 1
    retirements: Counter[str] = Counter()
    for info in store.objects.list(f"{layout.INTAKE}{source}/"):
        if info.path != layout.intake(source, number):
            raise missing(store.root, layout.intake(source, number))
        number += 1
        added: dict[str, list[TaskFile]] = {}
        table = read_intake(store.objects, store.record, info.path)
        for row in (row for batch in table.to_batches(_ROWS_AT_ONCE) for row in batch.to_pylist()):
            names.add(row["task"])
            if row["retired"]:
                retirements.update(file.part.path for file in tasks.pop(row["task"], ()))
            else:
                part = FilePart(row["path"], row["size"], row["start"], row["end"])
                added.setdefault(row["task"], []).append(TaskFile(part, row["version"]))
        tasks.update(added)
    current = {name: IngestTask(name, source, tuple(files)) for name, files in tasks.items()}
    return _Intake(number, current, names, retirements)


def _require(store: Store, source: str, intake: _Intake, committed: Set[str]) -> None:
    """Without its last record, a source would be planned again under other names, or names of older content."""
    if not committed <= intake.names:
        raise missing(store.root, layout.intake(source, intake.next))


def _tasks(files: Sequence[ObjectInfo], source: str, deal: Deal, retirements: Counter[str]) -> tuple[IngestTask, ...]:
    if not files:
        return ()
    versions = {info.path: info.version for info in files}
    numbers: Counter[str] = Counter()
    tasks = []
    for parts in deal(sorted(files, key=lambda info: info.path)):
        paths = [part.path for part in parts]
        name = _name(source, paths, numbers[paths[0]], max(retirements[path] for path in paths))
        numbers[paths[0]] += 1
        tasks.append(IngestTask(name, source, tuple(TaskFile(part, versions[part.path]) for part in parts)))
    return tuple(tasks)


def _name(source: str, paths: Sequence[str], index: int, revision: int) -> str:
    """A name from the source and its files alone; replaced files include how often they were replaced."""
    label = path_slug(paths[0]) if len(paths) == 1 else f"{path_slug(paths[0], 24)}-and-{len(paths) - 1}"
    return f"{path_slug(source)}-{label}-{digest(source, revision, *paths, size=8).hex()}-{index:05d}"


def list_source(source: str, objects: ObjectStore, patterns: Sequence[str]) -> Listing:
    """Lists a source; no match is an error, because it nearly always means a wrong path."""
    files = tuple(info for info in objects.list() if matches(info.path, patterns))
    if not files:
        raise SourceError(
            f"source {source!r}: no file under {objects.root} matches {', '.join(patterns)}; check 'root' and 'files'"
        )
    return Listing(source, files)


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path relative to the root matches a pattern: `**` crosses folders, `*` does not."""
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    return re.compile("".join(special.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
