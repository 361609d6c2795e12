"""Manifests: the tables that list what a generation holds, one of each layer and one of the ingest tasks.

They are named by their content, so a manifest that did not change is neither written nor read again.
"""

from collections.abc import Iterable, Iterator, Mapping

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.manifests.rows import MANIFEST, ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tasks import TASKS, TaskCommits
from winnow.pipelines.store.tables import put_list, read_list
from winnow.schemas.records import KeyRecord, LayerPart, LayerRecord, LayersCommit, TaskCommit


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


def sample_rows(tasks: Iterable[TaskCommit]) -> ManifestRows:
    """The rows of the samples that tasks made."""
    return ManifestRows.of(
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
    )


def put_manifest(objects: ObjectStore, layer: str, rows: ManifestRows) -> LayerRecord:
    """Puts the manifest of a layer: the objects of every key."""
    written = put_list(objects, MANIFEST, rows.stored(), lambda content: layout.manifest(layer, content))
    return LayerRecord(written.path, {key: _key_record(found) for key, found in rows.by_key().items()})


def _key_record(rows: ManifestRows) -> KeyRecord:
    return KeyRecord(
        sources=rows.sources,
        shards=len(rows),
        rows=rows.rows,
        bytes=rows.bytes,
        values=rows.hash,
        environments=rows.environments,
    )


def read_manifest(objects: ObjectStore, path: str) -> ManifestRows:
    """Every object that a manifest lists."""
    return ManifestRows.of_batches(read_list(objects, path))


def put_tasks(objects: ObjectStore, tasks: TaskCommits) -> str:
    """Puts the manifest of ingest tasks; returns its path."""
    return put_list(objects, TASKS, tasks.stored(), lambda content: layout.manifest("ingest", content)).path


def read_tasks(objects: ObjectStore, path: str) -> TaskCommits:
    """The commits that a manifest of tasks lists."""
    return TaskCommits.of_batches(read_list(objects, path))


def each_task(objects: ObjectStore, path: str, keys: Mapping[str, str]) -> Iterator[TaskCommit]:
    """The same, one after another, of the tasks that have the key of their source."""
    parts = (TaskCommits.of_batches([batch]) for batch in read_list(objects, path))
    return (task for part in parts for task in part.read_by(keys))
