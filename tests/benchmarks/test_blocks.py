"""What the benchmark multiplies is what the exchange sends."""

import pytest

from benchmarks import blocks
from benchmarks.blocks import Export, by_place, by_shard, cut_by_tasks, cut_here


def test_what_small_exports_send_is_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four shards of a hundred rows that all fit in the sample: nothing is multiplied but the senders."""
    monkeypatch.setattr(blocks, "SHARD_ROWS", 100)
    monkeypatch.setattr(blocks, "FILE_BYTES", 1 << 20)
    export = Export(4)
    assert (export.rows, export.partitions) == (400, 2)
    (sent,) = by_shard(export)
    assert (sent.senders, sent.blocks, sent.objects) == (4, 8, 4)
    assert export.bytes < sent.bytes < 1.2 * export.bytes
    (sent,) = by_place(export)
    assert (sent.senders, sent.receivers, sent.blocks) == (1, 2, 2)


def test_places_and_relays_keep_blocks_large_where_shards_do_not() -> None:
    export = Export(100_000)
    (before,) = by_shard(export)
    places, relays = by_place(export)
    assert before.bytes / before.blocks < 12_000
    assert min(one.bytes / one.blocks for one in (places, relays)) > 300_000
    assert places.senders == 4_096
    assert abs(relays.senders - export.partitions) < 200
    assert cut_by_tasks(export).requests < cut_here(export).requests / 100
