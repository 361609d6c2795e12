"""Names that are not UTF-8, written as text and back, on disks as in buckets; and which names on a disk are files."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.names import file_name, key_of_name, name_of_key, object_name
from winnow.schemas.errors import StoreError

PIECES = st.sampled_from(
    [b"a", b"E9", b"%", b"\xe9", b"\xc3", b"\xa9", b"\xef\xbf\xbd", b"\xef", b"\xbf", b"\xbd", b"\xff"]
)


@given(st.binary(max_size=20) | st.lists(PIECES, max_size=12).map(b"".join))
def test_every_name_is_valid_text_and_comes_back(raw: bytes) -> None:
    name = object_name(raw)
    name.encode("utf-8")
    assert file_name(name) == raw


@given(st.text(st.sampled_from("a\ufffdE9é"), max_size=8))
def test_a_text_is_the_name_of_one_file_or_of_none(name: str) -> None:
    try:
        raw = file_name(name)
    except ValueError:
        return
    assert object_name(raw) == name


@given(st.lists(st.sampled_from(["a", "/", ".", "..", "é", "\ufffd", "2F", " ", "\n"]), max_size=9).map("".join))
def test_every_key_of_a_bucket_is_a_path_and_comes_back(key: str) -> None:
    name = name_of_key(key)
    assert key_of_name(name) == key
    assert not {"", ".", ".."}.intersection(name.removesuffix("/").split("/")) or not key


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("a//b.txt", "a/\ufffd2Fb.txt"),
        ("/b.txt", "\ufffd2Fb.txt"),
        ("a/./b", "a/\ufffd2E/b"),
        ("../b", "\ufffd2E\ufffd2E/b"),
        ("a.b/..c/.d", "a.b/..c/.d"),
        ("caf\ufffdE9.txt", "caf\ufffdEF\ufffdBF\ufffdBDE9.txt"),
    ],
)
def test_keys_that_are_no_paths_are_written_as_paths(key: str, name: str) -> None:
    assert name_of_key(key) == name


@pytest.mark.parametrize("name", ["a//b", "/a", "../a", "a/..", "./a", "a\ufffd2Fb", "caf\ufffdE9.txt"])
def test_no_key_has_a_name_that_is_no_path_or_escapes_what_needs_none(name: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # also if it is not UTF-8
        key_of_name(name)


@pytest.mark.parametrize("name", ["plain.txt", "100%25.txt", "ü/bild.png", "日本語"])
def test_other_names_are_as_they_are(name: str) -> None:
    assert object_name(name.encode()) == name


def test_files_are_listed_and_read_by_their_names(tmp_path: Path) -> None:
    for raw in (b"caf\xe9.txt", b"caf\xef\xbf\xbdE9.txt", b"d\xff/x"):
        path = os.path.join(os.fsencode(tmp_path), raw)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(raw)
    disk = LocalStore(tmp_path)
    assert [info.path for info in disk.list()] == [
        "caf\ufffdE9.txt",
        "caf\ufffdEF\ufffdBF\ufffdBDE9.txt",
        "d\ufffdFF/x",
    ]
    assert [disk.read(info.path) for info in disk.list()] == [b"caf\xe9.txt", b"caf\xef\xbf\xbdE9.txt", b"d\xff/x"]
    assert [info.path for info in disk.list("d\ufffdFF/")] == ["d\ufffdFF/x"]
    for name in ("caf\ufffd.txt", "caf\ufffd41.txt", "\ufffdC3\ufffdA9"):
        with pytest.raises(StoreError, match="not an object name"):
            disk.read(name)


def test_a_name_is_the_same_wherever_the_object_lies(objects: ObjectStore) -> None:
    name = object_name("a \ufffd ü".encode())
    objects.put(name, b"x")
    assert [info.path for info in objects.list()] == [name]
    assert objects.read(name) == b"x"


def test_links_to_files_are_files_and_links_to_folders_pipes_and_devices_are_none(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "picture.jpg").write_bytes(b"picture")
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.jpg").symlink_to(tmp_path / "elsewhere" / "picture.jpg")
    (root / "folder.jpg").symlink_to(tmp_path / "elsewhere")
    (root / "circle").symlink_to(".")
    (root / "broken.jpg").symlink_to("nowhere")
    (root / "endless.jpg").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.jpg")
    assert [(one.path, one.size) for one in LocalStore(root).list()] == [("file.jpg", 7)]
