"""Finds the hidden rows of a generation per shard, and keeps scan results so that rows need not be read again."""

from collections.abc import Iterator
from dataclasses import dataclass

from winnow.pipelines.forgetting.hiding import HiddenRows, Hiding, Look, load_hiding, store_looks
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import ManifestRow, Store
from winnow.schemas.records import Generation
from winnow.schemas.rows.extraction import EXTRACTED


@dataclass(frozen=True)
class ShardTexts:
    """A shard's row of the samples manifest, and its objects of extracted texts."""

    row: ManifestRow
    texts: tuple[str, ...]


def hidden_rows(store: Store, generation: Generation, hiding: Hiding | None = None) -> dict[str, HiddenRows]:
    """The hidden rows by shard, for shards that have any."""
    hiding = load_hiding(store.objects) if hiding is None else hiding
    found = {}
    for shard in shard_texts(store, generation, hiding):
        rows = hiding.of(store.objects, shard.row.object, shard.texts)
        if len(rows.rows):
            found[shard.row.shard] = rows
    return found


def shard_texts(store: Store, generation: Generation, hiding: Hiding) -> Iterator[ShardTexts]:
    """Every shard with the texts to scan; nothing if there are no tombstones."""
    if not hiding:
        return
    texts: dict[str, list[str]] = {}
    for layer in sorted(generation.layers) if hiding.reads_texts else ():
        if layer.startswith(EXTRACTED):
            for row in store.manifest(generation, layer):
                texts.setdefault(row.shard, []).append(row.object)
    for row in store.manifest(generation, layout.SAMPLES):
        yield ShardTexts(row, tuple(texts.get(row.shard, ())))


def look(store: Store, generation: Generation) -> Hiding:
    """Scans the objects of a generation that were not scanned yet, and stores the results. Needs no lease."""
    hiding = load_hiding(store.objects, fresh=True)
    taken: list[tuple[frozenset[str], Look]] = []
    for shard in shard_texts(store, generation, hiding):
        taken += hiding.take(store.objects, shard.row.object, shard.texts)
    store_looks(store.objects, taken)
    return hiding
