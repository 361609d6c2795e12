"""Checks that the objects of a generation exist and are unchanged, aligned and balanced.

Bytes are hashed again, values are hashed after reading them, and rows are counted from footers; only the records under
test come from the writers. Tasks read objects. The driver compares their findings with manifests, one or two at a time.
"""

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.identities import id_partitions, strange_ids
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import BlockPacker, partition_of_key, split_by_partition
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, slices
from winnow.pipelines.running.ledger.intake import require_tasks
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError, damaged
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import open_table, read_batches
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation, GenerationRecord, TaskCommit, values_hash
from winnow.schemas.values import ValueHasher

PROVED = "content and values are as committed"


@dataclass(frozen=True, slots=True)
class ObjectsTask(TaskLine):
    """Some objects of one layer, in the order of its manifest."""

    layer: str
    rows: tuple[ManifestRow, ...]
    identified: tuple[bool, ...]  # of which samples the ids are sent
    purged: Mapping[str, tuple[int, ...]]  # the rows that must be empty, by samples object


@dataclass(slots=True)
class ObjectsFound:
    """What is wrong with the objects of a task; empty if nothing is."""

    problems: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)  # the hash of objects with other values than committed ones
    footers: dict[str, int] = field(default_factory=dict)  # the rows of samples with others than committed; or -1
    unsent: bool = False  # whether the ids of some samples could not be read
    filled: list[str] = field(default_factory=list)  # objects with content in rows that are marked as purged


def check_objects(
    store: Store, partitions: int, number: int, task: ObjectsTask
) -> Generator[AddressedBlock, None, ObjectsFound]:
    """Reads objects whole, which checks every byte against their names; sends the ids of samples."""
    found = ObjectsFound()
    packer = BlockPacker(f"objects-{number}")
    for row, identified in zip(task.rows, task.identified, strict=True):
        for batch in _read(store, row, found):
            if identified:
                ids = pa.RecordBatch.from_arrays([batch["id"].cast(pa.binary(16))], ["id"])
                place = partition_of_key(ids["id"], partitions)
                for partition, part in split_by_partition(ids, place, partitions):
                    yield from packer.add(partition, part)
        found.unsent |= identified and row.object in found.values
        purged = np.array(task.purged.get(row.samples, ()), np.int64)
        if len(purged) and not _is_neutral(store, task.layer, row, purged):
            found.filled.append(row.object)
    yield from packer.finish()
    return found


class ObjectsCheck:
    """Checks that every object of every layer exists and has its commit's values."""

    def __init__(self, store: Store, record: GenerationRecord, findings: Findings) -> None:
        self._store = store
        self._record = record
        self._findings = findings
        self._found: dict[str, list[ObjectsFound]] = {}
        self._unlisted: list[StoreError] = []  # the damage of manifests

    def plan(self, tasks: TaskFolder, generation: Generation, purged: Mapping[str, NDArray[np.int64]]) -> None:
        """Adds the tasks; one manifest is held at a time."""
        identified = generation.layers[layout.SAMPLES].keys
        held = [key for entry in self._record.layers.values() for key in entry.keys.values()]
        total = sum(one.bytes + one.shards * OPENING_BYTES for one in held)
        check = partial(check_objects, self._store, id_partitions(generation))
        for layer in sorted(self._record.layers):
            kind = TaskKind(f"objects-{layer}", ObjectsTask, check)
            try:
                rows = self._store.every_row(self._record, layer)
            except (DamagedError, MissingError) as error:
                self._unlisted.append(error)
                continue
            for some, size in slices(rows, lambda row: row.bytes + OPENING_BYTES, total):
                mine = {row.samples: tuple(purged[row.samples].tolist()) for row in some if row.samples in purged}
                sent = tuple(layer == layout.SAMPLES and identified.get(row.source) == row.key for row in some)
                tasks.add(kind, ObjectsTask(layer, some, sent, mine), size)

    def collect(self, tasks: TaskFolder) -> None:
        """Reads what the tasks found."""
        self._found = {
            layer: list(tasks.found(f"objects-{layer}", ObjectsFound)) for layer in sorted(self._record.layers)
        }

    @property
    def footers(self) -> dict[str, int]:
        """The rows of samples objects with others than were committed."""
        return {path: rows for found in self._every() for path, rows in found.footers.items()}

    @property
    def filled(self) -> list[str]:
        """Objects with content in rows that are marked as purged."""
        return [path for found in self._every() for path in found.filled]

    @property
    def all_ids_sent(self) -> bool:
        """Whether the ids of all samples were read."""
        return not self._unlisted and not any(found.unsent for found in self._every())

    def conclude(self) -> None:
        """Reports objects that are not what was committed."""
        self._findings.problems += [line for found in self._every() for line in found.problems]
        self._findings.problems += [str(error) for error in self._unlisted]
        if self._unlisted:
            return
        count = size = 0
        wrong = False
        for layer, entry in sorted(self._record.layers.items()):
            other = {path: value for found in self._found[layer] for path, value in found.values.items()}
            rows = self._store.every_row(self._record, layer)
            count, size = count + len(rows), size + rows.bytes
            values = {
                key: values_hash((row.shard, other.get(row.object, row.values)) for row in found)
                if other
                else found.hash
                for key, found in rows.by_key().items()
            }
            wrong |= values != {key: one.values for key, one in entry.keys.items()}
        if wrong:
            number = self._record.number
            self._findings.problems.append(f"generation {number}: the hash of a layer's values is not the recorded one")
        else:
            self._findings.proved.append(f"{count_of(count, 'object')}, {size:,} bytes: {PROVED}")

    def _every(self) -> Iterator[ObjectsFound]:
        return itertools.chain.from_iterable(self._found.values())


def check_alignment(store: Store, generation: Generation, findings: Findings) -> None:
    """Checks that every layer has each shard of the samples, with as many rows (law 2)."""
    samples = store.manifest(generation, layout.SAMPLES)
    for layer, shards in sorted(generation.partial.items()):
        findings.notes.append(
            f"layer {layer} covers {shards:,} of {count_of(len(samples), 'shard')}; run its stage again"
        )
    for layer in sorted(set(generation.layers) - {layout.SAMPLES}):
        problems = list(_misaligned(layer, samples.by_shard, store.manifest(generation, layer).by_shard))
        findings.problems += problems
        if not problems:
            covered = "the only shard" if len(samples) == 1 else f"all {len(samples):,} shards"
            findings.proved.append(f"layer {layer} is aligned with the samples of {covered}")


def _misaligned(layer: str, samples: Mapping[str, ManifestRow], rows: Mapping[str, ManifestRow]) -> Iterator[str]:
    """What is wrong with the shards of a layer, in three groups."""
    for side, there, wanted in ((layer, rows, samples), (layout.SAMPLES, samples, rows)):
        for shard in wanted:
            if shard not in there:
                yield f"layer {side} has no object for shard {shard}"
    for shard, row in rows.items():
        if (of := samples.get(shard)) is not None and of.rows != row.rows:
            yield f"layer {layer}: shard {shard} has {count_of(row.rows, 'row')}, but its samples have {of.rows}"
    for shard, row in rows.items():
        if (of := samples.get(shard)) is not None and of.object != row.samples:
            yield f"layer {layer}: shard {shard} was made from other samples"


def check_intake(store: Store, tasks: Iterable[TaskCommit], findings: Findings) -> None:
    """Checks that every task of the generation is in its source's list of tasks."""
    names: dict[str, set[str]] = {}
    for task in tasks:
        names.setdefault(task.source, set()).add(task.task)
    for source, committed in sorted(names.items()):
        try:
            require_tasks(store, source, committed)
        except StoreError as error:
            findings.problems.append(str(error))


def check_environments(generation: Generation, findings: Findings) -> None:
    """Notes objects made in different environments, which may differ in pinned values."""
    if len(generation.environments) > 1:
        made = ", ".join(f"{name}: {count}" for name, count in generation.environments.items())
        findings.notes.append(f"objects were made in {len(generation.environments)} different environments ({made})")


def _read(store: Store, row: ManifestRow, found: ObjectsFound) -> Iterator[pa.RecordBatch]:
    """Yields the rows of an object, and notes what is wrong with it."""
    footer = -1
    values, strange, example = "", 0, 0
    try:
        with open_table(store.objects, row.object) as parquet:
            footer = int(parquet.metadata.num_rows)
            schema = parquet.schema_arrow
            hasher = ValueHasher(schema)
            for batch in parquet.iter_batches(use_threads=False):
                batch = batch.cast(schema) if batch.schema != schema else batch
                if layout.layer_of(row.object) == layout.SAMPLES and len(other := strange_ids(batch)):
                    example = example if strange else hasher.rows + int(other[0])
                    strange += len(other)
                hasher.update(batch)
                yield batch
        values = hasher.hexdigest()
        if values != row.values:
            found.problems.append(f"{row.object}: its values have the hash {values}, {row.values} was committed")
        if hasher.rows != row.rows:
            found.problems.append(f"{row.object}: {hasher.rows} rows, {row.rows} were committed")
        if strange:
            what = f"{strange:,} ids do not follow from the source of their rows, such as that of row {example:,}"
            found.problems.append(str(damaged(store.root, row.object, what)))
    except StoreError as error:
        found.problems.append(str(error))
    if values != row.values:
        found.values[row.object] = values
    if footer != row.rows:
        found.footers[row.object] = footer


def _is_neutral(store: Store, layer: str, row: ManifestRow, rows: NDArray[np.int64]) -> bool:
    try:
        as_it_is = read_batches(store.objects, row.object)
        emptied = redacted_batches(layer, read_batches(store.objects, row.object), rows)
        return all(left.equals(right) for left, right in zip(as_it_is, emptied, strict=True))
    except StoreError:
        return True  # already reported by the check of objects
