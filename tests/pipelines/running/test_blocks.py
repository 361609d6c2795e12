"""Batches cross a boundary as their own rows and nothing else."""

import numpy as np
import pyarrow as pa
import pytest
from apache_beam.coders.typecoders import registry
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.pipelines.running.block_coders import AddressedBlockCoder, RecordBatchCoder
from winnow.pipelines.running.blocks import (
    AddressedBlock,
    decode_batch,
    decode_block,
    encode_batch,
    encode_block,
    encoded_pieces,
)

COLUMNS = {
    "integers": pa.array([1, None, 3]),
    "text": pa.array(["a", "ß", None]),
    "large text": pa.array(["a", "ß", None], pa.large_string()),
    "keys": pa.array([b"0123456789abcdef"] * 3, pa.binary(16)),
    "lists": pa.array([[1, 2], [], None]),
    "structs": pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": None}]),
    "dictionary": pa.array(["x", None, "y"]).dictionary_encode(),
    "views": pa.array(["a", None, "longer than the twelve bytes held inline"], pa.string_view()),
    "booleans": pa.array([True, None, False]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [(0, 3), (1, 2), (0, 0)])
def test_a_batch_comes_back_as_it_was(name: str, rows: tuple[int, int]) -> None:
    batch = pa.RecordBatch.from_arrays([COLUMNS[name]], [name]).slice(*rows)
    decoded = decode_batch(encode_batch(batch))
    assert decoded.schema == batch.schema
    assert decoded.to_pylist() == batch.to_pylist()
    decoded.validate(full=True)


def test_schema_metadata_survives() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1])], schema=pa.schema([("a", pa.int64())], {"unit": "rows"}))
    assert decode_batch(encode_batch(batch)).schema.metadata == {b"unit": b"rows"}


def test_ten_rows_of_sixteen_megabytes_are_small() -> None:
    batch = pa.RecordBatch.from_pydict({"n": np.arange(1 << 20), "text": [f"{n:07d}" for n in range(1 << 20)]})
    assert batch.nbytes > 16 << 20
    assert len(encode_batch(batch.slice(777_777, 10))) < 1024


def test_ten_rows_of_a_large_dictionary_are_small() -> None:
    column = pa.array([f"value {n}" for n in range(100_000)]).dictionary_encode()
    ten = pa.RecordBatch.from_arrays([column], ["d"]).slice(50_000, 10)
    assert len(encode_batch(ten)) < 1024
    assert decode_batch(encode_batch(ten)).to_pylist() == ten.to_pylist()


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_ten_rows_of_a_view_column_are_small(kind: pa.DataType) -> None:
    column = pa.array([f"a value longer than twelve bytes {n}" for n in range(100_000)]).cast(kind)
    assert len(encode_batch(pa.RecordBatch.from_arrays([column], ["v"]).slice(50_000, 10))) < 2048


def test_an_ordered_dictionary_keeps_its_order() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([3, 1], pa.int8()), pa.array(["S", "M", "L", "XL"]), ordered=True)
    decoded = decode_batch(encode_batch(pa.RecordBatch.from_arrays([column], ["size"])))["size"]
    assert decoded.type == column.type
    assert decoded.dictionary.to_pylist() == ["M", "XL"]
    assert decoded.to_pylist() == ["XL", "M"]


@settings(derandomize=True, deadline=None, max_examples=scaled(100))
@given(
    rows=st.lists(st.tuples(st.none() | st.integers(0, 9), st.none() | st.text(max_size=9), st.none() | st.booleans())),
    before=st.integers(0, 9),
    after=st.integers(0, 9),
)
def test_equal_rows_are_equal_bytes_wherever_they_were_cut_from(
    rows: list[tuple[int | None, str | None, bool | None]], before: int, after: int
) -> None:
    schema = pa.schema([("n", pa.int64()), ("text", pa.string()), ("flag", pa.bool_())])

    def batch_of(values: list[tuple[int | None, str | None, bool | None]]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema)

    parent = batch_of([(7, "before", True)] * before + rows + [(8, "after", False)] * after)
    assert encode_batch(parent.slice(before, len(rows))) == encode_batch(batch_of(rows))


@pytest.mark.parametrize("origin", ["o", "crawl/part-00000.warc.gz", "ein Straßenname", "x" * 7])
def test_a_block_keeps_its_address_and_its_batch_stays_aligned(origin: str) -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
    block = decode_block(encode_block(AddressedBlock(5, origin, 7, batch)))
    assert (block.partition, block.origin, block.number) == (5, origin, 7)
    assert block.batch.equals(batch)
    assert block.batch["n"].buffers()[1].address % 8 == 0


@pytest.mark.parametrize(("partition", "origin", "number"), [(-1, "o", 0), (0, "", 0), (0, "o", -1)])
def test_an_address_must_be_one(partition: int, origin: str, number: int) -> None:
    with pytest.raises(ValueError, match="a block needs a partition"):
        AddressedBlock(partition, origin, number, pa.RecordBatch.from_pydict({"n": [1]}))


def test_both_coders_are_registered_and_size_a_slice_by_its_own_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"n": np.arange(1000)})
    assert isinstance(registry.get_coder(pa.RecordBatch), RecordBatchCoder)
    assert isinstance(registry.get_coder(AddressedBlock), AddressedBlockCoder)
    assert registry.get_coder(pa.RecordBatch).estimate_size(batch.slice(5, 10)) == 80
    assert registry.get_coder(AddressedBlock).estimate_size(AddressedBlock(0, "o", 0, batch.slice(5, 10))) < 200
    assert registry.get_coder(AddressedBlock).is_deterministic()
    assert registry.get_coder(pa.RecordBatch).is_deterministic()


def test_columns_that_lie_as_they_are_written_are_not_copied() -> None:
    column = pa.array(["a" * 1000] * 100, pa.large_string())
    pieces = encoded_pieces(pa.RecordBatch.from_arrays([column], ["text"]))
    assert column.buffers()[2].address in {piece.address for piece in pieces if isinstance(piece, pa.Buffer)}
