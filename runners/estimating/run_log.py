"""The run log: what each stage read and wrote, on which engine, and in what time.

It lies beside the data under `runs/`, a small record a run of a stage, and is advisory: no hash covers it, nothing is
ever decided by it, and the collector drops all but the last. Times are in it and nowhere else in a store.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StoreError
from winnow.schemas.records import from_json, to_json


@dataclass(frozen=True, slots=True)
class PartAmounts:
    """What one part of a stage, such as an operator, read and wrote."""

    read: int  # once for each time that it was gone through
    written: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`runs/<stage>/<n>.json`: one completed run of a stage."""

    stage: str
    engine: str
    workers: int
    tasks: int
    seconds: float  # from its first task to its last, wall
    read: int  # bytes of objects that were opened, once each
    parts: Mapping[str, PartAmounts]
    shuffled: int | None = None  # None where nobody can tell
    cpu_seconds: float | None = None  # None where workers are other processes

    @property
    def written(self) -> int:
        """Bytes of objects that were put."""
        return sum(part.written for part in self.parts.values())

    @property
    def vcpu_seconds(self) -> float:
        """What was occupied, busy or not."""
        return self.seconds * self.workers


def put_run(objects: ObjectStore, record: RunRecord) -> None:
    """Add a record; slices add theirs at the same time."""
    prefix = f"{layout.RUNS}{record.stage}/"
    number = 1 + max((_number(info.path) for info in objects.list(prefix)), default=0)
    while not objects.put_if_absent(f"{prefix}{number:08d}.json", to_json(record)):
        number += 1


def read_runs(objects: ObjectStore) -> list[RunRecord]:
    """Every record, by stage, the oldest first; one that is damaged or of another version is passed over."""
    found = []
    for info in objects.list(layout.RUNS):
        try:
            found.append(from_json(RunRecord, objects.read(info.path), info.path))
        except (StoreError, FileNotFoundError):  # advisory
            continue
    return found


def _number(path: str) -> int:
    name = path.rpartition("/")[2].removesuffix(".json")
    return int(name) if name.isdigit() else 0
