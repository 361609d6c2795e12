"""The id list, as DataComp's tools read it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.export.planning.id_list import sorted_uids, write_id_list


def ids(*values: bytes) -> pa.Array:
    return pa.array(values, pa.binary(16))


FIRST = bytes(15) + b"\x01"
SECOND = bytes.fromhex("00000000000000ff0000000000000000")
LAST = b"\xff" * 16


def test_the_file_holds_sorted_pairs_each_once(tmp_path: Path) -> None:
    file = tmp_path / "train.npy"
    assert write_id_list([ids(LAST, FIRST), ids(SECOND, LAST)], file) == 3
    pairs = np.load(file)
    assert pairs.dtype == np.dtype("u8,u8")
    assert pairs.tolist() == [(0, 1), (0xFF, 0), (2**64 - 1, 2**64 - 1)]
    assert [f"{high:016x}{low:016x}" for high, low in pairs.tolist()] == [one.hex() for one in (FIRST, SECOND, LAST)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.npy"]


def test_membership_is_found_as_datacomp_finds_it(tmp_path: Path) -> None:
    # datacomp's resharder searches the sorted list for each uid, made of the two halves of its hexadecimal name.
    file = tmp_path / "train.npy"
    write_id_list([ids(SECOND, FIRST)], file)
    pairs = np.load(file)
    wanted = np.array((int(SECOND.hex()[:16], 16), int(SECOND.hex()[16:], 16)), np.dtype("u8,u8"))
    assert pairs[np.searchsorted(pairs, wanted)] == wanted


def test_no_samples_are_an_empty_list(tmp_path: Path) -> None:
    assert write_id_list([], tmp_path / "train.npy") == 0
    assert np.load(tmp_path / "train.npy").tolist() == []


@given(st.lists(st.one_of(st.binary(min_size=16, max_size=16), st.sampled_from([FIRST, bytes(16), LAST]))), st.data())
def test_the_order_is_numpys_own(values: list[bytes], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(values)))
    sliced = ids(LAST, *values[:cut])[1:]  # an array that begins inside its buffer
    expected = np.unique(
        np.array([(int.from_bytes(one[:8], "big"), int.from_bytes(one[8:], "big")) for one in values], "u8,u8")
    )
    assert sorted_uids([sliced, ids(*values[cut:])]).tolist() == expected.tolist()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.npy").mkdir()
    with pytest.raises(OSError, match=r"train\.npy"):
        write_id_list([ids(FIRST)], tmp_path / "train.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["train.npy"]


def test_ids_are_of_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="expected ids of 16 bytes"):
        sorted_uids([pa.array([b"short"])])
