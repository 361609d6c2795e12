"""Sending shingles to other shard groups: chunks do not change the result, and few are held at once."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.pipelines.dedupe.search import prose
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.pipelines.dedupe import matches, near
from winnow.pipelines.dedupe.nodes import first_place, nodes_of
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import put_table
from winnow.schemas.records import StoreRecord

TEXTS, SHARDS = 5, 40
SET_BYTES = 8 * (300 - 4)  # of three hundred words, by five in a row
LAYER = "text.minhash"


@pytest.fixture
def searching() -> Search:
    """A search over one shard of a few texts, and others that are never read."""
    objects = MemoryStore("shingles are sent")
    store = create_or_open(objects, StoreRecord("test", 7, 1024, 1 << 20, 1024, 1 << 20, 1 << 20))
    ids = pa.array([bytes([number]) * 16 for number in range(TEXTS)], pa.binary(16))
    texts = pa.table({"id": ids, "text": [" ".join(prose(number)) for number in range(TEXTS)]})
    path = put_table(objects, texts, lambda content: layout.samples_object("0", content)).path
    digests = put_table(
        objects, pa.table({"digest": ids}), lambda content: layout.layer_object(LAYER, "k", "0", content)
    )
    paths = {layout.SAMPLES: path, LAYER: digests.path}
    shards = [CoveredShard(str(shard), "pages", TEXTS, paths) for shard in range(SHARDS)]
    text = (Column(layout.SAMPLES, "text"),)
    asked = AskedKind(find_kind("near"), near_settings(NearConfig()))
    return Search(store, put_shards(objects, shards), "scratch", {"near": asked}, text)


def pairs() -> pa.RecordBatch:
    """Pairs of each text of the first shard with the same text of every other shard."""
    rows = np.arange(TEXTS)
    first = np.tile(nodes_of(0, first_place(1) * rows), SHARDS - 1)
    second = np.concatenate([nodes_of(shard, first_place(1) * rows) for shard in range(1, SHARDS)])
    return pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], ["first", "second"])


def sent_blocks(searching: Search) -> dict[int, list[object]]:
    """Return the rows sent to each shard group."""
    found: dict[int, list[object]] = {}
    for block in matches.send_firsts(searching, "near", near.shingles_of_nodes, 0, [pairs()]):
        found.setdefault(block.partition, []).extend(block.batch.to_pylist())
    return found


def test_shingles_for_many_shard_groups_are_held_for_some_at_a_time(
    searching: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = sent_blocks(searching)
    assert {shard_group: len(rows) for shard_group, rows in at_once.items()} == dict.fromkeys(range(1, SHARDS), TEXTS)
    sizes: list[int] = []

    def weighed(
        origin: str, batches: Iterable[tuple[pa.RecordBatch, NDArray[np.int64]]], partitions: int
    ) -> Iterator[AddressedBlock]:
        def noted() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
            for batch, shard_groups in batches:
                sizes.append(batch["value"].flatten().nbytes)
                yield batch, shard_groups

        return addressed_blocks(origin, noted(), partitions)

    monkeypatch.setattr(matches, "addressed_blocks", weighed)
    monkeypatch.setattr(near, "_SHINGLE_BYTES", 4 * SET_BYTES)
    assert sent_blocks(searching) == at_once
    assert sum(sizes) == TEXTS * (SHARDS - 1) * SET_BYTES
    assert max(sizes) <= 5 * SET_BYTES
