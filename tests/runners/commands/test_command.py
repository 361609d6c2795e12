"""Commands are found: the files of this package by their folders, those of other packages by their entry points."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.runners.commands import command
from winnow.runners.commands.command import Command, command_names, commands_by_group, find_command
from winnow.runners.commands.main import main
from winnow.schemas.errors import WinnowError

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "winnow_counting"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pip installed the package."""
    shutil.copytree(EXAMPLE, tmp_path / "tree")  # building leaves things behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, f"--target={tmp_path / 'site'}", str(tmp_path / "tree")], check=True, capture_output=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    paths = [str(tmp_path / "site"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return tmp_path / "site"


def winnow(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "winnow", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.processes
def test_a_command_of_a_package_is_listed_last_and_runs(counting: Path, tmp_path: Path) -> None:
    status, listed, _ = winnow("--help")
    assert status == 0
    groups = [line for line in listed.splitlines() if line.endswith(":") and not line.startswith((" ", "Flags"))]
    assert groups == ["core:", "inspect:", "manage:", "research:", "counting:", "options:"]
    assert "\ncounting:\n  count-files   count the files below a folder\n" in listed
    (tmp_path / "some").mkdir()
    assert winnow("count-files", str(tmp_path / "some")) == (3, "0 files\n", "")
    (tmp_path / "some" / "one.txt").touch()
    assert winnow("count-files", str(tmp_path / "some")) == (0, "1 files\n", "")
    status, _, said = winnow("count-files", str(tmp_path / "some"), "--", "--runner=x")
    assert status == 1
    assert_told(said, "winnow count-files", "'--'", whole=True)


def test_a_file_of_a_groups_folder_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "somewhere_of_tests"
    (folder / "looking" / "far").mkdir(parents=True)
    one = (EXAMPLE / "winnow_counting.py").read_text()
    for file in ("looking/count_files.py", "looking/far/__init__.py"):
        (folder / file).write_text(one)
    (folder / "looking" / "__init__.py").touch()
    for no_command in ("__pycache__/command.cpython-313.pyc", "looking/__pycache__/far.pyc", "looking/notes/read.md"):
        (folder / no_command).parent.mkdir()
        (folder / no_command).touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(command, "__file__", str(folder / "command.py"))
    monkeypatch.setattr(command, "__package__", folder.name)
    command._own_modules.cache_clear()
    try:
        assert command_names() == ("count-files", "far")
        assert {group: list(of) for group, of in commands_by_group().items()} == {"looking": ["count-files", "far"]}
    finally:
        command._own_modules.cache_clear()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_of_the_kind", "'count-files' … 'nothing_of_the_kind'"),
        ("", "'count-files' … 'winnow_counting' … 'COMMAND'"),
        ("COMMAND = 1", "'count-files' … command but"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_one_line(
    code: str, said: str, counting: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (counting / "winnow_counting.py").write_text(code)
    shutil.rmtree(counting / "__pycache__", ignore_errors=True)
    monkeypatch.delitem(sys.modules, "winnow_counting", raising=False)
    with pytest.raises(WinnowError, match="count-files"):
        find_command("count-files")
    monkeypatch.delitem(sys.modules, "winnow_counting", raising=False)
    assert main(["count-files", "."]) == 1
    assert_told(capsys.readouterr().err, said)


def test_every_command_of_this_package_says_its_place_in_its_group() -> None:
    for group, commands in commands_by_group().items():
        places = [one.place for one in commands.values()]
        assert places == sorted({*places} - {100}), group  # each its own; 100 is that of one which says none
        assert all(isinstance(one, Command) for one in commands.values())
