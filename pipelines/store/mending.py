"""Writes lost manifests of the latest generation again, from the commits that they were made of.

A manifest is named by its content, so one that is made again is the lost one, or it has another name.
"""

from collections.abc import Iterable

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_names, load_layer_commits, load_task_commits
from winnow.pipelines.store.damage import MissingError
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow, put_manifest, put_tasks, row_of_commit, sample_rows
from winnow.schemas.records import GenerationRecord, TaskCommit


def mend_manifests(store: Store) -> None:
    """Makes sure that every manifest of the latest generation is there. The caller holds the lease.

    Raises:
        MissingError: One is lost, and so are some of its commits.
    """
    record = store.latest_record()
    if record is None:
        return
    there = {info.path for info in store.objects.list(layout.MANIFESTS)}
    if record.tasks not in there:
        _require(store, record, record.tasks, put_tasks(store.objects, _tasks(store, record, there)))
    for layer in sorted(record.layers, key=lambda name: name != layout.SAMPLES):  # the others need that of the samples
        if (lost := record.layers[layer].manifest) not in there:
            rows = sample_rows(store.every_task(record)) if layer == layout.SAMPLES else _rows(store, record, layer)
            _require(store, record, lost, put_manifest(store.objects, layer, rows).manifest)


def _tasks(store: Store, record: GenerationRecord, there: set[str]) -> Iterable[TaskCommit]:
    """The commits of the generation's tasks: of those that made its samples, and of those that made none."""
    samples = record.layers[layout.SAMPLES]
    made = None
    if samples.manifest in there:
        made = {(row.key, row.task) for row in store.every_row(record, layout.SAMPLES)}
    for key in samples.keys:
        found = load_task_commits(store.objects, key, sorted(committed_names(store.objects, layout.SAMPLES, key)))
        yield from (task for task in found.values() if made is None or not task.shards or (key, task.task) in made)


def _rows(store: Store, record: GenerationRecord, layer: str) -> Iterable[ManifestRow]:
    shards = {row.shard for row in store.every_row(record, layout.SAMPLES)}
    for key in record.layers[layer].keys:
        committed = committed_names(store.objects, layer, key) & shards
        yield from map(row_of_commit, load_layer_commits(store.objects, layer, key, sorted(committed)).values())


def _require(store: Store, record: GenerationRecord, lost: str, made: str) -> None:
    if made != lost:
        raise MissingError(
            f"{store.root}: {lost} is missing, and so are some of its commits; delete "
            f"{layout.generation(record.number)} and run 'winnow run RECIPE' with each recipe of the store"
        )
