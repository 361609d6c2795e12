"""Publishes made commits as a recipe's stages would."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.store.generations import Store, as_read
from winnow.pipelines.store.manifests import row_of_commit
from winnow.pipelines.store.publishing import Contents, publish_union
from winnow.schemas.records import Generation, LayerCommit, TaskCommit


def publish_commits(
    store: Store,
    tasks: Sequence[TaskCommit],
    layers: Mapping[str, Sequence[LayerCommit]],
    recipe: str = "recipe.yaml",
) -> tuple[Generation, bool]:
    """The generation as the recipe reads it, and whether it is new; layers that are not given keep their keys."""
    latest = store.latest_record()
    before = latest.recipes[recipe].layers if latest is not None and recipe in latest.recipes else {}
    contents = Contents(
        {task.source: task.key for task in tasks},
        tasks,
        {layer: [row_of_commit(commit) for commit in commits] for layer, commits in layers.items()},
        before,
        {},
    )
    record, new = publish_union(store, recipe, "resolved", contents)
    return as_read(record, record.recipes[recipe].layers), new
