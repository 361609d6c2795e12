"""Reads the commits of a store: names by listing, records by reading them."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import AT_ONCE, cached_reader, map_in_order
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.sealed import parse_record
from winnow.schemas.records import LayersCommit, LayerSet, TaskCommit

T = TypeVar("T")


def committed_names(objects: ObjectStore, prefix: str) -> set[str]:
    """The names that are committed under a prefix: of tasks, or of shards."""
    return {info.path.removeprefix(prefix).removesuffix(".json") for info in objects.list(prefix)}


def committed_tasks(objects: ObjectStore, key: str) -> set[str]:
    """The names of the ingest tasks that are committed under a key."""
    return committed_names(objects, layout.task_commits(key))


def load_task_commits(objects: ObjectStore, key: str, names: Iterable[str]) -> Iterator[TaskCommit]:
    """The existing commits of these tasks."""
    found = _load(objects, names, layout.task_commits(key), TaskCommit)
    return (commit for _, commit in found if commit is not None)


def load_layer_commits(objects: ObjectStore, layers: str, shards: Iterable[str]) -> Iterator[LayersCommit]:
    """The existing commits of these shards, of one set of layers."""
    found = _load(objects, shards, layout.layer_commits(layers), LayersCommit)
    return (commit for _, commit in found if commit is not None)


def load_layer_sets(objects: ObjectStore) -> dict[str, LayerSet]:
    """Every set of layers that has commits, by name."""
    names = sorted(committed_names(objects, layout.LAYER_SETS))
    found = _load(objects, names, layout.LAYER_SETS, LayerSet)
    return {name: made for name, made in found if made is not None}


def parse_commit(objects: ObjectStore, path: str, raw: bytes) -> TaskCommit | LayersCommit:
    """The commit that lies under a path."""
    if path.startswith(layout.TASK_COMMITS):
        return parse_record(TaskCommit, objects, path, raw)
    return parse_record(LayersCommit, objects, path, raw)


def _load(objects: ObjectStore, names: Iterable[str], prefix: str, kind: type[T]) -> Iterator[tuple[str, T | None]]:
    read = cached_reader(objects, prefix)

    def load(name: str) -> tuple[str, T | None]:
        path = f"{prefix}{name}.json"
        try:
            raw = read(path)
        except FileNotFoundError:
            return name, None
        return name, parse_record(kind, objects, path, raw)

    return map_in_order(load, names, AT_ONCE)
