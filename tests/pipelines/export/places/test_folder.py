"""Whose folder it is: finished exports stand, unfinished ones go on, and what is not ours is never touched."""

import os
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told_each
from tests.pipelines.export.drawn_stores import tree
from tests.pipelines.export.made_exports import ONE, TWO, StoppedError, make, manifest, without_marks
from winnow.pipelines.export.places.folder import ExportFolder
from winnow.pipelines.export.places.manifest import file_records
from winnow.schemas.errors import ExportError


def contents(folder: Path) -> dict[str, bytes]:
    """The files of an export, without its own marks."""
    return without_marks(tree(folder))


def hidden(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.name.startswith("."))


def test_a_finished_export_stands_and_is_not_written_again(tmp_path: Path) -> None:
    assert make(tmp_path / "out", "one", ONE)
    assert contents(tmp_path / "out") == ONE
    assert set(tree(tmp_path / "out")) == {*ONE, "winnow.json", "README.md"}
    assert not make(tmp_path / "out", "one", ONE, replace=True)
    assert hidden(tmp_path) == []


def test_nothing_is_seen_before_all_is_there(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out", "one", ONE, stop_after=1)
    assert not (tmp_path / "out").exists()
    assert hidden(tmp_path) == [".out.winnow-unfinished"]


def test_work_that_stopped_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out", "one", ONE, stop_after=1)
    first = (tmp_path / ".out.winnow-unfinished/one/files/data/a.txt").stat().st_ino
    notes: list[str] = []
    assert make(tmp_path / "out", "one", ONE, notes=notes)
    assert (tmp_path / "out/data/a.txt").stat().st_ino == first
    assert contents(tmp_path / "out") == ONE
    assert notes == []
    assert hidden(tmp_path) == []


def test_a_shard_whose_file_was_lost_is_written_again(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out", "one", ONE, stop_after=1)
    (tmp_path / ".out.winnow-unfinished/one/files/data/a.txt").write_bytes(b"alp")
    assert make(tmp_path / "out", "one", ONE)
    assert contents(tmp_path / "out") == ONE


def test_what_did_not_reach_the_disk_before_the_machine_went_down_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out", "one", ONE, stop_after=1)
    (tmp_path / ".out.winnow-unfinished/one/files/data/a.txt").write_bytes(bytes(5))
    monkeypatch.setattr("winnow.pipelines.export.places.folder.boot_id", lambda: "the next one")
    assert make(tmp_path / "out", "one", ONE)
    assert contents(tmp_path / "out") == ONE


def test_unfinished_work_of_another_plan_goes_and_that_is_noted(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        make(tmp_path / "out", "one", ONE, stop_after=1)
    notes: list[str] = []
    assert make(tmp_path / "out", "two", TWO, notes=notes)
    assert_told_each(notes, (f"{tmp_path}/out", "removed unfinished"))
    assert contents(tmp_path / "out") == TWO
    assert hidden(tmp_path) == []


def test_another_export_takes_its_place_only_where_that_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    with assert_refused(ExportError, "out:", "--replace"):
        make(tmp_path / "out", "two", TWO)
    assert contents(tmp_path / "out") == ONE
    assert make(tmp_path / "out", "two", TWO, replace=True)
    assert contents(tmp_path / "out") == TWO
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(("damage", "said"), [(None, "is missing"), (b"al", "has 2 bytes instead of 5")])
def test_a_damaged_export_is_named_and_replaced_when_asked(tmp_path: Path, damage: bytes | None, said: str) -> None:
    make(tmp_path / "out", "one", ONE)
    victim = tmp_path / "out/data/a.txt"
    victim.unlink() if damage is None else victim.write_bytes(damage)
    with assert_refused(ExportError, "out:", "data/a.txt", said, "--replace"):
        make(tmp_path / "out", "one", ONE)
    assert make(tmp_path / "out", "one", ONE, replace=True)
    assert contents(tmp_path / "out") == ONE


def test_bytes_that_changed_are_found_and_written_again_when_that_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    (tmp_path / "out/data/a.txt").write_bytes(b"alphA")
    assert not make(tmp_path / "out", "one", ONE)
    notes: list[str] = []
    assert make(tmp_path / "out", "one", ONE, replace=True, notes=notes)
    assert_told_each(notes, (f"{tmp_path}/out", "data/a.txt"))
    assert contents(tmp_path / "out") == ONE


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_with_other_files_is_never_touched(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("years of work")
    with assert_refused(ExportError, "contains files", "thesis.tex"):
        make(tmp_path / "out", "one", ONE, replace=replace)
    assert tree(tmp_path) == {"out/thesis.tex": b"years of work"}


def test_a_manifest_of_something_else_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/winnow.json").write_text('{"winnow": "a fan"}')
    with pytest.raises(ExportError, match=r"winnow\.json: not a manifest of winnow"):
        make(tmp_path / "out", "one", ONE, replace=True)
    assert tree(tmp_path) == {"out/winnow.json": b'{"winnow": "a fan"}'}


@pytest.mark.parametrize("name", [".out.winnow-unfinished", ".out.winnow-replaced"])
def test_a_hidden_folder_with_other_files_is_never_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine").write_text("keep")
    with assert_refused(ExportError, f"{name}: contains files"):
        make(tmp_path / "out", "one", ONE)
    assert tree(tmp_path)[f"{name}/mine"] == b"keep"
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert make(tmp_path / "out", "one", ONE)


def test_links_and_files_in_the_folders_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with assert_refused(ExportError, "out:", "folder itself"):
        make(tmp_path / "out", "one", ONE)
    (tmp_path / "out").unlink()
    (tmp_path / "out").write_text("a file")
    with assert_refused(ExportError, "out:", "folder"):
        make(tmp_path / "out", "one", ONE)
    with assert_refused(ExportError, "out/below", "/out"):
        make(tmp_path / "out/below", "one", ONE)


def test_the_root_of_all_is_no_folder_for_an_export() -> None:
    with assert_refused(ExportError, "name a folder"):
        ExportFolder("/", "one")


def test_two_exports_do_not_mix_in_one_folder(tmp_path: Path) -> None:
    with ExportFolder(tmp_path / "out", "one") as folder:
        folder.begin([])
        with assert_refused(ExportError, "being written"):
            make(tmp_path / "out", "one", ONE)
    assert make(tmp_path / "out", "one", ONE)


@pytest.mark.parametrize("rename", [1, 2])
def test_a_crash_while_an_export_is_replaced_leaves_one_of_the_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rename: int
) -> None:
    make(tmp_path / "out", "one", ONE)
    calls = iter(range(1, 100))
    real = os.rename

    def stopping(old: Path, new: Path) -> None:
        if next(calls) == rename:
            raise StoppedError
        real(old, new)

    with monkeypatch.context() as patched:
        patched.setattr("winnow.pipelines.export.places.folder.os.rename", stopping)
        with pytest.raises(StoppedError):
            make(tmp_path / "out", "two", TWO, replace=True)
    with assert_refused(ExportError, "contains an export"):
        make(tmp_path / "out", "two", TWO)
    assert contents(tmp_path / "out") == ONE
    assert make(tmp_path / "out", "two", TWO, replace=True)
    assert contents(tmp_path / "out") == TWO
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("step", ["_remove_export", "sync"])
def test_a_crash_after_the_new_export_is_shown_is_tidied_by_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make(tmp_path / "out", "one", ONE)

    def stop(folder: Path) -> None:
        if step == "_remove_export" or folder == tmp_path:
            raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(f"winnow.pipelines.export.places.folder.{step}", stop)
        with pytest.raises(StoppedError):
            make(tmp_path / "out", "two", TWO, replace=True)
    assert hidden(tmp_path) != []
    assert not make(tmp_path / "out", "two", TWO)
    assert contents(tmp_path / "out") == TWO
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("damaged", [False, True])
def test_what_somebody_put_into_an_export_is_not_removed_with_it(tmp_path: Path, damaged: bool) -> None:
    make(tmp_path / "out", "one", ONE)
    (tmp_path / "out/data/checkpoint.pt").write_bytes(b"days of work")
    if damaged:
        (tmp_path / "out/data/a.txt").unlink()
    before = tree(tmp_path / "out")
    with assert_refused(ExportError, "out:", "--replace", "data/checkpoint.pt"):
        make(tmp_path / "out", "one" if damaged else "two", TWO, replace=True)
    assert tree(tmp_path / "out") == before
    (tmp_path / "out/data/checkpoint.pt").unlink()
    (tmp_path / "out/__pycache__").mkdir()
    (tmp_path / "out/__pycache__/mixture.pyc").write_bytes(b"made anew by whoever imports it")
    assert make(tmp_path / "out", "two", TWO, replace=True)
    assert contents(tmp_path / "out") == TWO


def test_what_came_while_another_export_was_made_is_not_removed(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    with ExportFolder(tmp_path / "out", "two") as folder:
        assert folder.finished_manifest(replace=True) is None
        folder.begin([])
        (tmp_path / "out/notes").write_text("mine")
        with assert_refused(ExportError, "remove files"):
            folder.finish(manifest("two", []), {})
    assert (tmp_path / "out/notes").read_text() == "mine"


def test_a_worker_that_outlives_its_export_does_not_stand_in_the_way_of_the_next(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    late = tmp_path / ".out.winnow-unfinished/one"
    for name in ("files/data", "scratch/exchange", "commits"):
        (late / name).mkdir(parents=True)
    (late / "files/data/a.txt").write_bytes(b"wrong")
    (late / "commits/train-00000.json").write_bytes(b"{}")
    assert make(tmp_path / "out", "two", TWO, replace=True)
    assert contents(tmp_path / "out") == TWO
    assert hidden(tmp_path) == []


def test_an_empty_folder_in_the_place_of_one_that_is_being_replaced_does_not_cost_the_old_one(tmp_path: Path) -> None:
    make(tmp_path / "out", "one", ONE)
    (tmp_path / "out").rename(tmp_path / ".out.winnow-replaced")  # where a crash may leave it
    (tmp_path / "out").mkdir()
    assert not make(tmp_path / "out", "one", ONE)
    assert contents(tmp_path / "out") == ONE
    assert hidden(tmp_path) == []


def test_the_root_of_a_disk_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.pipelines.export.places.folder.os.path.ismount", lambda _: True)
    with assert_refused(ExportError, "out:", "mount point"):
        make(tmp_path / "out", "one", ONE)
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("path", ["/etc/passwd", "../out.txt", "winnow.json"])
def test_a_format_can_write_nowhere_else(tmp_path: Path, path: str) -> None:
    with assert_refused(ExportError, "valid file name"):
        file_records(tmp_path, [path])
