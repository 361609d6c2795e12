"""Whatever part of an object is read, it is what was written, or a DamagedError."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.pipelines.store.integrity import checked_parquet
from winnow.pipelines.store.integrity.checked_parquet import LEAST_BLOCK_BYTES, MOST_BLOCKS, CheckedFile
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import TableWriter, put_table, read_batches, read_rows, read_schema, read_table

ROWS = 40_000
NOISE = np.random.default_rng(5).integers(0, 1 << 60, ROWS)
TABLE = pa.table({"wide": NOISE, "narrow": pa.array(np.arange(ROWS) % 7, pa.int8()), "text": [str(n) for n in NOISE]})


def put(objects: MemoryStore | LocalStore, table: pa.Table = TABLE) -> str:
    with TableWriter(objects, table.schema, row_group_rows=10_000) as writer:
        for batch in table.to_batches(1_000):
            writer.write(batch)
        return writer.finish(lambda content: f"samples/shard.{content}.parquet").path


WHOLE = MemoryStore("checked-parquet")
PATH = put(WHOLE)
RAW = WHOLE.read(PATH)


def changed(raw: bytes) -> MemoryStore:
    objects = MemoryStore("checked-parquet-changed")
    objects.put(PATH, raw)
    return objects


READS: dict[str, Callable[[MemoryStore], pa.Table]] = {
    "all": lambda objects: read_table(objects, PATH),
    "streamed": lambda objects: pa.Table.from_batches(read_batches(objects, PATH, batch_rows=999)),
    "a column": lambda objects: pa.Table.from_batches(read_batches(objects, PATH, ["narrow"])),
    "rows": lambda objects: read_rows(objects, PATH, [3, 39_999, 12_345]),
    "the schema": lambda objects: read_schema(objects, PATH).empty_table(),
}


def test_an_object_of_several_blocks_is_read_as_it_was_written() -> None:
    assert len(RAW) > 5 * LEAST_BLOCK_BYTES
    assert READS["all"](WHOLE) == READS["streamed"](WHOLE) == TABLE
    assert READS["a column"](WHOLE) == TABLE.select(["narrow"])
    assert READS["rows"](WHOLE) == TABLE.take([3, 39_999, 12_345])
    assert READS["the schema"](WHOLE).schema == TABLE.schema
    assert pq.read_table(pa.BufferReader(RAW)) == TABLE, "any other reader of Parquet reads it too"


@given(st.integers(0, len(RAW) - 1), st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_noticed_by_whoever_reads_it(at: int, bit: int) -> None:
    raw = bytearray(RAW)
    raw[at] ^= 1 << bit
    objects = changed(bytes(raw))
    with assert_refused(DamagedError, "'winnow ingest RECIPE'"):
        READS["all"](objects)
    with pytest.raises(DamagedError):
        READS["streamed"](objects)
    for name in ("a column", "rows", "the schema"):
        try:
            found = READS[name](objects)
        except DamagedError:
            continue
        assert found == READS[name](WHOLE), name


@given(st.integers(0, len(RAW) - 1))
def test_a_cut_object_is_noticed(size: int) -> None:
    for read in READS.values():
        with pytest.raises(DamagedError):
            read(changed(RAW[:size]))


@pytest.mark.parametrize(
    "raw", [b"", b"PAR1", RAW + b"PAR1", b"\xff" * 9, b"x" * (1 << 17), (1 << 30).to_bytes(4, "little") + b"PAR1"]
)
def test_what_is_no_such_object_is_noticed(raw: bytes) -> None:
    for read in READS.values():
        with pytest.raises(DamagedError):
            read(changed(raw))


def test_a_whole_object_under_another_name_is_noticed() -> None:
    other = put(WHOLE, TABLE.slice(0, 10))
    for read in READS.values():
        with pytest.raises(DamagedError):
            read(changed(WHOLE.read(other)))


def test_an_object_that_is_not_there_is_one_line() -> None:
    for read in READS.values():
        with pytest.raises(MissingError, match=f"^memory://checked-parquet-none: {PATH} is missing; run 'winnow"):
            read(MemoryStore("checked-parquet-none"))


@pytest.mark.parametrize("table", [TABLE.slice(0, 0), pa.table({}), TABLE.slice(0, 1)], ids=["rows", "columns", "one"])
def test_a_table_without_rows_or_columns_is_proved_as_well(table: pa.Table, tmp_path: Path) -> None:
    objects = LocalStore(tmp_path)
    path = put_table(objects, table, lambda content: f"manifests/samples/{content}.parquet").path
    assert read_table(objects, path) == table


def test_equal_tables_have_equal_names() -> None:
    assert put(MemoryStore("checked-parquet-again")) == PATH


class Counting(io.BytesIO):
    """Bytes; how many were asked for is counted."""

    asked = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.asked += len(found)
        return found


def test_a_reader_of_one_column_reads_little_more_than_that_column() -> None:
    stream = Counting(RAW)
    with pq.ParquetFile(CheckedFile(stream, "memory", PATH), pre_buffer=False) as parquet:
        parquet.read(["narrow"], use_threads=False)
    groups = TABLE.num_rows // 10_000
    assert stream.asked < (2 * groups + 1) * LEAST_BLOCK_BYTES < len(RAW)


def test_a_reader_from_front_to_back_reads_each_block_once() -> None:
    stream = Counting(RAW)
    checked = CheckedFile(stream, "memory", PATH)
    footer = stream.asked
    pieces = list(iter(lambda: checked.read(10_007), b""))
    assert b"".join(pieces) == RAW
    assert stream.asked - footer <= len(RAW)


def test_a_large_object_has_large_blocks_and_few_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_parquet, "LEAST_BLOCK_BYTES", 64)
    objects = MemoryStore("checked-parquet-large")
    path = put(objects)
    checked = CheckedFile(io.BytesIO(objects.read(path)), "memory", path)
    checked.check()
    _, _, hashes = checked.metadata.metadata[checked_parquet.HASHES.encode()].partition(b":")
    assert MOST_BLOCKS // 2 < len(hashes) // 16 <= MOST_BLOCKS
