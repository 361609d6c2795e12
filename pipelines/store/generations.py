"""Opens or creates a store, and reads it through a pinned generation."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.damage import DamagedError, missing
from winnow.pipelines.store.integrity.sealed import (
    find_record,
    is_first_format,
    parse_record,
    put_record_if_absent,
    unsealed,
)
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tables import each_task, read_manifest, read_tasks
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.tables import read_batches, read_list
from winnow.schemas.errors import StoreError
from winnow.schemas.records import (
    FORMAT_VERSION,
    Generation,
    GenerationRecord,
    LayerEntry,
    StoreRecord,
    TaskCommit,
    tree_hash,
)

_HELD_ROWS: Final = 1 << 20  # of manifests: some 120 bytes each

LayerKeys = Mapping[str, Mapping[str, str]]
"""The keys of layers, by layer and source."""


class NoStoreError(StoreError):
    """There is no store at an address."""


@dataclass(frozen=True)
class Store:
    """A store and its fixed settings. Picklable."""

    objects: ObjectStore
    record: StoreRecord

    @property
    def root(self) -> str:
        """The address, for messages."""
        return self.objects.root

    def generation_numbers(self) -> list[int]:
        """Every generation, oldest first."""
        return sorted(layout.generation_number(info.path) for info in self.objects.list(layout.GENERATIONS))

    def generation_record(self, number: int) -> GenerationRecord:
        """Reads the record of one generation."""
        path = layout.generation(number)
        record = find_record(self.objects, GenerationRecord, path)
        if record is None:
            raise StoreError(f"{self.root}: no generation {number}")
        return record

    def latest_record(self) -> GenerationRecord | None:
        """The record of the newest generation, or None if there is none yet."""
        numbers = self.generation_numbers()
        return self.generation_record(numbers[-1]) if numbers else None

    def generation(self, number: int) -> Generation:
        """One generation by number, as the recipe that published it reads it."""
        return as_published(self.generation_record(number))

    def latest(self) -> Generation | None:
        """The newest generation as the recipe that published it reads it, or None if there is none yet."""
        record = self.latest_record()
        return None if record is None else as_published(record)

    def require_record(self) -> GenerationRecord:
        """The record of the newest generation, or an error that says how to make one."""
        record = self.latest_record()
        if record is None:
            raise StoreError(f"{self.root}: nothing has been ingested yet; run 'winnow ingest RECIPE'")
        return record

    def require_latest(self) -> Generation:
        """The newest generation as the recipe that published it reads it; an error that says how to make one."""
        return as_published(self.require_record())

    def every_row(self, record: GenerationRecord, layer: str) -> ManifestRows:
        """The objects of a layer under every key, ordered by shard name."""
        return read_manifest(self.objects, record.layers[layer].manifest)

    def every_task(self, record: GenerationRecord) -> TaskCommits:
        """The ingest tasks of every key."""
        return read_tasks(self.objects, record.tasks)

    def manifest(self, generation: Generation, layer: str) -> ManifestRows:
        """The objects of a layer, ordered by shard name."""
        entry = generation.layers.get(layer)
        if entry is None:
            raise StoreError(f"{self.root}: {_why_missing(generation, layer)}")
        return read_manifest(self.objects, entry.manifest).read_by(entry.keys)

    def first_object(self, generation: Generation, layer: str) -> ManifestRow | None:
        """One object of a layer, whose columns all have; None if it has none. Of a long manifest little is decoded."""
        entry = generation.layers[layer]
        parts = (ManifestRows.of_batches([batch]) for batch in read_list(self.objects, entry.manifest))
        return next((row for part in parts for row in part.read_by(entry.keys)), None)

    def tasks(self, generation: Generation) -> TaskCommits:
        """The ingest tasks that made a generation's rows."""
        return read_tasks(self.objects, generation.tasks).read_by(generation.layers[layout.SAMPLES].keys)

    def each_task(self, generation: Generation) -> Iterator[TaskCommit]:
        """The same, one after another: they are not held."""
        return each_task(self.objects, generation.tasks, generation.layers[layout.SAMPLES].keys)

    def batches(self, row: ManifestRow, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one object; forgotten rows are read as the redacted rows that a purge makes of them."""
        batches = read_batches(self.objects, row.object, columns)
        hidden = load_hiding(self.objects).of(self.objects, row.samples).pending
        return redacted_batches(layout.layer_of(row.object), batches, hidden) if len(hidden) else batches

    def publish(self, record: GenerationRecord) -> bool:
        """Puts a generation's record; False if another writer has taken its number."""
        return put_record_if_absent(self.objects, layout.generation(record.number), record)


@dataclass(frozen=True)
class HeldStore(Store):
    """A store that holds the manifests it has read, the latest ones up to a number of rows.

    For a process that shows one generation for hours, and reads a few rows of a store of many shards at a time.
    """

    _manifests: "dict[tuple[object, ...], ManifestRows]" = field(default_factory=dict, compare=False)

    def manifest(self, generation: Generation, layer: str) -> ManifestRows:
        """The objects of a layer, ordered by shard name."""
        entry = generation.layers.get(layer)
        key = None if entry is None else (entry.manifest, *sorted(entry.keys.items()))
        found = self._manifests.pop(key, None) if key else None
        if found is None:
            found = super().manifest(generation, layer)
        if key:
            self._manifests[key] = found  # the latest is the last
            rows = 0
            for old, held in reversed(list(self._manifests.items())):
                rows += len(held)
                if rows > _HELD_ROWS and old != key:
                    self._manifests.pop(old, None)
        return found

    def __reduce__(self) -> tuple[type[Store], tuple[ObjectStore, StoreRecord]]:
        """Other processes read what they need themselves."""
        return Store, (self.objects, self.record)


def as_published(record: GenerationRecord) -> Generation:
    """A generation as the recipe that published it reads it."""
    return as_read(record, record.recipes[record.recipe].layers)


def as_read(record: GenerationRecord, keys: LayerKeys) -> Generation:
    """A generation as read with these keys: every layer of them that covers all shards of the samples."""
    read = {layer: _as_read(record, layer, by_source) for layer, by_source in keys.items() if layer in record.layers}
    shards = read[layout.SAMPLES].shards if layout.SAMPLES in read else 0
    whole = {layer: entry for layer, entry in sorted(read.items()) if entry.shards == shards}
    held = {
        (layer, one.sources): one
        for layer, entry in whole.items()
        for key, one in record.layers[layer].keys.items()
        if key in entry.keys.values()
    }
    environments: Counter[str] = Counter()
    for one in held.values():
        environments.update(one.environments)
    return Generation(
        number=record.number,
        parent=record.parent,
        recipe=record.recipes[record.recipe].resolved,
        layers=whole,
        tasks=record.tasks,
        tree_hash=tree_hash({name: one.values for name, one in held.items()}),
        environments=dict(sorted(environments.items())),
        partial={layer: entry.shards for layer, entry in sorted(read.items()) if layer not in whole},
    )


def _as_read(record: GenerationRecord, layer: str, keys: Mapping[str, str]) -> LayerEntry:
    found = record.layers[layer]
    there = {source: key for source, key in sorted(keys.items()) if key in found.keys}
    held = [found.keys[key] for key in sorted(set(there.values()))]
    return LayerEntry(
        keys=dict(sorted(keys.items())) if layer == layout.SAMPLES else there,  # a source may have no shard
        manifest=found.manifest,
        shards=sum(one.shards for one in held),
        rows=sum(one.rows for one in held),
        bytes=sum(one.bytes for one in held),
    )


def covers_more(there: int, read: int) -> str:
    """What a layer does that has rows of a source, too, which the recipe does not read."""
    return f"covers {there:,} shards, of which the recipe reads {read:,}"


def _why_missing(generation: Generation, layer: str) -> str:
    if layer in generation.partial:
        there, all_shards = generation.partial[layer], generation.layers[layout.SAMPLES].shards
        of = covers_more(there, all_shards) if there > all_shards else f"covers {there:,} of {all_shards:,} shards"
        return f"layer {layer!r} of generation {generation.number} {of}"
    known = ", ".join(sorted(generation.layers)) or "none"
    return f"generation {generation.number} has no layer {layer!r}; it has: {known}"


def create_or_open(objects: ObjectStore, record: StoreRecord) -> Store:
    """Opens the store at an address, or creates it; fixed settings must agree, except for one that is not given."""
    put_record_if_absent(objects, layout.STORE_RECORD, record)
    store = open_store(objects)
    for name in ("seed", "shard_rows", "shard_bytes", "row_group_rows", "row_group_bytes", "task_bytes"):
        asked, fixed = getattr(record, name), getattr(store.record, name)
        if asked not in (fixed, None):
            made = f"without {name}" if fixed is None else f"with {name} {fixed}"
            remedy = f"remove {name}" if fixed is None else f"set {name} to {fixed}"
            raise StoreError(
                f"{objects.root}: the store was made {made}, but the recipe says {asked}; "
                f"this cannot change: {remedy} or choose another path"
            )
    return store


def open_store(objects: ObjectStore) -> Store:
    """Opens the store at an address, or raises an error if there is none."""
    try:
        raw = objects.read(layout.STORE_RECORD)
    except (FileNotFoundError, NotADirectoryError):
        if next(iter(objects.list(layout.GENERATIONS)), None):
            raise missing(objects.root, layout.STORE_RECORD) from None
        raise NoStoreError(f"{objects.root}: no store here ({layout.STORE_RECORD} is missing)") from None
    _require_format(objects, raw)
    record = parse_record(StoreRecord, objects, layout.STORE_RECORD, raw)
    return Store(objects.owned_by(record.identity), record)


def _require_format(objects: ObjectStore, raw: bytes) -> None:
    """Refuses a store of another format; format 1 had no checksums."""
    try:
        found = unsealed(objects, layout.STORE_RECORD, raw).get("format_version")
    except DamagedError:
        if not is_first_format(raw):
            raise
        found = 1
    if isinstance(found, int) and found > FORMAT_VERSION:
        raise StoreError(
            f"{objects.root}: store format {found} is newer than format {FORMAT_VERSION}, which this version of winnow "
            "reads; update winnow: pip install --upgrade winnow"
        )
    if found != FORMAT_VERSION:
        raise StoreError(
            f"{objects.root}: store format {found}, but this version of winnow reads {FORMAT_VERSION}; make the store "
            "anew: delete it or choose another path, and run 'winnow ingest RECIPE'"
        )
