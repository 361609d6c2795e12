"""Which pictures are compared, when two of them are equal, and why the others are not compared."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.pipelines.dedupe.compared import SignatureReader, reader_of
from winnow.pipelines.dedupe.nodes import (
    MAX_ITEMS,
    items_of,
    local_places,
    nodes_of,
    places_of,
    rows_of,
    shards_of,
)
from winnow.pipelines.reading.items import item_ids, item_of_id
from winnow.schemas.errors import StageError

ITEMS = pa.list_(pa.struct([("sha256", pa.string()), ("mime", pa.string())]))
PNG, JPEG, VIDEO = "image/png", "image/jpeg", "video/mp4"
ONE, OTHER = "11" * 32, "22" * 32


def reader(kind: str) -> SignatureReader:
    """What reads the nodes of a kind, with its default settings."""
    found = find_kind(kind)
    return reader_of(AskedKind(found, found.settings()))


def ids(rows: int) -> pa.Array:
    return pa.array([bytes(15) + bytes([row << 4]) for row in range(rows)], pa.binary(16))


def media(*rows: list[tuple[str | None, str]]) -> dict[str, pa.Array]:
    items = [[{"sha256": sha256, "mime": mime} for sha256, mime in row] for row in rows]
    modality = ["image" if row else "forgotten" for row in rows]
    return {
        "samples.media": pa.array(items, ITEMS),
        "samples.modality": pa.array(modality),
        "samples.id": ids(len(rows)),
    }


def test_items_are_compared_by_their_bytes_and_named_after_their_rows() -> None:
    batch = media([], [(ONE, PNG)], [(ONE, JPEG), (OTHER, VIDEO), (OTHER, PNG)], [(None, PNG)])
    found = reader("image_bytes").compared(batch)
    assert (found.places >> 20).tolist() == [1, 2, 2]
    assert items_of(found.places).tolist() == [0, 0, 2]
    assert [one[-1] for one in found.ids.to_pylist()] == [0x10, 0x20, 0x22]
    digests = found.digests.to_pylist()
    assert (digests[0] == digests[1], digests[0] == digests[2]) == (True, False)
    statuses = reader("image_bytes").statuses(batch)
    assert statuses.rows.to_pylist() == ["forgotten", "ok", "ok", "not_hashed"]
    assert statuses.items is not None
    assert statuses.items.to_pylist() == ["ok", "ok", "not_an_image", "ok", "not_hashed"]
    assert statuses.counts is not None
    assert statuses.counts.tolist() == [-1, 1, 3, 1]


def test_every_picture_with_a_hash_of_some_quality_is_compared() -> None:
    one, other = b"1" * 32, b"2" * 32
    rows = [
        ("ok", ["ok"], [one], [50]),
        ("ok", ["ok", "ok"], [other, one], [49, 90]),
        ("ok", ["truncated", "ok"], [None, other], [None, 10]),
        ("ok", [], [], []),
        ("no_input", None, None, None),
        ("forgotten", None, None, None),
    ]
    kinds = {"status": pa.string(), "items": pa.list_(pa.string())}
    kinds |= {"hash": pa.list_(pa.binary(32)), "quality": pa.list_(pa.int16())}
    columns = zip(kinds.items(), zip(*rows, strict=True), strict=True)
    batch = {f"image.pdq.{name}": pa.array(values, kind) for (name, kind), values in columns}
    batch["samples.id"] = ids(len(rows))
    statuses = reader("pdq").statuses(batch)
    assert statuses.rows.to_pylist() == ["ok", "ok", "truncated", "no_picture", "no_picture", "forgotten"]
    assert statuses.items is not None
    assert statuses.items.to_pylist() == ["ok", "low_quality", "ok", "truncated", "low_quality"]
    assert statuses.counts is not None
    assert statuses.counts.tolist() == [1, 2, 2, 0, -1, -1]
    found = reader("pdq").compared(batch)
    assert found.values is not None
    assert (found.places.tolist(), found.values.to_pylist()) == ([0, 1 << 20 | 1], [one, one])
    assert found.digests[0] == found.digests[1]


def vectors(*rows: list[list[float | None] | None]) -> dict[str, pa.Array]:
    return {
        "image.embedding.status": pa.array(["ok"] * len(rows)),
        "image.embedding.items": pa.array([["ok"] * len(row) for row in rows], pa.list_(pa.string())),
        "image.embedding.vector": pa.array(rows, pa.list_(pa.list_(pa.float32()))),
        "samples.id": ids(len(rows)),
    }


def test_vectors_with_a_direction_are_compared() -> None:
    nan = float("nan")
    batch = vectors([[3.0, 4.0], None], [[nan, 1.0], [0.0, 0.0], [6.0, 8.0]], [[None, 1.0]])
    statuses = reader("embedding").statuses(batch)
    assert statuses.rows.to_pylist() == ["ok", "ok", "not_measured"]
    assert statuses.items is not None
    assert statuses.items.to_pylist() == ["ok", "not_measured", "not_measured", "not_measured", "ok", "not_measured"]
    found = reader("embedding").compared(batch)
    assert found.places.tolist() == [0, 1 << 20 | 2]
    assert found.digests[0] == found.digests[1]


def test_vectors_of_several_lengths_are_an_error() -> None:
    with assert_refused(StageError, "2", "3 numbers"):
        reader("embedding").compared(vectors([[1.0, 2.0]], [[1.0, 2.0, 3.0]]))


def test_lists_that_do_not_belong_together_are_an_error() -> None:
    batch = {
        "image.pdq.status": pa.array(["ok"]),
        "image.pdq.items": pa.array([["ok", "ok"]]),
        "image.pdq.hash": pa.array([[b"1" * 32]], pa.list_(pa.binary(32))),
        "image.pdq.quality": pa.array([[9, 9]], pa.list_(pa.int16())),
        "samples.id": ids(1),
    }
    with pytest.raises(StageError, match="differ in length"):
        reader("pdq").compared(batch)


@given(
    st.lists(
        st.tuples(st.integers(0, (1 << 24) - 1), st.integers(0, (1 << 20) - 1), st.integers(0, MAX_ITEMS - 1)),
        min_size=1,
        unique=True,
    )
)
def test_no_two_items_of_a_store_have_the_same_node_and_nodes_sort_as_items_do(found: list[tuple[int, ...]]) -> None:
    shards, rows, items = (np.array(part, np.int64) for part in zip(*found, strict=True))
    places = places_of(rows, items)
    nodes = np.array(
        [nodes_of(int(shard), np.array([place]))[0] for shard, place in zip(shards, places, strict=True)], np.uint64
    )
    assert len(set(nodes.tolist())) == len(found)
    assert (shards_of(nodes).tolist(), rows_of(nodes).tolist()) == (shards.tolist(), rows.tolist())
    assert items_of(local_places(nodes)).tolist() == items.tolist()
    assert [found[at] for at in np.argsort(nodes)] == sorted(found)


def test_a_row_with_too_many_items_is_refused() -> None:
    with pytest.raises(StageError, match="at most 1,048,576 can be compared"):
        places_of(np.array([0]), np.array([MAX_ITEMS]))


def test_the_first_item_has_its_rows_id_and_others_differ_in_the_last_four_bytes() -> None:
    row = pa.array([bytes(range(16))] * 3, pa.binary(16))
    found = item_ids(row, np.array([0, 1, MAX_ITEMS - 1])).to_pylist()
    assert found[0] == bytes(range(16))
    assert {one[:12] for one in found} == {bytes(range(12))}
    assert [item_of_id(one, found[0]) for one in found] == [0, 1, MAX_ITEMS - 1]
