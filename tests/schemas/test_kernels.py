"""Machine code is kept by the sources that it depends on: no more is recompiled than an edit touches, and no less."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from winnow.filters.duplicates import ranks as ranks_module
from winnow.filters.duplicates.ranks import ranks
from winnow.schemas import kernels

FILES = {
    "filters/caller.py": "from winnow.filters import callee\nfrom winnow.filters.tables.made import (\n    TABLE,\n)\n",
    "filters/callee.py": "import winnow.schemas.leaf\n",
    "filters/other.py": "",
    "filters/__init__.py": "",
    "filters/tables/__init__.py": "",
    "filters/tables/made.py": "TABLE = 1\n",
    "filters/tables/data/rules.bin": "1",
    "schemas/leaf.py": "",
    "schemas/__init__.py": "",
}


def forget() -> None:
    for one in (kernels.source_key, kernels._imported, kernels._source, kernels._data, kernels._digest):
        one.cache_clear()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        path = tmp_path / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget()
    monkeypatch.setattr(kernels, "_HOUSE", tmp_path / "house")
    yield tmp_path / "house"
    forget()


def key(house: Path, name: str = "filters/caller.py") -> str:
    forget()
    return kernels.source_key(house / name)


@pytest.mark.parametrize(
    "changed",
    [
        "filters/caller.py",
        "filters/callee.py",
        "filters/tables/made.py",
        "filters/tables/data/rules.bin",
        "schemas/leaf.py",
    ],
)
def test_an_edit_of_what_a_kernel_depends_on_changes_its_key(house: Path, changed: str) -> None:
    before = key(house)
    (house / changed).write_text("# changed\n" + FILES[changed])
    assert key(house) != before


def test_an_edit_of_anything_else_changes_nothing(house: Path) -> None:
    before = key(house)
    (house / "filters/other.py").write_text("# changed\n")
    assert key(house) == before


def test_another_checkout_of_the_same_sources_has_the_same_keys(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(house)
    shutil.copytree(house, tmp_path / "elsewhere")
    monkeypatch.setattr(kernels, "_HOUSE", tmp_path / "elsewhere")
    assert key(tmp_path / "elsewhere") == before


def test_kernels_of_winnow_lie_under_their_key_and_those_of_others_do_not() -> None:
    lies = kernels.KernelLocator.from_function(ranks, ranks_module.__file__)
    assert lies is not None
    assert lies.get_source_stamp() == kernels.source_key(Path(ranks_module.__file__).resolve())
    assert Path(lies.get_cache_path()).name == lies.get_source_stamp()
    assert kernels.KernelLocator.from_function(ranks, np.__file__) is None


def test_an_environment_inside_the_checkout_is_somebody_elses(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = house / ".venv" / "lib" / "sums.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    assert kernels.KernelLocator.from_function(ranks, str(theirs)) is None
    assert kernels.KernelLocator.from_function(ranks, str(house / "filters" / "caller.py")) is not None


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_to_is_not_run_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv(kernels.FOLDER_VARIABLE, str(tmp_path / "kernels"))
    kernels.kernel_folder.cache_clear()
    try:
        assert kernels.kernel_folder() == tmp_path / "kernels"
        assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700
        (tmp_path / "kernels").chmod(mode)
        kernels.kernel_folder.cache_clear()
        assert kernels.kernel_folder() != tmp_path / "kernels"
    finally:
        kernels.kernel_folder.cache_clear()
