"""What a store has committed: names by listing, records by reading them."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.together import AT_ONCE, in_order, reader_below
from winnow.schemas.records import LayerCommit, TaskCommit, from_json

T = TypeVar("T")


def committed_names(objects: ObjectStore, layer: str, key: str) -> set[str]:
    """What a layer has committed under a key: shards, or tasks for samples."""
    prefix = layout.commits(layer, key)
    return {info.path.removeprefix(prefix).removesuffix(".json") for info in objects.list(prefix)}


def standing_shards(objects: ObjectStore, layer: str, key: str) -> set[str]:
    """The shards that a layer has committed under a key and still holds; a commit without its object is taken back."""
    committed = committed_names(objects, layer, key)
    held = (
        {layout.shard_of(info.path) for info in objects.list(layout.layer_objects(layer, key))} if committed else set()
    )
    for lost in sorted(committed - held):
        objects.delete(layout.commit(layer, key, lost))
    return committed & held


def aligned_shards(objects: ObjectStore, layer: str, key: str, samples: Mapping[str, str]) -> set[str]:
    """The standing shards whose layer was made of the samples that they have now; the commits of others are taken back.

    A shard's samples change only where rows are forgotten: a layer that was made before holds what they no longer do.

    Args:
        objects: The store's.
        layer: Which layer.
        key: Its key.
        samples: The object of samples of each shard.
    """
    standing = standing_shards(objects, layer, key)
    if not standing or not any(True for _ in objects.list(layout.TOMBSTONES)):
        return standing
    for shard, commit in load_layer_commits(objects, layer, key, sorted(standing & samples.keys())).items():
        if commit.samples != samples[shard]:
            objects.delete(layout.commit(layer, key, shard))
            standing.discard(shard)
    return standing


def load_task_commits(objects: ObjectStore, key: str, names: Iterable[str]) -> dict[str, TaskCommit]:
    """The commits of these tasks, as far as they exist."""
    return _load(objects, names, layout.commits(layout.SAMPLES, key), TaskCommit)


def load_layer_commits(objects: ObjectStore, layer: str, key: str, shards: Iterable[str]) -> dict[str, LayerCommit]:
    """The commits of these shards, as far as they exist."""
    return _load(objects, shards, layout.commits(layer, key), LayerCommit)


def _load(objects: ObjectStore, names: Iterable[str], prefix: str, kind: type[T]) -> dict[str, T]:
    read = reader_below(objects, prefix)

    def load(name: str) -> tuple[str, T | None]:
        path = f"{prefix}{name}.json"
        try:
            raw = read(path)
        except FileNotFoundError:
            return name, None
        return name, from_json(kind, raw, f"{objects.root}/{path}")

    return {name: commit for name, commit in in_order(load, names, AT_ONCE) if commit is not None}
