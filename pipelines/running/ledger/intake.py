"""What a source holds and which tasks it consists of, decided once and then frozen.

A large file becomes several tasks, each a byte range; small files are packed, several to a task
(`ingest/planning/task_sizes.py`). The first plan of a source records its tasks, later plans add tasks for new files, so
a crawl grows without renaming anything, and a stopped run finds the same tasks again. Every plan is one record put if
absent; records are numbered without gaps, and each proves its place and its bytes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.running.ledger.ingest_tasks import PARTS, IngestTask, IngestTasks, TaskFile
from winnow.pipelines.running.ledger.listings import Listing, matches
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.damage import missing
from winnow.pipelines.store.integrity.sealed_table import sealed_table, unsealed_table
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest, path_slug
from winnow.schemas.records import FilePart, StoreRecord

Deal: TypeAlias = Callable[[Sequence[ObjectInfo]], Sequence[tuple[FilePart, ...]]]
"""Deals new files, in the order of their paths, to tasks; only called if there are any."""

ROWS = pa.schema([PARTS.field("task"), pa.field("retired", pa.bool_(), nullable=False), *list(PARTS)[1:]])
"""The columns of a record; a row that retires a task has nothing more than its name."""


@dataclass(frozen=True, slots=True)
class IntakePlan:
    """The tasks of a source: the frozen ones, compared with its listing, and those to add."""

    number: int  # of the record for the additions; not needed if nothing changed
    tasks: IngestTasks  # all current tasks, ordered by name
    added: IngestTasks
    retired: tuple[str, ...]
    changed: tuple[str, ...]  # paths whose size or version differs from the frozen one
    vanished: tuple[str, ...]  # frozen paths that no longer exist


def plan_intake(
    store: Store, listing: Listing, patterns: Sequence[str], deal: Deal, committed: Set[str] = frozenset()
) -> IntakePlan:
    """Compares a listing with what is frozen, and assigns new files to tasks (`deal`). Writes nothing.

    `patterns`: which files are ingested. `committed`: the names of the source's committed tasks, all of which must be
    frozen.
    """
    intake = _read(store, listing.source)
    _require(store, listing.source, intake, committed)
    frozen = intake.tasks
    paths = frozen.parts["path"]
    number = pc.index_in(paths, value_set=listing.files.paths)  # in the listing
    there = number.is_valid().to_numpy()
    matched = np.fromiter((matches(path.as_py(), patterns) for path in paths), np.bool_, len(paths))
    compared = np.flatnonzero(matched & there)
    rows = frozen.parts.take(pa.array(compared))
    changed = compared[listing.files.differ(number.take(pa.array(compared)), rows["size"], rows["version"])]
    return _planned(
        intake,
        listing,
        deal,
        frozen,
        retired=frozen.with_any(~matched),
        changed=_paths(frozen, changed),
        vanished=_paths(frozen, np.flatnonzero(matched & ~there)),
    )


def require_tasks(store: Store, source: str, committed: Set[str]) -> None:
    """Raises a MissingError if the source's records lack a committed task: the last record is lost."""
    _require(store, source, _read(store, source), committed)


def replace_changed(
    store: Store, planned: IntakePlan, listing: Listing, deal: Deal, paths: Sequence[str]
) -> IntakePlan:
    """Retires the tasks of these paths and plans new tasks for their current files."""
    replaced = pc.is_in(planned.tasks.parts["path"], value_set=pa.array(paths, pa.string())).to_numpy()
    return _planned(
        _read(store, listing.source),
        listing,
        deal,
        planned.tasks,
        retired=planned.tasks.with_any(replaced),
        before=planned.retired,
        vanished=planned.vanished,
    )


def _planned(
    intake: "_Intake",
    listing: Listing,
    deal: Deal,
    tasks: IngestTasks,
    *,
    retired: NDArray[np.bool_],
    before: Iterable[str] = (),
    changed: tuple[str, ...] = (),
    vanished: tuple[str, ...] = (),
) -> IntakePlan:
    """The plan that keeps these tasks but the retired ones, and deals the files that no kept task reads."""
    kept, gone = tasks.where(~retired), tasks.where(retired)
    retirements = Counter(intake.retirements)
    retirements.update(gone.parts["path"].to_pylist())
    fresh = listing.files.outside(kept.parts["path"])
    added = IngestTasks.of(listing.source, _tasks(fresh, listing.source, deal, retirements))
    return IntakePlan(
        number=intake.next,
        tasks=IngestTasks.joined(listing.source, [kept.parts, added.parts]) if len(added) else kept,
        added=added,
        retired=tuple(sorted({*before, *gone.names})),
        changed=changed,
        vanished=vanished,
    )


def _paths(tasks: IngestTasks, numbers: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(sorted(set(tasks.parts["path"].take(pa.array(numbers)).to_pylist())))


def freeze(store: Store, source: str, planned: IntakePlan) -> bool:
    """Records the additions; False if another plan has taken the number, so that this one is stale."""
    if not planned.added and not planned.retired:
        return True
    added = planned.added.parts
    added = added.add_column(1, ROWS.field("retired"), pa.repeat(False, len(added)))
    retired = pa.Table.from_pylist([{"task": name, "retired": True} for name in planned.retired], schema=ROWS)
    path = layout.intake(source, planned.number)
    table = pa.concat_tables([added, retired]).combine_chunks()
    return store.objects.put_if_absent(path, sealed_table(store.record.identity, path, table))


def read_intake(objects: ObjectStore, record: StoreRecord, path: str) -> pa.Table:
    """One record; DamagedError if it is not what this store put under this path."""
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    return unsealed_table(objects, record.identity, path, raw)


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
    tasks: IngestTasks  # the current ones, ordered by name
    names: pa.ChunkedArray  # of all tasks, also of retired ones
    retirements: Mapping[str, int]  # how often a task of each path was retired


def _read(store: Store, source: str) -> _Intake:
    rows, names = PARTS.empty_table(), [pa.array([], pa.string())]
    number = 1
    retirements: Counter[str] = Counter()
    for info in store.objects.list(f"{layout.INTAKE}{source}/"):
        if info.path != layout.intake(source, number):
            raise missing(store.root, layout.intake(source, number))
        number += 1
        table = read_intake(store.objects, store.record, info.path)
        names += table["task"].chunks
        retired = table.filter(table["retired"])["task"]
        if len(retired):
            table = table.filter(pc.invert(table["retired"]))
            gone = pc.is_in(rows["task"], value_set=retired)
            retirements.update(rows.filter(gone)["path"].to_pylist())
            rows = rows.filter(pc.invert(gone))
        rows = pa.concat_tables([rows, table.select(PARTS.names).cast(PARTS)])
    return _Intake(number, IngestTasks.joined(source, [rows]), pa.chunked_array(names), retirements)


def _require(store: Store, source: str, intake: _Intake, committed: Set[str]) -> None:
    """Without its last record, a source would be planned again under other names, or names of older content."""
    if not pc.all(pc.is_in(pa.array(committed, pa.string()), value_set=intake.names), min_count=0).as_py():
        raise missing(store.root, layout.intake(source, intake.next))


def _tasks(
    files: Sequence[ObjectInfo], source: str, deal: Deal, retirements: Mapping[str, int]
) -> Iterable[IngestTask]:
    if not files:
        return
    versions = {info.path: info.version for info in files}
    numbers: Counter[str] = Counter()
    for parts in deal(sorted(files, key=lambda info: info.path)):
        paths = [part.path for part in parts]
        name = _name(source, paths, numbers[paths[0]], max(retirements[path] for path in paths))
        numbers[paths[0]] += 1
        yield IngestTask(name, source, tuple(TaskFile(part, versions[part.path]) for part in parts))


def _name(source: str, paths: Sequence[str], index: int, revision: int) -> str:
    """A name from the source and its files alone; replaced files include how often they were replaced."""
    label = path_slug(paths[0]) if len(paths) == 1 else f"{path_slug(paths[0], 24)}-and-{len(paths) - 1}"
    return f"{path_slug(source)}-{label}-{digest(source, revision, *paths, size=8).hex()}-{index:05d}"
