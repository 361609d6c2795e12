"""Finds the rows of a store that are hidden, from scans; what was not scanned yet is read here (see `scanning`)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import HiddenRows, Hiding, load_hiding
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.schemas.records import Generation, GenerationRecord
from winnow.schemas.rows.extraction import EXTRACTED


@dataclass(frozen=True)
class ShardTexts:
    """A shard's row of the samples manifest, and its objects of extracted texts."""

    row: ManifestRow
    texts: tuple[str, ...]


def hidden_rows(store: Store, generation: Generation, hiding: Hiding | None = None) -> dict[str, HiddenRows]:
    """The hidden rows by shard, for shards that have any."""
    hiding = load_hiding(store.objects) if hiding is None else hiding
    return {row.shard: rows for row, rows in _hidden(store, hiding, shard_texts(store, generation, hiding))}


def every_hidden_row(store: Store, record: GenerationRecord, hiding: Hiding) -> dict[str, HiddenRows]:
    """The hidden rows of every recipe's samples, by samples object, for objects that have any."""
    return {row.object: rows for row, rows in _hidden(store, hiding, every_shard_text(store, record, hiding))}


def _hidden(store: Store, hiding: Hiding, shards: Iterable[ShardTexts]) -> Iterator[tuple[ManifestRow, HiddenRows]]:
    for shard in shards:
        rows = hiding.of(store.objects, shard.row.object, shard.texts)
        if len(rows.rows):
            yield shard.row, rows


def shard_texts(store: Store, generation: Generation, hiding: Hiding) -> Iterator[ShardTexts]:
    """Every shard with the texts to scan; nothing if there are no tombstones."""
    if hiding:
        yield from _with_texts(lambda layer: store.manifest(generation, layer), generation.layers, hiding)


def every_shard_text(store: Store, record: GenerationRecord, hiding: Hiding) -> Iterator[ShardTexts]:
    """Every shard of every recipe with the texts to scan; nothing if there are no tombstones."""
    if hiding:
        yield from _with_texts(lambda layer: store.every_row(record, layer), record.layers, hiding)


def _with_texts(
    rows_of: Callable[[str], Iterable[ManifestRow]], layers: Iterable[str], hiding: Hiding
) -> Iterator[ShardTexts]:
    texts: dict[str, list[str]] = {}
    for layer in sorted(layers) if hiding.reads_texts else ():
        if layer.startswith(EXTRACTED):
            for row in rows_of(layer):
                texts.setdefault(row.samples, []).append(row.object)
    for row in rows_of(layout.SAMPLES):
        yield ShardTexts(row, tuple(texts.get(row.object, ())))
