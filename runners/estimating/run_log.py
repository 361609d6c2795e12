"""The run log: what each stage read and wrote, on which engine, and how long it took.

The log has one small record per run of a stage, in the store's folder `runs/`. It is advisory: no hash covers it,
nothing depends on it, and the garbage collector keeps only the latest records. No other file of a store contains times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import put_record_if_absent, read_record
from winnow.runners.estimating.contents import Contents
from winnow.schemas.errors import StoreError


@dataclass(frozen=True, slots=True)
class PartAmounts:
    """What one part of a stage, such as an operator, read and wrote."""

    read: int  # counted once per pass
    written: int
    contents: Contents = field(default_factory=Contents)  # of what it read; nothing in older records


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`runs/<stage>/<n>.json`: one completed run of a stage."""

    stage: str
    engine: str
    workers: int  # 0: the command itself
    tasks: int
    seconds: float  # wall-clock time from the first task to the last
    read: int  # bytes of the objects read, each counted once
    parts: Mapping[str, PartAmounts]
    shuffled: int | None = None  # None if unknown
    cpu_seconds: float | None = None  # None if workers do not belong to the command

    @property
    def written(self) -> int:
        """Bytes of the objects written."""
        return sum(part.written for part in self.parts.values())

    @property
    def vcpu_seconds(self) -> float:
        """The CPU time, as estimates have it; where it is unknown, the time of the workers that had a task.

        So neither waiting for a busy machine's cores nor workers without a task count.
        """
        busy = max(1, min(self.workers, self.tasks))
        return self.seconds * busy if self.cpu_seconds is None else self.cpu_seconds


def add_part(parts: dict[str, PartAmounts], name: str, read: int, written: int, contents: Contents) -> None:
    """Add what a part read and wrote; it can occur twice in a stage."""
    before = parts.get(name, PartAmounts(0, 0))
    parts[name] = PartAmounts(before.read + read, before.written + written, before.contents + contents)


def put_run(objects: ObjectStore, record: RunRecord) -> None:
    """Add a record. Concurrent slices may add records at the same time."""
    prefix = f"{layout.RUNS}{record.stage}/"
    number = 1 + max((_number(info.path) for info in objects.list(prefix)), default=0)
    while not put_record_if_absent(objects, f"{prefix}{number:08d}.json", record):
        number += 1


def read_runs(objects: ObjectStore) -> list[RunRecord]:
    """All records by stage, the oldest first; damaged records and those of other versions are skipped."""
    found = []
    for info in objects.list(layout.RUNS):
        try:
            found.append(read_record(objects, RunRecord, info.path))
        except StoreError:  # advisory
            continue
    return found


def _number(path: str) -> int:
    name = path.rpartition("/")[2].removesuffix(".json")
    return int(name) if name.isdigit() else 0
