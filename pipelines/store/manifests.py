"""Manifests: the tables that list what a generation holds, one of each layer and one of the ingest tasks.

They are named by their content, so a manifest that did not change is neither written nor read again.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import put_table, read_table
from winnow.schemas.records import (
    KeyRecord,
    LayerPart,
    LayerRecord,
    LayersCommit,
    TaskCommit,
    from_json,
    to_json,
    values_hash,
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
    samples: str  # the object whose rows these are aligned with
    statistics: str
    fingerprint: str


def rows_of_commit(commit: LayersCommit) -> dict[str, ManifestRow]:
    """The rows of all layers that a task committed for a shard, by layer."""
    place = commit.source, commit.shard, commit.samples, commit.statistics, commit.fingerprint
    return {part.layer: _row_of_part(part, *place) for part in commit.layers}


def rows_of_texts(task: TaskCommit) -> Iterator[tuple[str, ManifestRow]]:
    """The rows of the layers that an ingest task extracted, each with its layer."""
    for shard in task.shards:
        for part in shard.layers:
            samples, statistics = shard.object.path, shard.statistics
            yield part.layer, _row_of_part(part, task.source, shard.shard, samples, statistics, task.fingerprint)


def _row_of_part(
    part: LayerPart, source: str, shard: str, samples: str, statistics: str, fingerprint: str
) -> ManifestRow:
    made = part.object
    return ManifestRow(
        source=source,
        key=part.key,
        shard=shard,
        task=None,
        object=made.path,
        rows=made.rows,
        bytes=made.bytes,
        values=made.values,
        samples=samples,
        statistics=statistics,
        fingerprint=fingerprint,
    )


def sample_rows(tasks: Iterable[TaskCommit]) -> list[ManifestRow]:
    """The rows of the samples that tasks made."""
    return [
        ManifestRow(
            source=task.source,
            key=task.key,
            shard=shard.shard,
            task=task.task,
            object=shard.object.path,
            rows=shard.object.rows,
            bytes=shard.object.bytes,
            values=shard.object.values,
            samples=shard.object.path,
            statistics=shard.statistics,
            fingerprint=task.fingerprint,
        )
        for task in tasks
        for shard in task.shards
    ]


def put_manifest(objects: ObjectStore, layer: str, rows: Iterable[ManifestRow]) -> LayerRecord:
    """Puts the manifest of a layer: the objects of every key, ordered by shard and key."""
    ordered = sorted(rows, key=lambda row: (row.shard, row.key))
    columns = {name: [getattr(row, name) for row in ordered] for name in MANIFEST.names}
    table = pa.Table.from_pydict(columns, schema=MANIFEST)
    written = put_table(objects, table, lambda content: layout.manifest(layer, content))
    by_key: dict[str, list[ManifestRow]] = {}
    for row in ordered:
        by_key.setdefault(row.key, []).append(row)
    return LayerRecord(written.path, {key: _key_record(found) for key, found in sorted(by_key.items())})


def _key_record(rows: list[ManifestRow]) -> KeyRecord:
    environments: dict[str, int] = {}
    for row in rows:
        environments[row.fingerprint] = environments.get(row.fingerprint, 0) + 1
    return KeyRecord(
        sources=tuple(sorted({row.source for row in rows})),
        shards=len(rows),
        rows=sum(row.rows for row in rows),
        bytes=sum(row.bytes for row in rows),
        values=values_hash({row.shard: row.values for row in rows}),
        environments=dict(sorted(environments.items())),
    )


def read_manifest(objects: ObjectStore, path: str) -> list[ManifestRow]:
    """Every object that a manifest lists."""
    columns = read_table(objects, path).to_pydict()
    for name in ("source", "key", "shard", "samples", "statistics", "fingerprint"):  # the same in many rows, or layers
        columns[name] = list(map(sys.intern, columns[name]))
    return [ManifestRow(*row) for row in zip(*(columns[one.name] for one in fields(ManifestRow)), strict=True)]


def put_tasks(objects: ObjectStore, tasks: Iterable[TaskCommit]) -> str:
    """Puts the manifest of ingest tasks; returns its path."""
    ordered = sorted(tasks, key=lambda task: (task.task, task.key))
    table = pa.Table.from_pydict(
        {
            "task": [task.task for task in ordered],
            "commit": [to_json(task.without_layers).decode() for task in ordered],
        },
        schema=TASKS,
    )
    return put_table(objects, table, lambda content: layout.manifest("ingest", content)).path


def read_tasks(objects: ObjectStore, path: str) -> list[TaskCommit]:
    """The commits that a manifest of tasks lists."""
    return [from_json(TaskCommit, raw.encode(), path) for raw in read_table(objects, path)["commit"].to_pylist()]
