"""Publishes made commits as a recipe's stages would."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.store.generations import Store, as_read
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.manifests.tables import rows_of_commit
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.publishing import Contents, publish_union
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.records import Generation, LayerPart, LayersCommit, ObjectRecord, TaskCommit


def commit_of(
    layer: str, key: str, shard: str, made: ObjectRecord, samples: str, source: str = "crawl"
) -> LayersCommit:
    """The commit of a task that wrote one layer of a shard."""
    return LayersCommit(shard, source, samples, "stats/none.json", (LayerPart(layer, key, made),), "env")


def publish_commits(
    store: Store,
    tasks: Sequence[TaskCommit],
    layers: Mapping[str, Sequence[LayersCommit]],
    recipe: str = "recipe.yaml",
    held: StoreIndex | None = None,
) -> tuple[Generation, bool]:
    """The generation as the recipe reads it, and whether it is new; layers that are not given keep their keys."""
    latest = store.latest_record()
    before = latest.recipes[recipe].layers if latest is not None and recipe in latest.recipes else {}
    contents = Contents(
        {task.source: task.key for task in tasks},
        TaskCommits.of(tasks),
        {
            layer: ManifestRows.of(rows_of_commit(commit)[layer] for commit in commits)
            for layer, commits in layers.items()
        },
        before,
        {},
    )
    record, new = publish_union(store, recipe, "resolved", contents, held)
    return as_read(record, record.recipes[recipe].layers), new
