"""Arrays in safetensors files: what is written is read by the format's own package and by ours, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.models.tensors import read_tensors, tensors_bytes
from winnow.schemas.errors import RecipeError

ARRAYS: dict[str, Any] = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a": np.array([1, 255], np.uint8),
    "none": np.zeros((0, 4), np.float64),
    "one": np.array(7, np.int64),
}


def refusal(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    with pytest.raises(RecipeError) as caught:
        read_tensors(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    path.write_bytes(tensors_bytes(ARRAYS, {"origin": "here"}))
    found = read_tensors(str(path))
    assert found.metadata == {"origin": "here"}
    assert set(found.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)


def test_the_same_arrays_give_the_same_bytes() -> None:
    assert tensors_bytes(ARRAYS, {"b": "2", "a": "1"}) == tensors_bytes(
        dict(reversed(ARRAYS.items())), {"a": "1", "b": "2"}
    )


def test_the_formats_own_package_reads_them_and_is_read(tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "ours.safetensors"
    path.write_bytes(tensors_bytes(ARRAYS, {}))
    loaded = theirs.load_file(path)
    assert {name: array.tolist() for name, array in loaded.items()} == {k: v.tolist() for k, v in ARRAYS.items()}
    theirs.save_file(ARRAYS, tmp_path / "theirs.safetensors")
    found = read_tensors(str(tmp_path / "theirs.safetensors")).arrays
    assert {name: array.tolist() for name, array in found.items()} == {k: v.tolist() for k, v in ARRAYS.items()}


def written(header: object, content: bytes = b"") -> bytes:
    said = json.dumps(header).encode()
    return len(said).to_bytes(8, "little") + said + content


def one(**changes: object) -> bytes:
    return written({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}, b"\0" * 8)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "does not fit"),
        (b"\xff" * 8, "does not fit"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "does not fit"),
        (written([1]), "no mapping"),
        (written({"__metadata__": {"a": 1}}), "not text by key"),
        (b"\x02\0\0\0\0\0\0\0{\xff", "safetensors"),
        (written({}, b"rest"), "4 bytes belong to no array"),
        (written({"x": 1}), "safetensors"),
        (written({"x": {}}), "safetensors"),
        (one(dtype="OBJ"), "of type 'OBJ'"),
        (one(dtype=["F32"]), "safetensors"),
        (one(shape=[3]), "does not lie where it should"),
        (one(shape=[-2]), "no shape or no place"),
        (one(shape=[True, 2]), "no shape or no place"),
        (one(shape=[1 << 62, 1 << 62]), "does not lie where it should"),
        (one(shape="22"), "no shape or no place"),
        (one(data_offsets=[4, 12]), "does not lie where it should"),
        (one(data_offsets=[0, 8, 8]), "no shape or no place"),
        (one(data_offsets=["0", "8"]), "no shape or no place"),
        (written({"x": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}} | {"y": 0}, b"\0" * 8), "safetensors"),
    ],
)
def test_what_is_damaged_is_refused_in_a_line(tmp_path: Path, raw: bytes, why: str) -> None:
    assert why in refusal(tmp_path / "damaged", raw)


def test_a_missing_file_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="No such file"):
        read_tensors(str(tmp_path / "none"))


@settings(max_examples=scaled(150), deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raw = bytearray(tensors_bytes(ARRAYS, {"origin": "here"}))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    path.write_bytes(raw)
    said = ""
    try:
        read_tensors(str(path))
    except RecipeError as error:
        said = str(error)
    assert "\n" not in said
