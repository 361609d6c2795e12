import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from winnow.pipelines.store.clock import put_at
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StoreError


def test_what_is_put_is_read_whole_or_in_ranges(objects: ObjectStore) -> None:
    objects.put("a/b", b"0123456789")
    assert objects.read("a/b") == b"0123456789"
    assert objects.read("a/b", 3, 4) == b"3456"
    assert objects.size("a/b") == 10
    with objects.open("a/b") as stream:
        stream.seek(8)
        assert stream.read() == b"89"


def test_a_file_is_put_as_its_bytes_and_stays(objects: ObjectStore, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"rows")
    objects.put("x", made)
    assert objects.read("x") == b"rows"
    assert made.read_bytes() == b"rows"


def test_an_object_says_when_it_was_put_by_the_clock_of_its_store(objects: ObjectStore) -> None:
    began = time.time()
    objects.put("x", b"now")
    found = put_at(objects, "x")
    if objects.root.startswith("memory://"):
        assert found is None
    else:
        assert found is not None
        assert began - 2 < found < time.time() + 2  # services tell whole seconds


def test_put_replaces(objects: ObjectStore) -> None:
    objects.put("x", b"old")
    objects.put("x", b"new")
    assert objects.read("x") == b"new"


def test_the_first_of_two_puts_if_absent_stands(objects: ObjectStore) -> None:
    assert objects.put_if_absent("x", b"first")
    assert not objects.put_if_absent("x", b"second")
    assert objects.read("x") == b"first"


def test_exactly_one_of_racing_writers_wins(objects: ObjectStore) -> None:
    for round_number in range(20):
        path = f"race/{round_number}"
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda writer, path=path: objects.put_if_absent(path, b"%d" % writer), range(8)))
        assert won.count(True) == 1
        assert objects.read(path) == b"%d" % won.index(True)


def test_writers_in_a_folder_are_not_hindered_by_who_removes_its_last_object(tmp_path: Path) -> None:
    objects = LocalStore(tmp_path, durable=False)

    def come_and_go(writer: int) -> None:
        for turn in range(250):
            path = f"beats/layers/of/{writer}"
            if turn % 2:
                objects.put(path, b"here")
            else:
                assert objects.put_if_absent(path, b"here")
            objects.delete(path)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come_and_go, range(4)))


def test_listing_is_by_prefix_and_sorted(objects: ObjectStore) -> None:
    for path in ("b/2", "b/1", "a", "b-1", "b/3/c"):
        objects.put(path, b".")
    assert [info.path for info in objects.list("b/")] == sorted(info.path for info in objects.list("b/"))
    assert next(info.path for info in objects.list("b")) == "b-1"
    assert {info.path for info in objects.list()} >= {"a", "b-1", "b/1", "b/2"}
    assert list(objects.list("nothing/")) == []


def test_a_new_version_shows_in_the_listing(objects: ObjectStore) -> None:
    objects.put("x", b"one")
    before = next(objects.list("x")).version
    objects.put("x", b"two")
    if isinstance(objects, LocalStore):
        os.utime(objects.folder / "x", ns=(1, 1))
    assert next(objects.list("x")).version != before


def test_a_missing_object_is_file_not_found(objects: ObjectStore) -> None:
    for use in (objects.open, objects.read, objects.size):
        with pytest.raises(FileNotFoundError):
            use("nothing")
    assert not objects.exists("nothing")
    objects.delete("nothing")


def test_delete_removes(objects: ObjectStore) -> None:
    objects.put("a/b/c", b".")
    objects.delete("a/b/c")
    assert list(objects.list()) == []


def test_a_pickled_store_is_the_same_store(objects: ObjectStore) -> None:
    objects.put("x", b"here")
    assert pickle.loads(pickle.dumps(objects)).read("x") == b"here"  # noqa: S301


@pytest.mark.parametrize("name", ["", "/etc/x", "a/../../b", "..", "a\0b"])
def test_a_disk_refuses_names_that_leave_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="not an object name"):
        LocalStore(tmp_path).put(name, b"")


def test_unfinished_files_are_not_listed_and_can_be_cleared(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    (store.scratch() / "123-0").write_bytes(b"half")
    assert list(store.list()) == []
    assert store.clear_unfinished() == 1
    assert list(store.scratch().iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "a", "a.", "a/", "a/b", "a/b/", "ab/", "c/d/e", "z"])
def test_files_are_listed_by_their_whole_paths(tmp_path: Path, prefix: str) -> None:
    store = LocalStore(tmp_path)
    names = ["a.b", "a/b/c", "a/b.c", "a/bc", "a/b-c/d", "a-b", "ab/c", "c/d/e/f", "c/d/e.f", "\u00e9/a", "a0"]
    for name in names:
        store.put(name, b"x")
    assert [info.path for info in store.list(prefix)] == sorted(name for name in names if name.startswith(prefix))


def test_a_failed_put_leaves_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("taken", b"an object where a folder would have to be")
    with pytest.raises((FileExistsError, NotADirectoryError)):
        store.put("taken/below", b"x")
    assert [info.path for info in store.list()] == ["taken"]
    assert list(store.scratch().iterdir()) == []


def test_what_is_not_a_plain_file_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "through").symlink_to(tmp_path / "real" / "below")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert [info.path for info in LocalStore(tmp_path).list()] == ["link", "real"]


def test_a_file_where_a_folder_would_be_is_an_error_and_no_writer_that_came_first(tmp_path: Path) -> None:
    objects = LocalStore(tmp_path)
    (tmp_path / "commits").write_text("not a folder")
    with pytest.raises(OSError, match="commits"):
        objects.put_if_absent("commits/one.json", b"x")
    assert not list(objects.scratch().iterdir())
