"""Reads the commits of a store: names by listing, records by reading them."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.sealed import parse_record
from winnow.pipelines.store.together import AT_ONCE, in_order, reader_below
from winnow.schemas.records import LayerCommit, TaskCommit

T = TypeVar("T")


def committed_names(objects: ObjectStore, layer: str, key: str) -> set[str]:
    """The names that a layer has committed under a key: shards, or tasks for samples."""
    prefix = layout.commits(layer, key)
    return {info.path.removeprefix(prefix).removesuffix(".json") for info in objects.list(prefix)}


def existing_shards(objects: ObjectStore, layer: str, key: str) -> set[str]:
    """The shards committed under a key whose objects still exist; withdraws commits without an object."""
    committed = committed_names(objects, layer, key)
    held = (
        {layout.shard_of(info.path) for info in objects.list(layout.layer_objects(layer, key))} if committed else set()
    )
    for lost in sorted(committed - held):
        objects.delete(layout.commit(layer, key, lost))
    return committed & held


def aligned_shards(objects: ObjectStore, layer: str, key: str, samples: Mapping[str, str]) -> set[str]:
    """The committed shards whose layer was made from their current samples; withdraws the other commits.

    A shard's samples change only when rows are forgotten; a layer made before that still holds their content.

    Args:
        objects: The store's objects.
        layer: The layer's name.
        key: Its key.
        samples: The samples object of each shard.
    """
    standing = existing_shards(objects, layer, key)
    if not standing or not any(True for _ in objects.list(layout.TOMBSTONES)):
        return standing
    for shard, commit in load_layer_commits(objects, layer, key, sorted(standing & samples.keys())).items():
        if commit.samples != samples[shard]:
            objects.delete(layout.commit(layer, key, shard))
            standing.discard(shard)
    return standing


def load_task_commits(objects: ObjectStore, key: str, names: Iterable[str]) -> dict[str, TaskCommit]:
    """The existing commits of these tasks."""
    return _load(objects, names, layout.commits(layout.SAMPLES, key), TaskCommit)


def load_layer_commits(objects: ObjectStore, layer: str, key: str, shards: Iterable[str]) -> dict[str, LayerCommit]:
    """The existing commits of these shards."""
    return _load(objects, shards, layout.commits(layer, key), LayerCommit)


def _load(objects: ObjectStore, names: Iterable[str], prefix: str, kind: type[T]) -> dict[str, T]:
    read = reader_below(objects, prefix)

    def load(name: str) -> tuple[str, T | None]:
        path = f"{prefix}{name}.json"
        try:
            raw = read(path)
        except FileNotFoundError:
            return name, None
        return name, parse_record(kind, objects.root, path, raw)

    return {name: commit for name, commit in in_order(load, names, AT_ONCE) if commit is not None}
