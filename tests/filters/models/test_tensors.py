"""Arrays in safetensors files: what is written is read by the format's own package and by ours, and nothing else is."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.models.tensors import read_tensors, tensors_bytes
from winnow.pipelines.assets import asset_digest
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


def test_the_bytes_are_those_that_weights_were_named_by() -> None:
    raw = tensors_bytes(ARRAYS, {"b": "2", "a": "1"})
    assert hashlib.sha256(raw).hexdigest() == "f7611dbf72d750682f37b256d5fd4fcc043531f0ed52de4c3d2b8df45cf4ec80"


def test_arrays_come_in_the_order_in_which_they_lie(tmp_path: Path) -> None:
    places = {name: {"dtype": "U8", "shape": [1], "data_offsets": [at, at + 1]} for at, name in enumerate("zaymbx")}
    path = tmp_path / "some.safetensors"
    path.write_bytes(written(dict(sorted(places.items())), b"123456"))
    assert "".join(read_tensors(str(path)).arrays) == "zaymbx"


def test_the_formats_own_package_reads_them_and_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ours.safetensors"
    path.write_bytes(tensors_bytes(ARRAYS, {}))
    loaded = load_file(path)
    assert {name: array.tolist() for name, array in loaded.items()} == {k: v.tolist() for k, v in ARRAYS.items()}
    save_file(ARRAYS, tmp_path / "theirs.safetensors")
    found = read_tensors(str(tmp_path / "theirs.safetensors")).arrays
    assert {name: array.tolist() for name, array in found.items()} == {k: v.tolist() for k, v in ARRAYS.items()}


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def written(header: object, content: bytes = b"") -> bytes:
    said = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(said).to_bytes(8, "little") + said + content


def one(**changes: object) -> bytes:
    return written({"x": {**ONE, **changes}}, b"\0" * 8)


def named_twice(*places: list[int]) -> bytes:
    parts = [json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": place}})[1:-1] for place in places]
    return written(f"{{{','.join(parts)}}}".encode(), b"\0" * 8)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "header too small"),
        (b"\xff" * 8, "header too large"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "header too large"),
        ((9).to_bytes(8, "little") + b"{}", "invalid header length"),
        (b"\x02\0\0\0\0\0\0\0{\xff", "invalid UTF-8"),
        (written([1]), "invalid type: sequence"),
        (written({"__metadata__": {"a": 1}}), "invalid type … `1`"),
        (written({}, b"rest"), "file not fully covered"),
        (written({"x": 1}), "invalid type"),
        (written({"x": {}}), "missing field `dtype`"),
        (one(dtype="OBJ"), "unknown variant `OBJ`"),
        (one(dtype="F8_E4M3", shape=[8]), "of type F8_E4M3; expected one of"),
        (one(dtype="F4", shape=[16]), "of type F4; expected one of"),
        (one(dtype="U16", shape=[4]), "of type U16; expected one of"),
        (one(dtype="C64", shape=[1]), "of type C64; expected one of"),
        (one(dtype=["F32"]), "invalid type"),
        (one(shape=[3]), "invalid shape"),
        (one(shape=[-2]), "integer `-2`"),
        (one(shape=[True, 2]), "boolean `true`"),
        (one(shape=[2.0]), "floating point `2.0`"),
        (one(shape=[1 << 62, 1 << 62]), "overflow"),
        (one(shape="22"), 'string "22"'),
        (one(data_offsets=[4, 12]), "invalid offset"),
        (one(data_offsets=[0, 8, 8]), "invalid length 3"),
        (one(data_offsets=["0", "8"]), 'string "0"'),
        (written(dict.fromkeys(("x", "a\nline"), ONE), b"\0" * 8), "invalid offset"),
        (written({"x": ONE, "y": 0}, b"\0" * 8), "invalid type"),
        (named_twice([0, 4], [4, 8]), "invalid offset"),
        (written(b'{"x":' + b"[" * 100_000), "recursion limit"),
        (written(b" " * (16 << 20) + b"{}"), "header too … 16777216 bytes"),
    ],
)
def test_what_is_damaged_is_refused_in_a_line(tmp_path: Path, raw: bytes, why: str) -> None:
    assert_told(refusal(tmp_path / "damaged", raw), why)


def bf16_file(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """A file of the upper halves of numbers of 32 bits."""
    header, parts, at = {}, [], 0
    for name, array in arrays.items():
        part = (np.ascontiguousarray(array, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    return written(header, b"".join(parts))


def test_every_number_of_bf16_is_read_exactly(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="its bfloat16 is the oracle")
    every = (np.arange(1 << 16, dtype="<u4") << 16).view("<f4").reshape(256, 256)
    (tmp_path / "file").write_bytes(bf16_file({"x": every, "one": every[1, 2].reshape(()), "none": every[:0]}))
    found = read_tensors(str(tmp_path / "file")).arrays
    expected = np.arange(1 << 16, dtype="<u2").view(ml_dtypes.bfloat16).astype(np.float32).reshape(256, 256)
    assert {name: (one.dtype.name, one.shape) for name, one in found.items()} == {
        "x": ("float32", (256, 256)), "one": ("float32", ()), "none": ("float32", (0, 256))
    }  # fmt: skip
    np.testing.assert_array_equal(found["x"], expected)  # NaN is NaN
    assert found["one"] == expected[1, 2]


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


def indexed(folder: Path, **files: str) -> str:
    """An index of arrays by name, and the file that each is in."""
    for name in sorted(set(files.values())):
        held = {array: np.full(2, len(array), np.float32) for array, file in files.items() if file == name}
        (folder / name).write_bytes(tensors_bytes(held, {}))
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    return str(path)


def test_the_files_of_an_index_are_read_as_one(tmp_path: Path) -> None:
    path = indexed(tmp_path, a="1.safetensors", bb="2.safetensors")
    assert {name: one.tolist() for name, one in read_tensors(path).arrays.items()} == {"a": [1, 1], "bb": [2, 2]}
    before = asset_digest(path)
    (tmp_path / "2.safetensors").write_bytes(tensors_bytes({"bb": np.zeros(2, np.float32)}, {}))
    assert asset_digest(path) != before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not an index"),
        (b"[]", "not an index"),
        (b'{"weight_map": {}}', "lists 0 files"),
        (b'{"weight_map": {"a": "../a.safetensors"}}', "../a.safetensors"),
        (b'{"weight_map": {"a": "/etc/passwd"}}', "/etc/passwd"),
        (b'{"weight_map": {"a": 3}}', "it names '3'"),
        (b'{"weight_map": {"a": "gone.safetensors"}}', "'gone.safetensors' is not beside it"),
        (b'{"weight_map": {"a": "%s.safetensors"}}' % (b"a" * 5_000), "is not beside it"),
        (b'{"weight_map": {"a": "\\u0000.safetensors"}}', "is not beside it"),
        (b'{"weight_map": {"a": "\\ud800.safetensors"}}', "is not beside it"),
    ],
)
def test_an_index_of_something_else_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    assert_told(refusal(path, content), said)


def test_an_array_in_two_files_is_one_line(tmp_path: Path) -> None:
    path = indexed(tmp_path, a="1.safetensors", bb="2.safetensors")
    (tmp_path / "2.safetensors").write_bytes((tmp_path / "1.safetensors").read_bytes())
    assert_told(refusal(Path(path), Path(path).read_bytes()), "two of its files hold the same array")


READS = """
import resource, sys
{first}
from winnow.{module} import {reader}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20),) * 2)
try:
    {reader}(sys.argv[1])
except Exception as error:
    sys.exit(f"{{type(error).__name__}} {{error}}")
"""


def told_with_little_memory(folder: Path, module: str, reader: str, first: str = "") -> str:
    """What a reader says of weights of 2 GiB in a process that may take 256 MiB for them."""
    count = 1 << 29
    header = json.dumps({"a": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
    path = folder / "large.safetensors"
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 4 * count)  # no block is written
    command = [sys.executable, "-c", READS.format(module=module, reader=reader, first=first), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_weights_that_do_not_fit_into_memory_are_one_line(tmp_path: Path) -> None:
    said = told_with_little_memory(tmp_path, "filters.models.tensors", "read_tensors")
    assert_told(said, "RecipeError", "large.safetensors", "do not fit into memory")
