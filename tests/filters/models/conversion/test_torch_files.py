"""Checkpoints of PyTorch are read without it; a pickle that does anything else is refused, none is run."""

import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from winnow.filters.models.conversion.torch_files import read_arrays
from winnow.schemas.errors import WinnowError


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def numbers(*values: int) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


def array(name: str, key: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> bytes:
    """The instructions by which PyTorch pickles one entry."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + b"J\x06\0\0\0Nt" + b"Q"
    arguments = b"(" + storage + b"J" + struct.pack("<i", offset) + numbers(*shape) + numbers(*strides)
    return text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"\x89ccollections\nOrderedDict\n)RtR"


def checkpoint(path: Path, entries: bytes, values: bytes | None = None) -> Path:
    """A file whose one storage, `7`, has six floats."""
    facts = [pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    described = b"\x80\x02ccollections\nOrderedDict\n)R(" + entries + b"u."
    raw = np.arange(6, dtype="<f4").tobytes() if values is None else values
    order = pickle.dumps(["7"], 2)
    path.write_bytes(b"".join([*facts, described, order, (6).to_bytes(8, "little"), raw]))
    return path


def test_arrays_are_read_in_their_shape_and_order(tmp_path: Path) -> None:
    entries = (
        array("rows", "7", (2, 3), (3, 1)) + array("turned", "7", (3, 2), (1, 3)) + array("end", "7", (2,), (1,), 4)
    )
    found = read_arrays(checkpoint(tmp_path / "c.pth", entries))
    assert {name: one.tolist() for name, one in found.items()} == {
        "rows": [[0, 1, 2], [3, 4, 5]],
        "turned": [[0, 3], [1, 4], [2, 5]],
        "end": [4, 5],
    }


def archive(path: Path, entries: bytes, compression: int = zipfile.ZIP_STORED, **more: bytes) -> Path:
    """The same as PyTorch writes it since 1.6: a storage says nothing of views."""
    described = b"\x80\x02ccollections\nOrderedDict\n)R(" + entries.replace(b"Nt" + b"Q", b"tQ") + b"u."
    members = {"data.pkl": described, "version": b"3\n", "data/7": np.arange(6, dtype="<f4").tobytes()} | more
    with zipfile.ZipFile(path, "w", compression) as written:
        for name, content in members.items():
            written.writestr(f"any/{name}", content)
    return path


def test_an_archive_gives_the_same_arrays(tmp_path: Path) -> None:
    entries = array("rows", "7", (2, 3), (3, 1)) + array("end", "7", (2,), (1,), 4) + array("one", "7", (), ())
    found = read_arrays(archive(tmp_path / "c.pth", entries))
    assert {name: one.tolist() for name, one in found.items()} == {
        "rows": [[0, 1, 2], [3, 4, 5]],
        "end": [4, 5],
        "one": 0,
    }


REFUSED = r"^c.pth: not a PyTorch checkpoint of arrays: .*; nothing of it was run$"


@pytest.mark.parametrize(
    "entries",
    [
        array("far", "7", (2, 3), (4, 1)),
        array("before", "7", (2,), (1,), -1),
        array("empty", "7", (0,), (1,)),
        array("other", "8", (2,), (1,)),
        text("number") + b"K\x01",
        text("call") + b"cos\nsystem\n" + b"(" + text("touch /tmp/run") + b"tR",
        text("call") + b"(S'id'\nios\nsystem\n",
        b"K\x01K\x02K\x03",
    ],
)
def test_what_is_no_array_is_refused(tmp_path: Path, entries: bytes) -> None:
    for write in (checkpoint, archive):
        with pytest.raises(WinnowError, match=REFUSED):
            read_arrays(write(tmp_path / "c.pth", entries))


@pytest.mark.parametrize("size", [0, 22, 23])
def test_an_archive_with_too_few_values_is_refused(tmp_path: Path, size: int) -> None:
    rows = array("rows", "7", (2, 3), (3, 1))
    with pytest.raises(WinnowError, match=REFUSED):
        read_arrays(archive(tmp_path / "c.pth", rows, zipfile.ZIP_STORED, **{"data/7": bytes(size)}))


def test_a_compressed_archive_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    rows = array("rows", "7", (2, 3), (3, 1))
    with pytest.raises(WinnowError, match="it is compressed"):
        read_arrays(archive(tmp_path / "c.pth", rows, zipfile.ZIP_DEFLATED))


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = checkpoint(tmp_path / "c.pth", array("rows", "7", (2, 3), (3, 1))).read_bytes()
    packed = archive(tmp_path / "c.pth", array("rows", "7", (2, 3), (3, 1))).read_bytes()
    for content in (whole, packed):
        for size in range(0, len(content), 7):
            (tmp_path / "c.pth").write_bytes(content[:size])
            with pytest.raises(WinnowError, match=REFUSED):
                read_arrays(tmp_path / "c.pth")


class Run:
    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, ("ran",))


def test_a_pickle_that_runs_code_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.pth").write_bytes(pickle.dumps(Run(), 2))
    with pytest.raises(WinnowError, match=REFUSED):
        read_arrays(tmp_path / "c.pth")
    assert not (tmp_path / "ran").exists()
