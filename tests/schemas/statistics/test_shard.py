"""The statistics of rows are the same bytes however the rows were cut, grouped or ordered."""

import datetime
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.schemas.errors import StoreError
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.statistics import (
    RELATIVE_ERROR,
    SAMPLES_STATISTICS,
    ShardStatistics,
    layer_spec,
    merge_in_order,
    spec_of,
)

SCHEMA = pa.schema(
    [
        pa.field("text", pa.large_string()),
        pa.field("domain", pa.string()),
        pa.field("raw", pa.binary()),
        pa.field("size", pa.int64()),
        pa.field("score", pa.float64()),
        pa.field("hit", pa.bool_()),
        pa.field("links", pa.list_(pa.int32())),
        pa.field("image", pa.struct([pa.field("width", pa.int32()), pa.field("alt", pa.string())])),
        pa.field("at", pa.timestamp("us", tz="UTC")),
    ]
)
SPEC = spec_of(SCHEMA, categorical=("domain",), values=3)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
rows = st.fixed_dictionaries(
    {
        "text": st.none() | text,
        "domain": st.none() | st.sampled_from(["a.org", "b.org", "c.org", "d.org", "é.org", ""]),
        "raw": st.none() | st.binary(max_size=9),
        "size": st.none() | st.integers(-(2**63), 2**63 - 1),
        "score": st.none() | st.floats(),
        "hit": st.none() | st.booleans(),
        "links": st.none() | st.lists(st.integers(0, 9), max_size=4),
        "image": st.none() | st.fixed_dictionaries({"width": st.none() | st.integers(0, 99), "alt": st.none() | text}),
        "at": st.none() | st.just(datetime.datetime(2024, 5, 6, tzinfo=datetime.UTC)),
    }
)
tables = st.lists(rows, max_size=12).map(lambda found: pa.RecordBatch.from_pylist(found, SCHEMA))


def counted(*batches: pa.RecordBatch) -> ShardStatistics:
    return ShardStatistics.of(SPEC, batches)


@settings(max_examples=scaled(60))
@given(tables, st.lists(st.integers(0, 12), max_size=3))
def test_where_a_batch_is_cut_changes_no_byte(batch: pa.RecordBatch, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, batch.num_rows) for cut in cuts), batch.num_rows]
    pieces = [batch.slice(start, end - start) for start, end in pairwise(edges)]
    assert counted(*pieces).to_json() == counted(batch).to_json()


@settings(max_examples=scaled(60))
@given(tables, tables)
def test_merging_is_commutative(one: pa.RecordBatch, two: pa.RecordBatch) -> None:
    assert counted(one).merge(counted(two)).to_json() == counted(two).merge(counted(one)).to_json()


@settings(max_examples=scaled(60))
@given(tables, tables, tables)
def test_merging_is_associative(one: pa.RecordBatch, two: pa.RecordBatch, three: pa.RecordBatch) -> None:
    a, b, c = counted(one), counted(two), counted(three)
    assert a.merge(b).merge(c).to_json() == a.merge(b.merge(c)).to_json()


@settings(max_examples=scaled(60))
@given(tables, tables)
def test_merging_what_was_read_is_merging_what_was_counted(one: pa.RecordBatch, two: pa.RecordBatch) -> None:
    read = [ShardStatistics.from_json(counted(batch).to_json()) for batch in (one, two)]
    assert read[0].merge(read[1]).to_json() == counted(one).merge(counted(two)).to_json()


@given(tables, tables)
@settings(max_examples=scaled(30))
def test_a_merge_changes_neither_side(one: pa.RecordBatch, two: pa.RecordBatch) -> None:
    a, b = counted(one), counted(two)
    before = a.to_json(), b.to_json()
    a.merge(b).merge(a)
    assert (a.to_json(), b.to_json()) == before


@settings(max_examples=scaled(60))
@given(tables)
def test_without_a_cap_a_merge_of_pieces_is_the_whole(batch: pa.RecordBatch) -> None:
    spec = spec_of(SCHEMA, categorical=("domain",), values=100)
    half = batch.num_rows // 2
    one, two = (ShardStatistics.of(spec, [piece]) for piece in (batch.slice(0, half), batch.slice(half)))
    assert one.merge(two).to_json() == ShardStatistics.of(spec, [batch]).to_json()


def test_every_kind_of_column_is_counted() -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {"text": "né", "domain": "a.org", "raw": b"123", "size": 7, "score": 0.5, "hit": True, "links": [1, 2]},
            {"text": None, "domain": "a.org", "score": float("nan"), "hit": False, "links": []},
            {"image": {"width": 640, "alt": "cat"}},
        ],
        SCHEMA,
    )
    columns = counted(batch).columns
    assert {name: (column.kind, column.rows, column.nulls) for name, column in columns.items()} == {
        "text": ("text", 3, 2),
        "domain": ("text", 3, 1),
        "raw": ("binary", 3, 2),
        "size": ("integer", 3, 2),
        "score": ("float", 3, 1),
        "hit": ("boolean", 3, 1),
        "links": ("list", 3, 1),
        "image.width": ("integer", 3, 2),
        "image.alt": ("text", 3, 2),
        "at": ("integer", 3, 3),
    }
    shown = columns["text"]
    assert shown.lengths is not None
    assert shown.characters is not None
    assert (shown.lengths.sum, shown.characters.sum) == (3, 2)
    assert columns["hit"].trues == 1
    assert columns["score"].floats is not None
    assert columns["score"].floats.nan == 1
    assert columns["links"].lengths is not None
    assert columns["links"].lengths.sum == 2
    assert columns["domain"].top is not None
    assert columns["domain"].top.counts == {"a.org": 2}


def test_a_batch_against_numpy_and_counter() -> None:
    random = np.random.default_rng(11)
    lengths = random.lognormal(6, 1.5, 5000).astype(int) % 20_000
    domains = [f"site{number}.org" for number in random.zipf(1.5, 5000) % 200]
    batch = pa.record_batch({"text": pa.array(["é" * length for length in lengths]), "domain": domains})
    columns = ShardStatistics.of(spec_of(batch.schema, categorical=("domain",), values=500), [batch]).columns
    characters, top, distinct = columns["text"].characters, columns["domain"].top, columns["domain"].distinct
    assert characters is not None
    assert top is not None
    assert distinct is not None
    assert (characters.minimum, characters.maximum, characters.sum) == (lengths.min(), lengths.max(), lengths.sum())
    for fraction in (0.01, 0.25, 0.5, 0.75, 0.99):
        true = np.quantile(lengths, fraction, method="inverted_cdf")
        found = characters.quantile(fraction)
        assert found is not None
        assert abs(found - true) <= RELATIVE_ERROR * true
    assert top.ranked()[:3] == sorted(Counter(domains).items(), key=lambda item: (-item[1], item[0]))[:3]
    assert abs(distinct.estimate() - len(set(domains))) <= 0.05 * len(set(domains))


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "bc", "a"], pa.string_view()),
        pa.array(["a", None, "bc", "a"]).dictionary_encode(),
        pa.array(["x", "a", None, "bc", "a", "x"]).slice(1, 4),
        pa.array(["a", None, "bc", "a"], pa.large_string()),
    ],
)
def test_the_encoding_of_text_changes_no_byte(array: pa.Array) -> None:
    spec = spec_of(pa.schema([pa.field("a", pa.string())]), categorical=("a",))
    plain = pa.record_batch({"a": pa.array(["a", None, "bc", "a"])})
    assert ShardStatistics.of(spec, [pa.record_batch({"a": array})]).to_json() == (
        ShardStatistics.of(spec, [plain]).to_json()
    )


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1.5, None], pa.float16()), "float"),
        (pa.array([1, None], pa.date32()), "integer"),
        (pa.array([1, None], pa.date64()), "integer"),
        (pa.array([2**64 - 1, None], pa.uint64()), "integer"),
        (pa.array([b"1234", None], pa.binary(4)), "binary"),
        (pa.array([b"1234", None], pa.binary_view()), "binary"),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "list"),
        (pa.array([[1, 2], None], pa.large_list(pa.int8())), "list"),
        (pa.array([[(1, 2)], None], pa.map_(pa.int8(), pa.int8())), "other"),
        (pa.array([1, None], pa.duration("s")), "other"),
        (pa.array([None, None], pa.null()), "other"),
    ],
)
def test_less_common_arrow_types_are_counted(array: pa.Array, kind: str) -> None:
    batch = pa.record_batch({"a": array})
    statistics = ShardStatistics.of(spec_of(batch.schema), [batch])
    assert (statistics.columns["a"].kind, statistics.columns["a"].nulls) == (kind, array.null_count)
    assert ShardStatistics.from_json(statistics.to_json()).to_json() == statistics.to_json()


def test_a_column_that_a_batch_lacks_is_null() -> None:
    columns = counted(pa.record_batch({"text": ["a"], "size": pa.nulls(1)})).columns
    assert [(columns[name].rows, columns[name].nulls) for name in ("text", "size", "image.alt")] == [
        (1, 0),
        (1, 1),
        (1, 1),
    ]


def test_a_column_of_another_kind_is_refused() -> None:
    with assert_refused(ValueError, "'text'", "int64"):
        counted(pa.record_batch({"text": [1]}))


def test_statistics_counted_differently_do_not_merge() -> None:
    one = pa.record_batch({"a": [1]})
    two = pa.record_batch({"a": ["1"]})
    with assert_refused(StoreError, "statistics:", "'a'"):
        ShardStatistics.of(spec_of(one.schema), [one]).merge(ShardStatistics.of(spec_of(two.schema), [two]))


def test_a_column_that_one_side_lacks_is_kept() -> None:
    one, two = pa.record_batch({"a": [1]}), pa.record_batch({"b": ["x"]})
    merged = ShardStatistics.of(spec_of(one.schema), [one]).merge(ShardStatistics.of(spec_of(two.schema), [two]))
    assert (merged.rows, {name: column.rows for name, column in merged.columns.items()}) == (2, {"a": 1, "b": 1})


def test_merged_statistics_take_no_batches() -> None:
    batch = pa.RecordBatch.from_pylist([], SCHEMA)
    with assert_refused(ValueError, "added to new"):
        counted(batch).merge(counted(batch)).add(batch)


def test_a_store_is_merged_in_order_and_capped() -> None:
    spec = spec_of(pa.schema([pa.field("domain", pa.string())]), categorical=("domain",), values=10)
    shards = [
        ShardStatistics.of(spec, [pa.record_batch({"domain": ["top", "top", f"{number}a", f"{number}b"]})])
        for number in range(5)
    ]
    merged = merge_in_order(shards, values=3)
    top = merged.columns["domain"].top
    assert top is not None
    assert top.ranked()[0] == ("top", 10)
    assert len(top.counts) == 3
    assert sum(top.counts.values()) + top.other == merged.rows == 20
    assert merge_in_order(shards, values=100).to_json() == merge_in_order(reversed(shards), values=100).to_json()


def test_nothing_merges_to_nothing() -> None:
    assert merge_in_order([]).to_json() == b'{"columns":{},"rows":0,"version":1}'


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "recompute"),
        (b"[]", "expected version 1, found None"),
        (b"{}", "expected version 1, found None"),
        (b'{"version":2}', "expected version 1, found 2"),
        (b'{"version":1,"rows":-1,"columns":{}}', "rows: expected an integer >= 0"),
        (b'{"version":1,"rows":1,"columns":{"a":{"kind":"odd","rows":1,"nulls":0}}}', "kind: unknown value 'odd'"),
        (
            b'{"version":1,"rows":1,"columns":{"a":{"kind":"text","rows":1,"nulls":0,"top":[]}}}',
            "expected an object",
        ),
        (
            b'{"version":1,"rows":1,"columns":{"a":{"kind":"float","rows":1,"nulls":0,"floats":'
            b'{"nan":0,"inf":0,"-inf":0,"min":null,"max":null,"sum":["0x1",-99999999999],"bins":[]}}}}',
            "expected an integer >= -1100",
        ),
        (b'{"version":1,"rows":true,"columns":{}}', "rows: … got true"),
        (b'{"version":1,"rows":1e0,"columns":{}}', "rows: … expected"),
        (b'{"version":1,"rows":99999999999999999999,"columns":{}}', "rows: … expected"),
        (b'{"version":1,"rows":1}', "missing required field columns"),
        (b'{"version":1,"rows":1,"columns":{},"more":1}', "contains unknown field more"),
        (b'{"version":1,"rows":1,"columns":{"a":{"kind":"text","rows":1,"nulls":0,"top":null}}}', "got nothing"),
        (
            b'{"version":1,"rows":1,"columns":{"a":{"kind":"text","rows":1,"nulls":0,"lengths":'
            b'{"min":1,"max":1,"sum":"1","bins":[[1,1,1]]}}}}',
            "length 2",
        ),
        (
            b'{"version":1,"rows":1,"columns":{"a":{"kind":"text","rows":1,"nulls":0,"lengths":'
            b'{"min":1,"max":1,"sum":1,"bins":[]}}}}',
            "sum: expected text",
        ),
    ],
)
def test_bytes_that_are_no_statistics_are_refused(raw: bytes, message: str) -> None:
    with assert_refused(StoreError, message):
        ShardStatistics.from_json(raw)


def test_the_stores_own_tables_are_counted() -> None:
    for schema, spec in ((SAMPLES, SAMPLES_STATISTICS), (EXTRACTION, layer_spec("extract.main", EXTRACTION))):
        assert ShardStatistics.of(spec, [pa.RecordBatch.from_pylist([], schema)]).rows == 0
    assert "id" not in {column.name for column in SAMPLES_STATISTICS.columns}


def test_a_categorical_column_must_be_text_of_the_schema() -> None:
    with pytest.raises(ValueError, match="'size': expected a text column"):
        spec_of(SCHEMA, categorical=("size",))


def test_two_leaves_may_not_share_a_name() -> None:
    schema = pa.schema([pa.field("a.b", pa.int8()), pa.field("a", pa.struct([pa.field("b", pa.int8())]))])
    with pytest.raises(ValueError, match="same name"):
        spec_of(schema)


def test_golden_bytes() -> None:
    """Stores hold these bytes: a change here is a new `VERSION`."""
    batch = pa.record_batch(
        {
            "d": ["a.org", "b.org", "a.org", None],
            "f": [0.5, -2.0, None, float("nan")],
            "n": pa.array([1, 40, None, -3], pa.int32()),
        }
    )
    assert ShardStatistics.of(spec_of(batch.schema, categorical=("d",)), [batch]).to_json().decode() == (
        '{"columns":{"d":{"characters":{"bins":[[5,3]],'
        '"max":5,"min":5,"sum":"15"},"distinct":"sparse:72c02d8701","kind":"text","lengths":{"bins":[[5,3]],'
        '"max":5,"min":5,"sum":"15"},"nulls":1,"rows":4,"top":{"other":0,"uncounted":0,"values":[["a.org",2],["b.org",1]]}},'
        '"f":{"floats":{"-inf":0,"bins":[[-16384,1],[16352,1]],'
        '"inf":0,"max":0.5,"min":-2.0,"nan":1,"sum":["-0x3",-1]},"kind":"float","nulls":1,"rows":4},"n":{"integers":{"bins":[[-3,1],[1,1],[36,1]],'
        '"max":40,"min":-3,"sum":"38"},"kind":"integer","nulls":1,"rows":4}},'
        '"rows":4,"version":1}'
    )
