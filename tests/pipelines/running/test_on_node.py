"""On a machine that is not its driver's, a task's error names the machine, and other versions are refused."""

import errno
import hashlib
import json
import os
import resource
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_disks import small_disk_at
from winnow.pipelines.assets.cached import checksum_of
from winnow.pipelines.assets.catalogue import AssetError
from winnow.pipelines.assets.node_files import OPTION, Node, NodeFile, taken, this_node
from winnow.pipelines.running.on_node import host_name, naming_host
from winnow.pipelines.running.version_handshake import versions_here
from winnow.schemas.errors import StageError


def told(monkeypatch: pytest.MonkeyPatch, node: Node) -> None:
    """This process is told what workers on other machines are."""
    monkeypatch.setenv("PIPELINE_OPTIONS", json.dumps({f"beam:option:{OPTION}:v1": node.to_option()}))
    this_node.cache_clear()


def stored(folder: Path, text: str) -> str:
    """Put a file into a store as a driver does: its SHA-256."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    (folder / "store/files" / sha256).write_text(text)
    return sha256


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    this_node.cache_clear()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StageError("the disk is gone"), "{host}: the disk is gone"),
        (KeyError("column"), "'{host}: column'"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x"), "[Errno 28] No space left on device on {host}: '/x'"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "[Errno 5] Input/output error on {host}"),
        (ValueError(), "{host}: "),
    ],
    ids=["stage", "key", "file", "system", "empty"],
)
def test_an_error_names_the_machine(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    told(monkeypatch, Node("store"))
    with pytest.raises(type(error)) as found, naming_host(versions_here()):
        raise error
    assert str(found.value) == said.format(host=host_name())


def test_a_full_disk_says_where_there_should_be_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told(monkeypatch, Node("store"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    said = rf"{host_name()}, where {tmp_path} has [0-9,]+ MiB left; .*TMPDIR"
    with pytest.raises(OSError, match=said), naming_host(versions_here()):
        raise full


def test_an_error_on_the_drivers_machine_stays_as_it_is() -> None:
    this_node.cache_clear()
    with pytest.raises(StageError, match=r"^the disk is gone$"), naming_host("of somebody else"):
        raise StageError("the disk is gone")


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Node("store"))
    refused = pytest.raises(StageError, match=f"a worker on {host_name()} has .*but its driver has winnow 9")
    with refused, naming_host("winnow 9"):
        raise AssertionError("never reached")


def test_options_may_come_in_a_file_as_beams_own_boot_gives_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "options").write_text(json.dumps({f"beam:option:{OPTION}:v1": Node("gs://store").to_option()}))
    monkeypatch.delenv("PIPELINE_OPTIONS", raising=False)
    monkeypatch.setenv("PIPELINE_OPTIONS_FILE", str(tmp_path / "options"))
    this_node.cache_clear()
    assert this_node() == Node("gs://store")


def test_a_file_that_is_neither_here_nor_in_the_store_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "assets"))
    told(monkeypatch, Node(str(tmp_path / "store"), (NodeFile("/lists/sites.txt", "ab" * 32),)))
    assert taken("/lists/others.txt") is None
    with pytest.raises(AssetError, match=r"/lists/sites.txt is missing here, and .* run the same command again"):
        taken("/lists/sites.txt")


def test_a_cache_that_cannot_be_written_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "assets").write_text("a file where the folder should be")
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "store/files").mkdir(parents=True)
    sha256 = stored(tmp_path, "foo")
    told(monkeypatch, Node(str(tmp_path / "store"), (NodeFile("/lists/sites.txt", sha256),)))
    found = taken("/lists/sites.txt")
    assert found is not None
    assert Path(found).read_text() == "foo"
    assert Path(found).is_relative_to(tmp_path)


def test_a_machine_that_has_no_cache_yet_gets_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "no/such/folder"))
    (tmp_path / "store/files").mkdir(parents=True)
    told(monkeypatch, Node(str(tmp_path / "store"), (NodeFile("/lists/sites.txt", stored(tmp_path, "foo")),)))
    found = Path(str(taken("/lists/sites.txt")))
    assert found.read_text() == "foo"
    assert found.is_relative_to(tmp_path / "no/such/folder")


def test_users_own_files_are_private_and_former_ones_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "assets"))
    (tmp_path / "assets/from-stores").mkdir(parents=True)  # as earlier versions left it
    (tmp_path / "store/files").mkdir(parents=True)
    own = {name: stored(tmp_path, text) for name, text in (("a/x", "old"), ("b/x", "b"), ("c/x", "new"))}
    asset = NodeFile("model.bin", stored(tmp_path, "an asset"), is_asset=True)

    def take(*names: str) -> list[Path]:
        told(monkeypatch, Node(str(tmp_path / "store"), (asset, *(NodeFile(name, own[name]) for name in names))))
        return [Path(str(taken(name))) for name in (*names, str(tmp_path / "assets/model.bin"))]

    old, _ = take("a/x")
    *new, model = take("b/x", "c/x")
    assert [one.read_text() for one in (*new, model)] == ["b", "new", "an asset"]
    assert not old.exists()
    assert [stat.S_IMODE(one.stat().st_mode) for one in (new[0].parent.parent, *new, model)] == [
        0o700,
        0o600,
        0o600,
        0o644,
    ]


def test_a_full_disk_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "store/files").mkdir(parents=True)
    asset = NodeFile("model.bin", stored(tmp_path, "a" * (2 << 20)), is_asset=True)
    told(monkeypatch, Node(str(tmp_path / "store"), (asset,)))
    with small_disk_at(tmp_path / "disk", 1) as disk:
        monkeypatch.setenv("WINNOW_ASSETS", str(disk))
        found = Path(str(taken(str(disk / "model.bin"))))
        assert not list(disk.glob(".unfinished-*"))
    assert found.stat().st_size == 2 << 20
    assert found.is_relative_to(tmp_path)


def test_folders_without_room_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "assets"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "store/files").mkdir(parents=True)
    told(monkeypatch, Node(str(tmp_path / "store"), (NodeFile("/lists/sites.txt", stored(tmp_path, "foo")),)))
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, most[1]))
    room = (
        r"/lists/sites.txt .*/assets: File too large; .*/winnow-\d+/assets: File too large.*make room .*WINNOW_ASSETS"
    )
    try:
        with pytest.raises(AssetError, match=room):
            taken("/lists/sites.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert not [one for one in tmp_path.rglob("*") if one.name.startswith(".unfinished")]


def test_an_asset_that_was_made_has_its_checksum_and_gets_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "assets"))
    (tmp_path / "store/files").mkdir(parents=True)
    made = NodeFile("made.bin", stored(tmp_path, "made"), is_asset=True, is_made=True)
    pinned = NodeFile("pinned.bin", stored(tmp_path, "pinned"), is_asset=True)
    told(monkeypatch, Node(str(tmp_path / "store"), (made, pinned)))
    for left in ("of another", None, ""):
        for name in ("made.bin", "pinned.bin"):
            path = str(tmp_path / "assets" / name)
            assert taken(path) == path
        checksum = checksum_of(tmp_path / "assets/made.bin")
        assert checksum.read_text() == made.sha256
        assert not checksum_of(tmp_path / "assets/pinned.bin").exists()
        checksum.unlink()
        if left is not None:
            checksum.write_text(left)
