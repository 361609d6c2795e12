"""Checks that records = kept + dropped + quarantined, counted from the footers of what was written (law 3).

Tasks read the footers of refused ranges, and report which ranges quote forgotten records.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import HiddenRows, load_hiding
from winnow.pipelines.store.tables import open_table
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StoreError
from winnow.schemas.records import ObjectRecord, TaskCommit


@dataclass(frozen=True, slots=True)
class RangesTask(TaskLine):
    """Ingest tasks that refused ranges, and the hidden rows of their shards, by samples object."""

    tasks: tuple[TaskCommit, ...]
    hidden: Mapping[str, tuple[int, ...]]


@dataclass(slots=True)
class RangesFound:
    """What is wrong with the ranges of a task."""

    footers: dict[str, int] = field(default_factory=dict)  # the rows of tables with others than committed; or -1
    errors: dict[str, str] = field(default_factory=dict)  # why a table cannot be read
    quoting: int = 0  # ingest tasks whose ranges quote forgotten records


def check_ranges(store: Store, task: RangesTask) -> RangesFound:
    """Counts rows in footers; reads quarantined ranges only where a record of theirs may be forgotten."""
    found = RangesFound()
    hidden = {path: np.array(rows, np.int64) for path, rows in task.hidden.items()}
    forgotten = ForgottenRanges(
        store, load_hiding(store.objects), {path: HiddenRows(rows, rows) for path, rows in hidden.items()}
    )
    for commit in task.tasks:
        for ranges in _refused(commit):
            _count(store, ranges, found)
        if forgotten.hiding and not found.errors.keys() & {ranges.path for ranges in _refused(commit)}:
            found.quoting += forgotten.quotes(commit)
    return found


def _count(store: Store, ranges: ObjectRecord, found: RangesFound) -> None:
    rows = -1
    try:
        with open_table(store.objects, ranges.path) as parquet:
            rows = int(parquet.metadata.num_rows)
    except StoreError as error:
        found.errors[ranges.path] = str(error)
    if rows != ranges.rows:
        found.footers[ranges.path] = rows


class RangesCheck:
    """Checks the ranges that ingest tasks refused."""

    def __init__(self, store: Store) -> None:
        self._kind = TaskKind("ranges", RangesTask, TaskWithoutBlocks(partial(check_ranges, store)))
        self._found: list[RangesFound] = []

    def plan(self, tasks: TaskFolder, commits: Iterable[TaskCommit], hidden: Mapping[str, NDArray[np.int64]]) -> None:
        """Adds the tasks."""
        refusing = [commit for commit in commits if any(_refused(commit))]
        for some, size in slices(refusing, lambda one: len(_refused(one)) * OPENING_BYTES):
            shards = (shard.object.path for commit in some for shard in commit.shards)
            mine = {path: tuple(hidden[path].tolist()) for path in shards if path in hidden}
            tasks.add(self._kind, RangesTask(some, mine), size)

    def collect(self, tasks: TaskFolder) -> None:
        """Reads what the tasks found."""
        self._found = list(tasks.found(self._kind.name, RangesFound))

    @property
    def quoting(self) -> int:
        """How many ingest tasks have ranges that quote forgotten records."""
        return sum(found.quoting for found in self._found)

    def conclude(self, commits: Iterable[TaskCommit], footers: Mapping[str, int], findings: Findings) -> None:
        """Reports ingest tasks that do not balance, among `commits`; `footers` holds the rows of samples objects whose
        footer differs from their commit."""
        counted = dict(footers)
        errors: dict[str, str] = {}
        for found in self._found:
            counted |= found.footers
            errors |= found.errors
        records = kept = dropped = quarantined = 0
        wrong = False
        for task in commits:
            for ranges in _refused(task):
                if (error := errors.get(ranges.path)) is not None and error not in findings.problems:
                    findings.problems.append(error)
            written = sum(counted.get(shard.object.path, shard.object.rows) for shard in task.shards)
            refused = [
                counted.get(ranges.path, ranges.rows) if ranges else 0 for ranges in (task.dropped, task.quarantine)
            ]
            if not task.balanced or task.records != written + sum(refused):
                wrong = True
                findings.problems.append(
                    f"task {task.task}: {count_of(task.records, 'record')} in, {count_of(written, 'row')}, "
                    f"{refused[0]} dropped, {refused[1]} quarantined"
                )
            records, kept = records + task.records, kept + written
            dropped, quarantined = dropped + refused[0], quarantined + refused[1]
        if not wrong:
            findings.proved.append(
                f"{count_of(records, 'record')} = {count_of(kept, 'row')} + {dropped:,} dropped + "
                f"{quarantined:,} quarantined"
            )


def _refused(commit: TaskCommit) -> list[ObjectRecord]:
    return [ranges for ranges in (commit.dropped, commit.quarantine) if ranges is not None]
