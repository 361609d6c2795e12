"""Small stores with given layers, written by the store's own writers and published as generations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tests.pipelines.store.publishing import commit_of, publish_commits
from winnow.pipelines.reading.columns import Column, leaves
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.tables import put_table
from winnow.schemas.identity import sample_id
from winnow.schemas.records import Generation, LayersCommit, ObjectRecord, ShardRecord, StoreRecord, TaskCommit
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules.checking import ColumnInfo, Phase
from winnow.schemas.statistics import ShardStatistics, StatisticsSpec

RECORD = StoreRecord("s", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20)


@dataclass(frozen=True)
class Shard:
    """One shard: its rows' lengths in their file, their URLs, and the tables of its layers."""

    source: str
    rows: int
    layers: Mapping[str, pa.Table] = field(default_factory=dict)
    lengths: Sequence[int] | None = None
    source_class: str = "web"
    media: Sequence[int] | None = None  # how many pictures each row has


def medium(width: int = 100, mime: str = "image/png") -> dict[str, object]:
    """Return a picture of 10 bytes."""
    ref = {"path": "a.png", "offset": 0, "length": 10, "container": "file"}
    return {"sha256": "0" * 64, "bytes": 10, "mime": mime, "width": width, "height": 100, "ref": ref}


def samples_table(shard: str, given: Shard) -> pa.Table:
    """Return rows of `samples` that differ only in id, URL and length."""
    rows = [
        {
            "id": sample_id(given.source, shard, str(number)),
            "source": {
                "name": given.source,
                "path": f"{shard}.warc",
                "record": str(number),
                "offset": 0,
                "length": number if given.lengths is None else given.lengths[number],
                "unit": "bytes",
                "member": 0,
            },
            "source_class": given.source_class,
            "licence": "unknown",
            "url": f"https://{shard}.example/{number}",
            "modality": "text",
            "mime": "text/html",
            "media": [medium() for _ in range(0 if given.media is None else given.media[number])],
            "captions": [],
            "metadata": "{}",
        }
        for number in range(given.rows)
    ]
    return pa.Table.from_pylist(rows, schema=SAMPLES)


def make_store(
    objects: ObjectStore,
    shards: Mapping[str, Shard],
    key: Callable[[str, str], str] = lambda layer, source: "k",
    names: Iterable[str] = (),
) -> tuple[Store, Generation]:
    """Publish a generation of these shards with at least the named layers; `key` returns a layer's key for a source."""
    store = create_or_open(objects, RECORD)
    objects.put("stats/none.json", ShardStatistics(StatisticsSpec(())).to_json())
    tasks: list[TaskCommit] = []
    layers: dict[str, list[LayersCommit]] = {name: [] for name in names}
    for name, shard in shards.items():
        samples = _put(store, samples_table(name, shard), layout.SAMPLES, "", name)
        record = ShardRecord(name, samples, "stats/none.json")
        tasks.append(
            TaskCommit(
                task=name,
                key=key(layout.SAMPLES, shard.source),
                source=shard.source,
                inputs=(),
                shards=(record,),
                dropped=None,
                quarantine=None,
                records=shard.rows,
                kept=shard.rows,
                dropped_by_reason={},
                quarantined_by_reason={},
                input_bytes=1,
                fingerprint="env",
            )
        )
        for layer, table in shard.layers.items():
            own = key(layer, shard.source)
            made = _put(store, table, layer, own, name)
            commit = commit_of(layer, own, name, made, samples.path, shard.source)
            layers.setdefault(layer, []).append(commit)
    return store, publish_commits(store, tasks, layers)[0]


def _put(store: Store, table: pa.Table, layer: str, key: str, shard: str) -> ObjectRecord:
    if layer == layout.SAMPLES:
        return put_table(store.objects, table, lambda content: layout.samples_object(shard, content))
    return put_table(store.objects, table, lambda content: layout.layer_object(layer, key, shard, content))


def columns_of(layers: Mapping[str, pa.Schema], phase: Phase = "eligible") -> dict[Column, ColumnInfo]:
    """Return the columns that rules may name in a store with these layers."""
    found = {Column(layout.SAMPLES, leaf): info for leaf, info in leaves(SAMPLES)}
    for layer, schema in layers.items():
        found |= {Column(layer, leaf): ColumnInfo(info.nullable, info.type, phase) for leaf, info in leaves(schema)}
    return found
