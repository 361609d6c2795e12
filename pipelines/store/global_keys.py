"""The keys of layers over the whole store, and of other things that are computed from all rows but forgotten ones."""

from collections.abc import Collection
from dataclasses import dataclass

from winnow.pipelines.store import layout
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.state import StoreState
from winnow.schemas.identity import fingerprint_of


@dataclass(frozen=True, slots=True)
class GlobalKey:
    """The key of a layer over the whole store: that of its settings, which names its objects, and that of all input."""

    settings: str
    covered: str

    def rows(self, state: StoreState, layer: str) -> ManifestRows:
        """Return the layer's objects; an interrupted run may have written those of some shards."""
        return state.find(layer, dict.fromkeys(state.keys[layout.SAMPLES], self.covered), under=self.settings)

    def all_rows(self, state: StoreState, layer: str) -> ManifestRows | None:
        """Return the layer's objects if every shard has one, else None."""
        found = self.rows(state, layer)
        return found if len(found) == len(state.shards) else None


def forgotten_in(tombstones: Collection[str]) -> str:
    """Return a fingerprint of tombstones, for keys; empty if there are none."""
    return fingerprint_of(sorted(tombstones)) if tombstones else ""


def with_forgotten(key: str, forgotten: str) -> str:
    """Return the key of something that is computed from all rows except forgotten ones."""
    return f"{key}-{forgotten}" if forgotten else key


def without_forgotten(key: str) -> str:
    """Return the key without its fingerprint of tombstones."""
    return key.partition("-")[0]


def ignoring_forgotten(key: str, found: str | None) -> str:
    """Return the existing key if it differs only in what was forgotten, else the expected one.

    What was computed before rows were forgotten holds for all other rows, and readers skip the forgotten ones.
    """
    return found if found is not None and without_forgotten(found) == without_forgotten(key) else key
