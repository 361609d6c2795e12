"""Layers are read side by side, however each was cut into row groups."""

from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.pipelines.reading.columns import Column, column_of, leaves, read_aligned
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.errors import StoreError


def written(store: MemoryStore, name: str, rows: int, row_group_rows: int) -> str:
    source = pa.StructArray.from_arrays([pa.array([f"{name}{row}" for row in range(rows)])], names=["path"])
    batch = pa.RecordBatch.from_arrays([pa.array(range(rows), pa.int64()), source], names=["row", "source"])
    with TableWriter(store, batch.schema, row_group_rows=row_group_rows) as writer:
        writer.write(batch)
        return writer.finish(lambda content: f"{name}.{content}.parquet").path


@given(
    rows=st.integers(0, 40),
    groups=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    batch_rows=st.integers(1, 50),
)
def test_rows_stay_together(rows: int, groups: tuple[int, int], batch_rows: int) -> None:
    store = MemoryStore(uuid4().hex)
    objects = {name: written(store, name, rows, size) for name, size in zip("ab", groups, strict=True)}
    wanted = [Column("a", "row"), Column("b", "row"), Column("b", "source.path")]
    found: list[tuple[int, int, str]] = []
    for columns in read_aligned(store, objects, wanted, batch_rows):
        assert len(columns["a.row"]) <= batch_rows
        found += zip(*(columns[column.name].to_pylist() for column in wanted), strict=True)
    assert found == [(row, row, f"b{row}") for row in range(rows)]


def test_layers_of_different_lengths_are_an_error() -> None:
    store = MemoryStore(uuid4().hex)
    objects = {"a": written(store, "a", 5, 2), "b": written(store, "b", 4, 3)}
    with assert_refused(StoreError, "layers beside"):
        list(read_aligned(store, objects, [Column("a", "row"), Column("b", "row")], 10))


def test_a_dotted_name_means_a_leaf_of_a_layer() -> None:
    layers = ["samples", "extract.main", "text.language"]
    assert column_of("samples.source.name", layers) == Column("samples", "source.name")
    assert column_of("text.language.code", layers) == Column("text.language", "code")
    assert column_of("text.other.code", layers) is None


def test_leaves_of_a_nullable_struct_are_nullable() -> None:
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = pa.schema([pa.field("s", inner), pa.field("t", inner, nullable=False)])

    def nullable() -> Iterator[tuple[str, bool]]:
        return ((name, info.nullable) for name, info in leaves(schema))

    assert dict(nullable()) == {"s.x": True, "t.x": False}
