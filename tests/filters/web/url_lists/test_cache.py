"""Lists of the user's are made ready once, by any number of processes, and without a folder to keep them in, too."""

import multiprocessing
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told_each
from winnow.filters.web.url_lists import cache
from winnow.filters.web.url_lists.cache import load_list
from winnow.schemas.errors import RecipeError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "cache" / "assets"))
    cache._loaded.cache_clear()
    return tmp_path / "cache" / "lists"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("example.com\nb c\n")
    return path


def _domains(path: str) -> int:
    return load_list(path).summary.entries["domain"]


def test_a_list_is_kept_by_its_content(listed: Path, folder: Path) -> None:
    assert _domains(str(listed)) == 1
    assert_told_each(load_list(str(listed)).summary.remarks(), ("1 of 2", "2"))
    (made,) = folder.iterdir()
    before = made.stat().st_mtime_ns
    cache._loaded.cache_clear()
    assert _domains(str(listed)) == 1
    assert made.stat().st_mtime_ns == before
    listed.write_text("example.com\nexample.org\n")
    assert _domains(str(listed)) == 2
    assert len(list(folder.iterdir())) == 2


def test_a_kept_list_that_is_damaged_is_made_again(listed: Path, folder: Path) -> None:
    _domains(str(listed))
    (made,) = folder.iterdir()
    whole = made.read_bytes()
    made.write_bytes(whole[:-5])
    cache._loaded.cache_clear()
    assert _domains(str(listed)) == 1
    assert made.read_bytes() == whole


@pytest.mark.processes
def test_several_processes_load_it_at_once(listed: Path, folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:  # a test worker with its threads must not fork
        assert pool.map(_domains, [str(listed)] * 8) == [1] * 8
    assert len(list(folder.iterdir())) == 1


def test_without_a_folder_it_stays_in_memory(listed: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert _domains(str(listed)) == 1


def test_a_list_that_cannot_be_read_is_refused_in_a_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(RecipeError, match="expected a list of addresses"):
            load_list(str(path))
    (tmp_path / "bad.txt").write_text("a b\n")
    with assert_refused(RecipeError, "bad.txt", "1 lines"):
        load_list(str(tmp_path / "bad.txt"))
