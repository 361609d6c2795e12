"""Where a cluster's machines find the program that starts workers."""

import os
import sys
from pathlib import Path

import pytest

from winnow.runners.engines.workers.environments import BOOT, boot_command
from winnow.schemas.errors import WinnowError


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.touch(mode=0o755)
    return file


def test_the_program_beside_python_comes_before_one_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "python", "python")))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    with pytest.raises(WinnowError, match=f"^no {BOOT} beside {tmp_path}/python/python, .* reinstall winnow"):
        boot_command()
    on_path = program(tmp_path / "path", BOOT)
    assert boot_command() == on_path
    beside = program(tmp_path / "python", BOOT)
    assert boot_command() == beside
    os.chmod(beside, 0o644)
    assert boot_command() == on_path
