"""Workers with other versions are refused, and those on the driver's machine work in its folder."""

import json
import os
from pathlib import Path

import pytest

from winnow.pipelines.running.version_handshake import (
    FOLDER_OPTION,
    enter_folder,
    require_like_driver,
    unlike_driver,
    versions_here,
)
from winnow.schemas.errors import StageError


def test_other_versions_are_refused_and_equal_or_unknown_ones_are_not() -> None:
    assert unlike_driver(versions_here()) is None
    assert unlike_driver(None) is None
    with pytest.raises(StageError, match=r"its driver has winnow 0\.0"):
        require_like_driver("winnow 0.0")


@pytest.mark.parametrize("given", [{}, {"beam:option:other:v1": "/"}, None, "absent", 7])
def test_a_worker_without_the_drivers_folder_stays_where_it_is(given: object, tmp_path: Path) -> None:
    here = os.getcwd()
    value = str(tmp_path / "absent") if given == "absent" else given
    options = given if isinstance(given, dict) else {f"beam:option:{FOLDER_OPTION}:v1": value}
    enter_folder(json.dumps(options))
    assert os.getcwd() == here


def test_a_worker_that_has_the_drivers_folder_works_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    (tmp_path / "there").mkdir()
    enter_folder(json.dumps({f"beam:option:{FOLDER_OPTION}:v1": str(tmp_path / "there")}))
    assert Path.cwd() == tmp_path / "there"
