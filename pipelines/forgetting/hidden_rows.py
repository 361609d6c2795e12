"""The hidden rows of a generation, shard by shard, and the looks that make them known without reading a row."""

from collections.abc import Iterator
from dataclasses import dataclass

from winnow.pipelines.forgetting.hiding import HiddenRows, Hiding, Look, load_hiding, put_looks
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import ManifestRow, Store
from winnow.schemas.extraction import EXTRACTED
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class ShardTexts:
    """A shard's row of the manifest of samples, and its objects of extracted texts."""

    row: ManifestRow
    texts: tuple[str, ...]


def hidden_rows(store: Store, generation: Generation, hiding: Hiding | None = None) -> dict[str, HiddenRows]:
    """The hidden rows of every shard that has some, by its name."""
    hiding = load_hiding(store.objects) if hiding is None else hiding
    found = {}
    for shard in shard_texts(store, generation, hiding):
        rows = hiding.of(store.objects, shard.row.object, shard.texts)
        if len(rows.rows):
            found[shard.row.shard] = rows
    return found


def shard_texts(store: Store, generation: Generation, hiding: Hiding) -> Iterator[ShardTexts]:
    """Every shard with the texts that must be looked at; none where nothing is hidden."""
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
    """Look at what no look covers in a generation, and write down what was seen. Needs no lease."""
    hiding = load_hiding(store.objects, fresh=True)
    taken: list[tuple[frozenset[str], Look]] = []
    for shard in shard_texts(store, generation, hiding):
        taken += hiding.take(store.objects, shard.row.object, shard.texts)
    put_looks(store.objects, taken)
    return hiding
