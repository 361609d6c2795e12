from collections.abc import Iterable
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.values import ValueHasher

SCHEMA = pa.schema(
    [
        pa.field("text", pa.large_string()),
        pa.field("number", pa.int64()),
        pa.field("share", pa.float64()),
        pa.field("flag", pa.bool_()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("place", pa.struct([pa.field("x", pa.int32()), pa.field("name", pa.string())])),
    ]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.none() | st.text(max_size=8),
            "number": st.none() | st.integers(-(2**63), 2**63 - 1),
            "share": st.none() | st.floats(),
            "flag": st.none() | st.booleans(),
            "tags": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
            "place": st.none()
            | st.fixed_dictionaries(
                {"x": st.none() | st.integers(0, 9), "name": st.none() | st.text(max_size=3)},
            ),
        }
    ),
    max_size=12,
)


def value_hash(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
    hasher = ValueHasher(schema)
    for batch in batches:
        hasher.update(batch)
    return hasher.hexdigest()


@given(ROWS, st.lists(st.integers(0, 12), max_size=4))
def test_the_hash_does_not_depend_on_how_rows_are_cut(rows: list[dict[str, object]], cuts: list[int]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    bounds = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    slices = [batch.slice(start, end - start) for start, end in pairwise(bounds)]
    assert value_hash(SCHEMA, slices) == value_hash(SCHEMA, [batch])


@given(ROWS)
def test_the_hash_survives_a_file(rows: list[dict[str, object]]) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([batch]), sink, compression="zstd", row_group_size=3)
    read = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert value_hash(SCHEMA, read.to_batches()) == value_hash(SCHEMA, [batch])


@given(ROWS, ROWS)
def test_different_rows_have_different_hashes(one: list[dict[str, object]], two: list[dict[str, object]]) -> None:
    def decoded(rows: list[dict[str, object]]) -> pa.Table:
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    if repr(decoded(one).to_pylist()) != repr(decoded(two).to_pylist()):
        assert value_hash(SCHEMA, decoded(one).to_batches()) != value_hash(SCHEMA, decoded(two).to_batches())


def test_null_is_not_empty_and_a_moved_boundary_is_seen() -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.list_(pa.string()))])

    def of(a: list[str | None], b: list[list[str] | None]) -> str:
        return value_hash(
            schema, [pa.record_batch([pa.array(a, pa.string()), pa.array(b, pa.list_(pa.string()))], schema=schema)]
        )

    seen = {
        of(["ab", "c"], [[], []]),
        of(["a", "bc"], [[], []]),
        of([None, "abc"], [[], []]),
        of(["", "abc"], [[], []]),
    }
    seen |= {of(["ab", "c"], [None, []]), of(["ab", "c"], [["x"], []]), of(["ab", "c"], [[], ["x"]])}
    assert len(seen) == 7


def test_the_schema_is_part_of_the_hash() -> None:
    narrow, wide = pa.schema([("a", pa.int32())]), pa.schema([("a", pa.int64())])
    assert value_hash(narrow, []) != value_hash(wide, [])


def test_the_hash_of_known_rows_is_pinned() -> None:
    """Stores that exist were hashed this way: a change here is a new format version."""
    rows = pa.RecordBatch.from_pylist([{"text": "naïve", "number": -1, "tags": ["a", None]}, {}], schema=SCHEMA)
    assert value_hash(SCHEMA, [rows]) == "eeadaefb7d3b52412659005f664c68ff"


def test_the_hash_of_rows_of_the_store_survives_a_file() -> None:
    """Arrow and Parquet name what is in a list differently."""
    row = {
        "id": b"0" * 16,
        "source": {"name": "s", "path": "p", "record": "r", "offset": 0, "length": 1, "unit": "bytes", "member": 0},
        "source_class": "web",
        "licence": "unknown",
        "modality": "image",
        "media": [{"mime": "image/png", "ref": {"path": "p", "offset": 0, "length": 1, "container": "warc"}}],
        "captions": [{"text": "t", "origin": "alt"}],
        "metadata": "{}",
    }
    batch = pa.RecordBatch.from_pylist([row], schema=SAMPLES)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([batch]), sink)
    read = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert value_hash(read.schema, read.to_batches()) == value_hash(SAMPLES, [batch])
