"""Records are read strictly: one of another shape is one line that names its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told
from winnow.schemas.errors import StoreError
from winnow.schemas.mixture import Amount, PlannedOutput
from winnow.schemas.records import ObjectRecord, ShardRecord, from_json, to_json, tree_hash
from winnow.schemas.typed_json import read_json


def test_a_record_comes_back_as_it_was() -> None:
    output = PlannedOutput("train", 7, (), ("a note",))
    assert from_json(PlannedOutput, to_json(output), "x.json") == output


@pytest.mark.parametrize("raw", [b"[]", b"null", b"7", b'{"samples": []}', b'{"sample": 1}', b"{"])
def test_another_shape_is_refused_with_its_place(raw: bytes) -> None:
    with pytest.raises(StoreError, match=r"^x\.json: not a Amount") as refused:
        from_json(Amount, raw, "x.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rows": True}, "object.rows … got true"),
        ({"rows": 1.0}, "object.rows"),
        ({"rows": 1 << 64}, "object.rows"),
        ({"rows": None}, "object.rows … got nothing"),
        ({"path": 3}, "object.path … expected text"),
        ({"row": 1}, "object.row … 'rows'"),
        ({"\n": 1}, "object.\\n: unknown field"),
    ],
)
def test_a_field_that_does_not_fit_is_named(change: dict[str, object], said: str) -> None:
    shard = {"shard": "a", "statistics": "s", "object": {"path": "p", "rows": 1, "bytes": 2, "values": "v"} | change}
    with pytest.raises(StoreError) as refused:
        from_json(ShardRecord, json.dumps(shard).encode(), "x.json")
    assert_told(str(refused.value), "x.json", "ShardRecord", "winnow reads", said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "raw", [b'{"rows": NaN}', b'{"rows": 1e999}', b'{"path": "\xff"}', b"[" * 100_000, b'{"path": "']
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(StoreError, match=r"^x\.json: not a ObjectRecord") as refused:
        from_json(ObjectRecord, raw, "x.json")
    assert "\n" not in str(refused.value)


@given(st.binary(max_size=6), st.integers(0, 80), st.integers(0, 80))
def test_a_damaged_record_is_read_or_refused(put: bytes, start: int, end: int) -> None:
    raw = to_json(ObjectRecord("samples/a.parquet", 7, 8, "v"))
    said = ""
    try:
        from_json(ObjectRecord, raw[:start] + put + raw[end:], "x.json")
    except StoreError as refused:
        said = str(refused)
    assert "\n" not in said


def test_a_field_with_a_default_may_be_missing_unless_all_are_asked_for() -> None:
    raw = b'{"name": "train", "budget": 7, "strata": []}'
    assert read_json(PlannedOutput, raw) == PlannedOutput("train", 7, ())
    with pytest.raises(ValueError, match=r"^missing required field notes$"):
        read_json(PlannedOutput, raw, complete=True)


def test_a_tree_hash_does_not_depend_on_the_order_of_layers() -> None:
    layers = {("text.length", ("web",)): "1", ("samples", ("web", "books")): "2", ("samples", ("books",)): "3"}
    turned = dict(reversed(layers.items()))
    assert tree_hash(layers) == tree_hash(turned)
    assert tree_hash(layers) != tree_hash(dict(zip(layers, turned.values(), strict=True)))
