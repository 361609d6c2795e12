import datetime
import decimal
import uuid

import pyarrow as pa
import pytest

from winnow.pipelines.ingest.tables.values import MAX_TYPE_DEPTH, Binary, as_text, depth_of, is_textual, rows_of
from winnow.schemas.identity import Json, canonical_json


def values(array: pa.Array) -> list[Json]:
    rows, _ = rows_of(pa.RecordBatch.from_arrays([array], ["x"]))
    assert canonical_json(rows)
    return [row["x"] for row in rows]


MOMENT = 1_582_934_400_123_456_789  # 2020-02-29T00:00:00.123456789


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.nulls(2), [None, None]),
        (pa.array([True, None]), [True, None]),
        (pa.array([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
        (pa.array([1.5, float("nan"), float("-inf"), None]), [1.5, None, None, None]),
        (pa.array([1.5, float("inf")], pa.float16()), [1.5, None]),
        (pa.array([decimal.Decimal("1.50"), None]), ["1.50", None]),
        (pa.array([decimal.Decimal("-0.001")], pa.decimal256(40, 3)), ["-0.001"]),
        (pa.array([b"\0\xff", None]), [{"$base64": "AP8="}, None]),
        (pa.array([b"ab"], pa.binary(2)), [{"$base64": "YWI="}]),
        (pa.array([b"ab"], pa.binary_view()), [{"$base64": "YWI="}]),
        (pa.array(["é", None], pa.large_string()), ["é", None]),
        (pa.array(["é" * 20, None], pa.string_view()), ["é" * 20, None]),
        (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
        (pa.array([1.0, float("nan")]).dictionary_encode(), [1.0, None]),
        (pa.array([datetime.date(2020, 2, 29), None]), ["2020-02-29", None]),
        (pa.array([datetime.date(2020, 2, 29)], pa.date64()), ["2020-02-29"]),
        (pa.array([MOMENT, None], pa.timestamp("ns")), ["2020-02-29T00:00:00.123456789", None]),
        (pa.array([MOMENT // 10**3], pa.timestamp("us", "Europe/Paris")), ["2020-02-29T00:00:00.123456Z"]),
        (pa.array([0], pa.timestamp("s", "No/Where")), ["1970-01-01T00:00:00Z"]),
        (pa.array([2**40], pa.timestamp("s")), ["36812-02-20T00:36:16"]),
        (pa.array([3_661_000_001], pa.time64("us")), ["01:01:01.000001"]),
        (pa.array([3_661], pa.time32("s")), ["01:01:01"]),
        (pa.array([-1500], pa.duration("ms")), ["PT-1.500S"]),
        (pa.array([[1, None], None, []]), [[1, None], None, []]),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), [[1, 2], None]),
        (pa.array([["a"], None], pa.list_view(pa.string())), [["a"], None]),
        (pa.array([{"a": 1, "b": {"c": ["d"]}}, None]), [{"a": 1, "b": {"c": ["d"]}}, None]),
        (pa.array([{}], pa.struct([])), [{}]),
        (pa.array([[("a", 1), ("b", None)], None], pa.map_(pa.string(), pa.int8())), [{"a": 1, "b": None}, None]),
        (pa.array([[(1, "x")]], pa.map_(pa.int8(), pa.string())), [{"1": "x"}]),
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=7).bytes], pa.binary(16))),
            ["00000000-0000-0000-0000-000000000007"],
        ),
    ],
)
def test_every_type_has_a_form_in_json(array: pa.Array, expected: list[Json]) -> None:
    assert values(array) == expected


def test_slices_give_their_own_values() -> None:
    lists = pa.array([[1], [2, 3], None, [4]])
    maps = pa.array([[("a", 1)], [("b", 2)], [("c", 3)]], pa.map_(pa.string(), pa.int8()))
    structs = pa.array([{"a": [1]}, None, {"a": [2]}])
    assert values(lists.slice(1, 2)) == [[2, 3], None]
    assert values(maps.slice(1, 1)) == [{"b": 2}]
    assert values(structs.slice(1, 2)) == [None, {"a": [2]}]
    assert values(structs.slice(3)) == []


def test_non_finite_numbers_are_counted_in_the_row_that_holds_them() -> None:
    nan = float("nan")
    batch = pa.RecordBatch.from_pydict({"a": [1.0, nan, 2.0], "b": [[nan, 1.0, nan], [], [{"c": nan}["c"]]]})
    rows, lost = rows_of(batch)
    assert lost == [2, 1, 1]
    assert rows == [{"a": 1.0, "b": [None, 1.0, None]}, {"a": None, "b": []}, {"a": 2.0, "b": [None]}]


def test_strings_that_are_not_utf8_keep_their_bytes() -> None:
    array = pa.array([b"good", b"\xff\xfe", None]).view(pa.string())
    good, bad, missing = values(array)
    assert (good, missing) == ("good", None)
    assert isinstance(bad, Binary)
    assert bad.raw == b"\xff\xfe"
    assert as_text(pa.array([b"a"])).to_pylist() == ["a"]


def test_of_columns_with_the_same_name_the_last_wins() -> None:
    assert rows_of(pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]))[0] == [{"x": 2}]


def test_one_object_stands_for_all_rows_that_name_a_dictionary_value() -> None:
    first, second = values(pa.array(["a" * 1000] * 2).dictionary_encode())
    assert first is second


def test_depth_stops_past_the_limit() -> None:
    kind = pa.int8()
    for _ in range(500):
        kind = pa.struct([pa.field("x", kind)])
    assert depth_of(kind) == MAX_TYPE_DEPTH + 1
    assert depth_of(pa.list_(pa.list_(pa.int8()))) == 3


def test_textual_types_are_seen_through_their_layout() -> None:
    assert is_textual(pa.dictionary(pa.int8(), pa.large_string()))
    assert is_textual(pa.uuid())
    assert not is_textual(pa.list_(pa.string()))
