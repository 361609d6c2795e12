"""Stored facts about all rows of a generation together, so that the rows need not be read again.

A record is found by a hash of what it was computed from, so it is never out of date, only absent.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.sealed import find_record, put_record
from winnow.schemas.errors import StoreError
from winnow.schemas.records import FactInputs, Generation

T = TypeVar("T")


def fact_inputs(store: Store, generation: Generation, layers: Iterable[str]) -> FactInputs:
    """The rows of a generation in these layers."""
    listed = sorted(set(layers))
    held = store.generation_record(generation.number).layers
    sources = {layer: generation.layers[layer].keys for layer in listed}
    reads = {
        layer: {key: held[layer].keys[key].values for key in sorted({*keys.values()} & held[layer].keys.keys())}
        for layer, keys in sources.items()
    }
    return FactInputs(reads, sources, tuple(sorted(load_hiding(store.objects).tombstones)))


def find_facts(objects: ObjectStore, kind: type[T], path: str) -> T | None:
    """A record, if it exists and is intact."""
    with suppress(StoreError):  # damaged, which the audit reports: it is replaced
        return find_record(objects, kind, path)
    return None


def put_facts(objects: ObjectStore, path: str, record: Any) -> None:  # Any: dataclass instances have no common type
    """Store a record whose content follows from its path."""
    with suppress(OSError, StoreError):  # the store may be one that this user can only read
        put_record(objects, path, record)
