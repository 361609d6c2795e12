"""Threshold tables: a number for each key and column, and null for everything else."""

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from winnow.schemas.rules.thresholds import ThresholdTable, lookup

TABLE = ThresholdTable("t", "text.language.code", ("deu", "fra"), {"least": (0.5, None), "most": (2, 3)})


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_a_cell_is_looked_up_by_the_rows_key(kind: pa.DataType) -> None:
    keys = pa.array(["fra", "deu", "swe", None, "deu", ""]).cast(kind)
    assert lookup(TABLE, keys, "least").to_pylist() == [None, 0.5, None, None, 0.5, None]
    assert lookup(TABLE, keys, "most").to_pylist() == [3, 2, None, None, 2, None]
    assert lookup(TABLE, keys, "most").type == pa.float64()
    assert lookup(TABLE, keys.slice(1, 2), "most").to_pylist() == [2, None]
    assert lookup(TABLE, keys.slice(0, 0), "most").to_pylist() == []


def test_a_table_without_keys_is_null_everywhere() -> None:
    assert lookup(ThresholdTable("t", "a.b", (), {"x": ()}), pa.array(["deu", None]), "x").to_pylist() == [None, None]


def test_single_cells_may_differ() -> None:
    changed = TABLE.with_cells({"deu": {"least": 0.7}, "swe": {"most": 9.0}, "fra": {"most": None}})
    assert changed.keys == ("deu", "fra", "swe")
    assert dict(changed.columns) == {"least": (0.7, None, None), "most": (2, None, 9.0)}
    assert TABLE.columns["least"] == (0.5, None)
    assert changed.digest != TABLE.digest
    assert TABLE.with_cells({}).digest == TABLE.digest


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        (("a", "a"), (1, 2), "has the key 'a' twice"),
        (("a", "b"), (1,), "'x' … 1 values … 2 keys"),
        (("a",), (float("nan"),), "'x' … finite"),
    ],
)
def test_a_table_that_is_none_is_refused(keys: tuple[str, ...], values: tuple[float, ...], message: str) -> None:
    with assert_refused(ValueError, message):
        ThresholdTable("t", "a.b", keys, {"x": values})
