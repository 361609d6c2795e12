"""Scans objects for forgotten rows, in tasks: for tombstones that they were not scanned for, or for one request.

The driver gets row numbers of matching rows alone: 16 bytes for each, in arrays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import (
    HERE,
    OPENING_BYTES,
    Jobs,
    TaskFolder,
    TaskKind,
    TaskWithoutBlocks,
    slices,
)
from winnow.pipelines.running.scratch_parts import find_part, put_part
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import ShardTexts, every_shard_text
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import (
    HiddenRows,
    Hiding,
    Scan,
    load_hiding,
    scan_object,
    store_scans,
    taken_batch,
    taken_of,
)
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.identity import ID_BYTES
from winnow.schemas.records import GenerationRecord, from_json, to_json
from winnow.schemas.tombstones import Selectors, Tombstone

TAKEN = "scans"
IDS = "ids"
REQUEST = "request.json"
NARROW = 8  # the columns that are scanned are about so small a part of an object, unless texts are hashed

Taken = tuple[frozenset[str], Scan]
"""A scan, and the tombstones that it searched for."""

Ids = NDArray[np.bytes_]
"""Sample ids, 16 bytes each."""

NO_IDS: Ids = np.zeros(0, f"S{ID_BYTES}")


@dataclass(frozen=True, slots=True)
class ScanTask(TaskLine):
    """Some shards: the samples object of each, and its objects of extracted texts."""

    number: int
    shards: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(slots=True)
class ScanFound:
    """What a task found, beside its scans."""

    met: list[str] = field(default_factory=list)  # the hashes of selectors that matched a row


@dataclass(frozen=True)
class MissingScans:
    """Scans for the tombstones of a store. Picklable."""

    steps: JobSteps
    objects: ObjectStore

    def run(self, task: ScanTask) -> ScanFound:
        """Scans what no stored scan covers."""
        hiding = load_hiding(self.objects)
        taken = [one for samples, texts in task.shards for one in hiding.scan_missing(self.objects, samples, texts)]
        _put(self.steps, task.number, taken)
        return ScanFound()


@dataclass(frozen=True)
class RequestedScans:
    """Scans for the selectors of one request. Picklable."""

    steps: JobSteps
    objects: ObjectStore
    ids: bool  # whether to store the ids of the rows that match

    def run(self, task: ScanTask) -> ScanFound:
        """Scans every object of the task."""
        raw = self.steps.objects.read(f"{self.steps.scratch}/{REQUEST}")
        matcher = Matcher(Selectors.of(from_json(Tombstone, raw, REQUEST)), note=True)
        taken: list[Taken] = []
        ids: list[pa.Array] = []
        for samples, texts in task.shards:
            found = [scan_object(self.objects, matcher, samples, path) for path in (samples, *texts)]
            taken += [(frozenset(), one) for one in found]
            rows = HiddenRows.merged(one.found for one in found).pending
            if self.ids and len(rows):
                ids += read_rows(self.objects, samples, rows.tolist(), ["id"])["id"].cast(pa.binary(ID_BYTES)).chunks
        _put(self.steps, task.number, taken)
        if ids:
            batch = pa.RecordBatch.from_arrays([pa.concat_arrays(ids)], [IDS])
            put_part(self.steps.objects, self.steps.scratch, IDS, task.number, batch)
        return ScanFound([value.hex() for value in sorted(matcher.met)])


def scan_missing(store: Store, hiding: Hiding, shards: Iterable[ShardTexts], jobs: Jobs) -> list[Taken]:
    """Scans objects that no scan covers, and adds the results to `hiding`; returns them."""
    pending = {
        (shard.row.object, shard.texts): shard.row.bytes
        for shard in shards
        if hiding.lacks(shard.row.object, shard.texts)
    }
    if not pending:
        return []
    with jobs.folder("scan") as steps:
        _, taken = _scan(steps, pending, MissingScans(steps, store.objects), jobs, whole=hiding.reads_texts)
        for tombstones, scan in taken:
            hiding.add(tombstones, scan)
        return taken


def scan_store(store: Store, record: GenerationRecord, jobs: Jobs = HERE) -> Hiding:
    """Scans the objects of a generation that were not scanned yet, and stores the results. Needs no lease."""
    hiding = load_hiding(store.objects, fresh=True)
    store_scans(store.objects, scan_missing(store, hiding, every_shard_text(store, record, hiding), jobs))
    return hiding


@dataclass(frozen=True)
class RequestFound:
    """What a request finds in some shards."""

    scans: Mapping[str, Scan]  # by scanned object
    met: frozenset[bytes]
    ids: Ids | None  # of matching rows with content; None if they were not asked for

    def rows(self, samples: str, texts: Iterable[str]) -> HiddenRows:
        """The matching rows of a shard."""
        return HiddenRows.merged(self.scans[path].found for path in (samples, *texts))

    def joined(self, other: "RequestFound") -> "RequestFound":
        """What the same request finds in the shards of both."""
        ids = None if self.ids is None or other.ids is None else np.union1d(self.ids, other.ids)
        return RequestFound({**self.scans, **other.scans}, self.met | other.met, ids)


def scan_request(
    store: Store, selectors: Selectors, shards: Iterable[ShardTexts], jobs: Jobs, *, ids: bool
) -> RequestFound:
    """Searches shards for the selectors of a request; reads each object once."""
    pending = {(shard.row.object, shard.texts): shard.row.bytes for shard in shards}
    with jobs.folder("scan") as steps:
        steps.objects.put(f"{steps.scratch}/{REQUEST}", to_json(selectors.tombstone("")))
        found, taken = _scan(
            steps, pending, RequestedScans(steps, store.objects, ids), jobs, whole=bool(selectors.sha256)
        )
        met = frozenset(bytes.fromhex(value) for one in found for value in one.met)
        return RequestFound({scan.object: scan for _, scan in taken}, met, _ids(steps, len(found)) if ids else None)


def _scan(
    steps: JobSteps,
    pending: Mapping[tuple[str, tuple[str, ...]], int],
    scans: MissingScans | RequestedScans,
    jobs: Jobs,
    *,
    whole: bool,
) -> tuple[list[ScanFound], list[Taken]]:
    tasks = TaskFolder(steps)
    kind = TaskKind(TAKEN, ScanTask, TaskWithoutBlocks(scans.run))
    parts = 1 if whole else NARROW
    for some, size in slices(pending, lambda one: pending[one] // parts + OPENING_BYTES):
        tasks.add(kind, ScanTask(tasks.count, some), size)
    tasks.run(jobs, "Scans")
    found = list(tasks.found(TAKEN, ScanFound))
    parts_found = (find_part(steps.objects, steps.scratch, TAKEN, number) for number in range(len(found)))
    return found, [one for part in parts_found if part is not None for one in taken_of(part)]


def _put(steps: JobSteps, number: int, taken: list[Taken]) -> None:
    put_part(steps.objects, steps.scratch, TAKEN, number, taken_batch(taken))


def _ids(steps: JobSteps, tasks: int) -> Ids:
    found = (find_part(steps.objects, steps.scratch, IDS, number) for number in range(tasks))
    held = [np.frombuffer(part[IDS].buffers()[1], f"S{ID_BYTES}", len(part)) for part in found if part is not None]
    return np.unique(np.concatenate(held)) if held else NO_IDS
