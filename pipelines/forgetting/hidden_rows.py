"""Finds the rows of a store that are hidden, and those that selectors would hide.

Scan results are kept, so that rows need not be read again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import HiddenRows, Hiding, Scan, load_hiding, scan_object, store_scans
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation, GenerationRecord
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.tombstones import Selectors


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
    rows_of: Callable[[str], list[ManifestRow]], layers: Iterable[str], hiding: Hiding
) -> Iterator[ShardTexts]:
    texts: dict[str, list[str]] = {}
    for layer in sorted(layers) if hiding.reads_texts else ():
        if layer.startswith(EXTRACTED):
            for row in rows_of(layer):
                texts.setdefault(row.samples, []).append(row.object)
    for row in rows_of(layout.SAMPLES):
        yield ShardTexts(row, tuple(texts.get(row.object, ())))


def scan_store(store: Store, record: GenerationRecord) -> Hiding:
    """Scans the objects of a generation that were not scanned yet, and stores the results. Needs no lease."""
    hiding = load_hiding(store.objects, fresh=True)
    taken: list[tuple[frozenset[str], Scan]] = []
    for shard in every_shard_text(store, record, hiding):
        taken += hiding.scan_missing(store.objects, shard.row.object, shard.texts)
    store_scans(store.objects, taken)
    return hiding


@dataclass(frozen=True)
class Effect:
    """The matching rows of the latest generation that still have content."""

    generation: int | None = None  # None if nothing has been ingested yet
    shards: Mapping[str, int] = field(default_factory=dict)  # rows, by shard
    sources: Mapping[str, int] = field(default_factory=dict)  # rows, by source
    ids: frozenset[bytes] = frozenset()
    met: frozenset[bytes] = frozenset()  # the hashes of selectors that matched a row of any generation
    generations: tuple[int, ...] = ()  # all that list an object with such rows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.shards.values())


def effect_of(store: Store, selectors: Selectors) -> Effect:
    """Searches every row of every generation for these selectors. Reads each object once."""
    matcher = Matcher(selectors, note=True)
    known: dict[tuple[str, ...], HiddenRows] = {}
    shards: dict[str, int] = {}
    sources: Counter[str] = Counter()
    ids: set[bytes] = set()
    holding: list[int] = []
    numbers = store.generation_numbers()
    for number in numbers:
        try:
            found = _found(store, store.generation_record(number), matcher, known)
        except StoreError:
            if number in store.generation_numbers():
                raise
            continue  # collected during the search
        if found:
            holding.append(number)
        for (shard, source, path), rows in found.items():
            table = read_rows(store.objects, path, rows.pending.tolist(), ["id"])
            ids.update(table["id"].to_pylist())
            if number == numbers[-1]:
                shards[shard] = shards.get(shard, 0) + len(rows.pending)
                sources[source] += len(rows.pending)
    latest = numbers[-1] if numbers else None
    return Effect(latest, shards, dict(sorted(sources.items())), frozenset(ids), frozenset(matcher.met), tuple(holding))


def _found(
    store: Store, record: GenerationRecord, matcher: Matcher, known: dict[tuple[str, ...], HiddenRows]
) -> dict[tuple[str, str, str], HiddenRows]:
    """The matching rows, by shard, source and samples object."""
    found = {}
    for shard in every_shard_text(store, record, Hiding({"": matcher.selectors})):
        paths = (shard.row.object, *shard.texts)
        if paths not in known:
            scans = (scan_object(store.objects, matcher, shard.row.object, path) for path in paths)
            known[paths] = HiddenRows.merged(one.found for one in scans)
        if len(known[paths].pending):
            found[shard.row.shard, shard.row.source, shard.row.object] = known[paths]
    return found
