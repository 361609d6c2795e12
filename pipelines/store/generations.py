"""Opens or creates a store, reads it through a pinned generation, and publishes the next one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.store import layout
from winnow.pipelines.store.damage import DamagedError, damaged
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.looks import load_hiding
from winnow.pipelines.store.hiding.neutral import neutral_stream
from winnow.pipelines.store.sealed import (
    find_record,
    is_first_format,
    parse_record,
    put_record_if_absent,
    unsealed,
)
from winnow.pipelines.store.tables import put_table, read_batches, read_table
from winnow.schemas.errors import StoreError
from winnow.schemas.records import (
    FORMAT_VERSION,
    Generation,
    LayerCommit,
    LayerEntry,
    ObjectRecord,
    StoreRecord,
    TaskCommit,
    from_json,
    to_json,
    tree_hash,
)

MANIFEST = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("shard", pa.string(), nullable=False),
        pa.field("task", pa.string()),
        pa.field("object", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("values", pa.string(), nullable=False),
        pa.field("samples", pa.string(), nullable=False),
        pa.field("statistics", pa.string(), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
    ]
)

TASKS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("commit", pa.string(), nullable=False),
    ]
)


class NoStoreError(StoreError):
    """There is no store at an address."""


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One object of one layer in a generation."""

    source: str
    key: str
    shard: str
    task: str | None
    object: str
    rows: int
    bytes: int
    values: str
    samples: str
    statistics: str
    fingerprint: str


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

    def generation(self, number: int) -> Generation:
        """Reads one generation by number."""
        path = layout.generation(number)
        generation = find_record(self.objects, Generation, path)
        if generation is None:
            raise StoreError(f"{self.root}: no generation {number}")
        if generation.store != self.record.identity:
            raise damaged(self.root, path, f"it belongs to another store than {layout.STORE_RECORD}")
        return generation

    def latest(self) -> Generation | None:
        """The newest generation, or None if there is none yet."""
        numbers = self.generation_numbers()
        return self.generation(numbers[-1]) if numbers else None

    def require_latest(self) -> Generation:
        """The newest generation, or an error that says how to make one."""
        generation = self.latest()
        if generation is None:
            raise StoreError(f"{self.root}: nothing has been ingested yet; run 'winnow ingest RECIPE'")
        return generation

    def manifest(self, generation: Generation, layer: str) -> list[ManifestRow]:
        """The objects of a layer, ordered by shard name."""
        entry = generation.layers.get(layer)
        if entry is None:
            known = ", ".join(sorted(generation.layers)) or "none"
            raise StoreError(f"{self.root}: generation {generation.number} has no layer {layer!r}; it has: {known}")
        return [ManifestRow(**row) for row in read_table(self.objects, entry.manifest).to_pylist()]

    def tasks(self, generation: Generation) -> list[TaskCommit]:
        """The ingest tasks that made a generation's rows."""
        table = read_table(self.objects, generation.tasks)
        return [from_json(TaskCommit, raw.encode(), generation.tasks) for raw in table["commit"].to_pylist()]

    def batches(self, row: ManifestRow, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one object; forgotten rows are read as the neutral rows that a purge makes of them."""
        batches = read_batches(self.objects, row.object, columns)
        hidden = load_hiding(self.objects).of(self.objects, row.samples).pending
        return neutral_stream(layout.layer_of(row.object), batches, hidden) if len(hidden) else batches

    def publish(self, generation: Generation) -> bool:
        """Puts the generation's record; False if another writer has taken its number."""
        return put_record_if_absent(self.objects, layout.generation(generation.number), generation)


def create_or_open(objects: ObjectStore, record: StoreRecord) -> Store:
    """Opens the store at an address, or creates it; fixed settings must agree."""
    put_record_if_absent(objects, layout.STORE_RECORD, record)
    store = open_store(objects)
    for name in ("seed", "shard_rows", "shard_bytes", "row_group_rows", "row_group_bytes", "task_bytes"):
        asked, fixed = getattr(record, name), getattr(store.record, name)
        if asked != fixed:
            raise StoreError(
                f"{objects.root}: the store was made with {name} {fixed}, but the recipe says {asked}; "
                f"this cannot change: set {name} to {fixed} or choose another path"
            )
    return store


def open_store(objects: ObjectStore) -> Store:
    """Opens the store at an address, or raises an error if there is none."""
    try:
        raw = objects.read(layout.STORE_RECORD)
    except (FileNotFoundError, NotADirectoryError):
        raise NoStoreError(f"{objects.root}: no store here ({layout.STORE_RECORD} is missing)") from None
    _require_format(objects.root, raw)
    return Store(objects, parse_record(StoreRecord, objects.root, layout.STORE_RECORD, raw))


def _require_format(root: str, raw: bytes) -> None:
    """Refuses a store of another format; format 1 had no checksums."""
    try:
        found = unsealed(root, layout.STORE_RECORD, raw).get("format_version")
    except DamagedError:
        if not is_first_format(raw):
            raise
        found = 1
    if found != FORMAT_VERSION:
        raise StoreError(
            f"{root}: store format {found}, but this version of winnow reads {FORMAT_VERSION}; make the store anew: "
            "delete it or choose another path, and run 'winnow ingest RECIPE'"
        )


def next_generation(
    store: Store, recipe: str, tasks: list[TaskCommit], layers: Mapping[str, list[LayerCommit]]
) -> tuple[Generation, bool]:
    """Publishes the state made of these commits, unless it is identical to the latest.

    Returns the generation and whether it is new. The caller holds the lease, so if the number was taken
    meanwhile, its writer has lost the lease: this state is published after it.
    """
    for task in tasks:
        if not task.balanced:
            raise StoreError(f"{store.root}: task {task.task} does not balance; run 'winnow audit'")
    entries: dict[str, LayerEntry] = {}
    values: dict[tuple[str, str], str] = {}
    environments: dict[str, int] = {}
    rows_of = {layout.SAMPLES: _sample_rows(tasks), **{name: _layer_rows(found) for name, found in layers.items()}}
    for layer, rows in rows_of.items():
        entries[layer] = _put_manifest(store.objects, layer, rows)
        for row in rows:
            values[layer, row.shard] = row.values
            environments[row.fingerprint] = environments.get(row.fingerprint, 0) + 1
    table = pa.Table.from_pydict(
        {
            "task": [task.task for task in sorted(tasks, key=lambda task: task.task)],
            "commit": [to_json(task).decode() for task in sorted(tasks, key=lambda task: task.task)],
        },
        schema=TASKS,
    )
    task_list = put_table(store.objects, table, lambda content: layout.manifest("ingest", content))
    latest = store.latest()
    draft = Generation(
        number=0,
        parent=0,
        store=store.record.identity,
        recipe=recipe,
        layers=entries,
        tasks=task_list.path,
        tree_hash=tree_hash(values),
        environments=dict(sorted(environments.items())),
    )
    if latest is not None and replace(latest, number=0, parent=0, recipe=recipe) == draft:
        return latest, False
    while True:
        base = latest.number if latest else 0
        generation = replace(draft, number=base + 1, parent=base)
        if store.publish(generation):
            return generation, True
        latest = store.latest()


def _sample_rows(tasks: list[TaskCommit]) -> list[ManifestRow]:
    return _in_order(
        _row(task, shard.shard, shard.object, task=task.task, samples=shard.object.path, statistics=shard.statistics)
        for task in tasks
        for shard in task.shards
    )


def _layer_rows(commits: list[LayerCommit]) -> list[ManifestRow]:
    return _in_order(
        _row(commit, commit.shard, commit.object, task=None, samples=commit.samples, statistics=commit.statistics)
        for commit in commits
    )


def _row(
    commit: TaskCommit | LayerCommit, shard: str, made: ObjectRecord, *, task: str | None, samples: str, statistics: str
) -> ManifestRow:
    return ManifestRow(
        source=commit.source,
        key=commit.key,
        shard=shard,
        task=task,
        object=made.path,
        rows=made.rows,
        bytes=made.bytes,
        values=made.values,
        samples=samples,
        statistics=statistics,
        fingerprint=commit.fingerprint,
    )


def _in_order(rows: Iterable[ManifestRow]) -> list[ManifestRow]:
    return sorted(rows, key=lambda row: row.shard)


def _put_manifest(objects: ObjectStore, layer: str, rows: list[ManifestRow]) -> LayerEntry:
    columns = {name: [getattr(row, name) for row in rows] for name in MANIFEST.names}
    table = pa.Table.from_pydict(columns, schema=MANIFEST)
    written = put_table(objects, table, lambda content: layout.manifest(layer, content))
    return LayerEntry(
        keys={row.source: row.key for row in rows},
        manifest=written.path,
        shards=len(rows),
        rows=int(pc.sum(table["rows"]).as_py() or 0),
        bytes=int(pc.sum(table["bytes"]).as_py() or 0),
    )
