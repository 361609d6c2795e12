"""What tests of scores work in."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the module's store, to work in and to change."""
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    monkeypatch.chdir(copy)
    return copy
