"""Writes lost manifests of the latest generation again, from the commits that they were made of.

A manifest is named by its content, so one that is made again is the lost one, or it has another name.
"""

from collections.abc import Iterable

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_tasks, load_task_commits
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.damage import MissingError
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tables import put_manifest, put_tasks, sample_rows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.records import GenerationRecord, TaskCommit
from winnow.schemas.rows.extraction import EXTRACTED


def rewrite_lost_manifests(store: Store) -> None:
    """Makes sure that every manifest of the latest generation exists. The caller holds the lease.

    MissingError if a manifest is lost together with some of its commits.
    """
    record = store.latest_record()
    if record is None:
        return
    there = {info.path for info in store.objects.list(layout.MANIFESTS)}
    if record.tasks not in there:
        _require(store, record, record.tasks, put_tasks(store.objects, TaskCommits.of(_tasks(store, record, there))))
    for layer in sorted(record.layers, key=lambda name: name != layout.SAMPLES):  # the others need that of the samples
        if (lost := record.layers[layer].manifest) not in there:
            rows = sample_rows(store.every_task(record)) if layer == layout.SAMPLES else _rows(store, record, layer)
            _require(store, record, lost, put_manifest(store.objects, layer, rows).manifest)


def _tasks(store: Store, record: GenerationRecord, there: set[str]) -> Iterable[TaskCommit]:
    """The commits of the generation's tasks: those that made its samples, and those that made none."""
    samples = record.layers[layout.SAMPLES]
    made = None
    if samples.manifest in there:
        made = {(row.key, row.task) for row in store.every_row(record, layout.SAMPLES)}
    for key in samples.keys:
        found = load_task_commits(store.objects, key, sorted(committed_tasks(store.objects, key)))
        yield from (task for task in found if made is None or not task.shards or (key, task.task) in made)


def _rows(store: Store, record: GenerationRecord, layer: str) -> ManifestRows:
    samples: dict[str, dict[str, str]] = {}
    for row in store.every_row(record, layout.SAMPLES):
        samples.setdefault(row.source, {})[row.shard] = row.object
    committed = StoreIndex(store.objects, None)
    for key in record.layers[layout.SAMPLES].keys if layer.startswith(EXTRACTED) else ():
        committed.find_tasks(key, sorted(committed_tasks(store.objects, key)))  # their commits have texts, too
    found: list[ManifestRow] = []
    for key, one in record.layers[layer].keys.items():
        wanted = {shard: path for source in one.sources for shard, path in samples.get(source, {}).items()}
        found += committed.committed_rows(layer, key, wanted).values()
    return ManifestRows.of(found)


def _require(store: Store, record: GenerationRecord, lost: str, made: str) -> None:
    if made != lost:
        raise MissingError(
            f"{store.root}: {lost} is missing, and so are some of its commits; delete "
            f"{layout.generation(record.number)} and run 'winnow run RECIPE' with each recipe of the store"
        )
