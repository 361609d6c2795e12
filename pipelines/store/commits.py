"""Reads the commits of a store: names by listing, records by reading them."""

from collections.abc import Iterable
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
