"""Scratch files: what is written is read back in order, and damage is noticed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from tests.messages import assert_refused
from winnow.pipelines.running.blocks import encode_batch
from winnow.pipelines.running.exchange import ExchangeError, clear_scratch, files
from winnow.pipelines.running.exchange.segments import (
    PackedBlock,
    Segment,
    SegmentFile,
    merge_files,
    placed_runs,
    plan_merges,
    read_index,
    read_runs,
    successive_origins,
    write_file,
)
from winnow.pipelines.store.local import LocalStore


def _packed(partition: int, number: int, *values: int) -> PackedBlock:
    batch = pa.RecordBatch.from_pydict({"n": values})
    return PackedBlock(partition, number, len(values), (encode_batch(batch),))


def _write(store: LocalStore, origin: str, *blocks: PackedBlock) -> SegmentFile:
    return write_file(store, "x", origin, list(blocks))


def _read(store: LocalStore, partition: int, written: list[SegmentFile]) -> list[list[int]]:
    segments = [segment for file in written for segment in read_index(store, file) if segment.partition == partition]
    return [batch["n"].to_pylist() for batch in read_runs(store, placed_runs(partition, segments))]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def test_a_file_holds_its_partitions_in_order(store: LocalStore) -> None:
    file = _write(store, "o", _packed(2, 0, 1), _packed(0, 0, 2), _packed(2, 2, 3), _packed(2, 1, 4, 5))
    assert [(segment.partition, [(run.first, run.blocks, run.rows) for run in segment.runs])
            for segment in read_index(store, file)] == [(0, [(0, 1, 1)]), (2, [(0, 3, 4)])]  # fmt: skip
    assert _read(store, 0, [file]) == [[2]]
    assert _read(store, 2, [file]) == [[1], [4, 5], [3]]


def test_references_survive_the_wire(store: LocalStore) -> None:
    file = _write(store, "o", _packed(2, 0, 1))
    assert SegmentFile.decode(file.encode()) == file
    (segment,) = read_index(store, file)
    assert Segment.decode(segment.encode()) == segment


def test_the_same_blocks_are_the_same_object_whatever_their_order(store: LocalStore) -> None:
    first = _write(store, "crawl/part 1", _packed(0, 0, 1), _packed(1, 0, 2))
    assert _write(store, "crawl/part 1", _packed(1, 0, 2), _packed(0, 0, 1)) == first
    assert first.path.startswith("x/crawl-part-1.")
    assert len(list(store.list())) == 1


@pytest.mark.parametrize("origin", ["../../etc/passwd", "..", "/", "名前", "a" * 500])
def test_an_origin_cannot_lead_out_of_the_scratch_folder(store: LocalStore, origin: str) -> None:
    file = _write(store, origin, _packed(0, 0, 1))
    assert file.path.count("/") == 1
    assert _read(store, 0, [file]) == [[1]]


def test_runs_are_read_in_order_of_origin_and_number_from_any_files(store: LocalStore) -> None:
    files = [
        _write(store, "b", _packed(0, 0, 5)),
        _write(store, "a", _packed(0, 2, 3), _packed(0, 3, 4)),
        _write(store, "a", _packed(0, 0, 1), _packed(0, 1, 2)),
    ]
    assert _read(store, 0, files) == [[1], [2], [3], [4], [5]]


def test_a_run_that_is_stored_twice_counts_once(store: LocalStore) -> None:
    files = [_write(store, "a", _packed(0, 0, 1), _packed(1, 0, 9)), _write(store, "a", _packed(0, 0, 1))]
    assert _read(store, 0, files) == [[1]]


def test_a_run_that_is_stored_twice_with_different_rows_is_an_error(store: LocalStore) -> None:
    files = [_write(store, "a", _packed(0, 0, 1)), _write(store, "a", _packed(0, 0, 2))]
    with assert_refused(ExchangeError, "partition 0", "0 of 'a'"):
        _read(store, 0, files)


def test_merged_files_read_the_same_and_in_fewer_segments(store: LocalStore) -> None:
    files = [_write(store, f"o{n}", _packed(n % 3, 0, n), _packed(3, 0, 10 + n), _packed(3, 1, 20 + n))
             for n in range(7)]  # fmt: skip
    merged = merge_files(store, "x", files)
    assert merged.segments == 4
    assert all(_read(store, partition, [merged]) == _read(store, partition, files) for partition in range(4))
    assert merge_files(store, "x", files) == merged
    assert merge_files(store, "x", files[:1]) == files[0]


def test_only_many_files_with_small_segments_are_merged() -> None:
    files = [SegmentFile(f"x/{n}", f"o{n}", 4, 400, 10, 0) for n in range(10)]  # segments of 100 bytes
    alone = [[file] for file in files]
    assert plan_merges(reversed(files), 100, 5, 64) == alone
    assert plan_merges(files, 1000, 10, 64) == alone
    assert plan_merges([*files, files[3]], 250, 5, 64) == [files[0:3], files[3:6], files[6:9], files[9:]]
    assert plan_merges(files, 1 << 20, 5, 4) == [files[0:4], files[4:8], files[8:]]
    assert plan_merges([], 100, 5, 64) == []


def test_files_of_a_hundred_successive_origins_are_merged_together() -> None:
    origins = [f"place-{number:08d}" for number in range(400)]
    assert [successive_origins(origin).before for origin in origins] == [100 * (n // 100) for n in range(400)]
    assert len({successive_origins(origin).name for origin in origins}) == 4
    assert successive_origins("bands-1234") == ("bands-12", 1200)
    assert successive_origins("o") == ("", 0)
    files = [SegmentFile(f"x/{n}", f"place-{n:08d}", 4, 400, 10, 0) for n in range(300, 303)]
    assert plan_merges(files, 1000, 64, 64) == [files]  # there are at least three hundred before them
    assert plan_merges(files, 1000, 303, 64) == [[file] for file in files]


def test_a_task_that_runs_twice_at_once_leaves_one_file(store: LocalStore) -> None:
    packed = [_packed(number % 3, number // 3, number, 100 + number) for number in range(9)]
    with ThreadPoolExecutor(4) as pool:
        (file,) = set(pool.map(lambda _: _write(store, "o", *packed), range(12)))
    assert [info.path for info in store.list()] == [file.path]
    assert _read(store, 1, [file]) == [[1, 101], [4, 104], [7, 107]]


def _damage(store: LocalStore, file: SegmentFile, content: bytes) -> None:
    store.put(file.path, content)


def test_a_lost_file_is_an_error(store: LocalStore) -> None:
    file = _write(store, "o", _packed(0, 0, 1))
    placed = placed_runs(0, read_index(store, file))
    store.delete(file.path)
    with assert_refused(ExchangeError, "x/o", "scratch file"):
        list(read_runs(store, placed))
    with pytest.raises(ExchangeError, match="is missing"):
        read_index(store, file)
    with pytest.raises(ExchangeError, match="is missing"):
        merge_files(store, "x", [file, _write(store, "p", _packed(0, 0, 1))])


def test_a_truncated_file_is_an_error(store: LocalStore) -> None:
    file = _write(store, "o", _packed(0, 0, 1))
    placed = placed_runs(0, read_index(store, file))
    _damage(store, file, store.read(file.path)[:100])
    with assert_refused(ExchangeError, "expected", "found 100"):
        list(read_runs(store, placed))


def test_an_altered_file_is_an_error(store: LocalStore) -> None:
    file = _write(store, "o", _packed(0, 0, 1))
    other = _write(store, "p", _packed(0, 0, 2))
    placed = placed_runs(0, read_index(store, file))
    _damage(store, file, store.read(other.path)[: file.index_offset] + store.read(file.path, file.index_offset))
    with assert_refused(ExchangeError, "changed since"):
        list(read_runs(store, placed))
    with assert_refused(ExchangeError, "changed since"):
        merge_files(store, "x", [file, other])


def test_clearing_removes_one_exchange_and_no_other(store: LocalStore) -> None:
    _write(store, "o", _packed(0, 0, 1))
    store.put("xy/kept", b"")
    assert clear_scratch(store, "x") == 1
    assert [info.path for info in store.list()] == ["xy/kept"]


def test_scratch_is_cleared_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CLEARED_AT_ONCE", 2)
    store = LocalStore(tmp_path)
    for number in range(5):
        store.put(f"x/{number}/part", b"")
    store.put("xy/part", b"")
    assert clear_scratch(store, "x") == 5
    assert [info.path for info in store.list("")] == ["xy/part"]
