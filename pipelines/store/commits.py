"""What a store has committed: names by listing, records by reading them."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.records import LayerCommit, TaskCommit, from_json

READERS = 16  # threads that fetch commits: small objects, latency-bound on object stores

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
    return _load(objects, names, lambda name: layout.commit(layout.SAMPLES, key, name), TaskCommit)


def load_layer_commits(objects: ObjectStore, layer: str, key: str, shards: Iterable[str]) -> dict[str, LayerCommit]:
    """The commits of these shards, as far as they exist."""
    return _load(objects, shards, lambda shard: layout.commit(layer, key, shard), LayerCommit)


def _load(objects: ObjectStore, names: Iterable[str], path: Callable[[str], str], kind: type[T]) -> dict[str, T]:
    def load(name: str) -> tuple[str, T | None]:
        try:
            raw = objects.read(path(name))
        except FileNotFoundError:
            return name, None
        return name, from_json(kind, raw, f"{objects.root}/{path(name)}")

    with ThreadPoolExecutor(READERS) as pool:
        return {name: commit for name, commit in pool.map(load, names) if commit is not None}
