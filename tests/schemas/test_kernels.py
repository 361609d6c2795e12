"""Machine code is kept by the sources that it depends on: no more is recompiled than an edit touches, and no less."""

import os
import platform
import shutil
import subprocess
import sys
from ast import FunctionDef
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from winnow.filters.duplicates import ranks as ranks_module
from winnow.filters.duplicates.ranks import ranks
from winnow.schemas import errors as winnow_errors
from winnow.schemas import kernel_sources as sources
from winnow.schemas import kernels

CACHES = ("_module", "_dumped", "_imported", "_source", "_data", "file_digest")

FILES = {
    "filters/caller.py": """
from winnow.filters import callee
from winnow.filters.tables.made import (
    TABLE,
)
from winnow.schemas.errors import Wrong
from winnow.schemas.kernels import kernel

SIZE = 3
STEPS = [0] * SIZE
for one in range(SIZE):
    STEPS[one] = one


@kernel
def compiled(numbers):
    return callee.twice(numbers[STEPS[0]]) + TABLE


def checked(numbers):
    if not numbers:
        raise Wrong("no numbers")
    return compiled(numbers)
""",
    "filters/callee.py": """
from winnow.schemas.kernels import kernel
from winnow.schemas.leaf import ONE


@kernel
def twice(number):
    return 2 * number * ONE
""",
    "filters/other.py": "",
    "filters/__init__.py": "",
    "filters/tables/__init__.py": "",
    "filters/tables/made.py": "from winnow.filters.tables.maker import made\n\nTABLE = made(1)\n",
    "filters/tables/maker.py": "def made(value):\n    return value\n",
    "filters/tables/data/rules.bin": "1",
    "schemas/errors.py": "class Wrong(Exception):\n    pass\n",
    "schemas/leaf.py": "ONE = 1\n",
    "schemas/kernels.py": "kernel = 1\n",
    "schemas/__init__.py": "",
}


def forget() -> None:
    for one in (*(getattr(sources, name) for name in CACHES), kernels.source_key):
        one.cache_clear()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        path = tmp_path / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget()
    monkeypatch.setattr(kernels, "_HOUSE", tmp_path / "house")
    monkeypatch.setattr(sources, "_HOUSE", tmp_path / "house")
    yield tmp_path / "house"
    forget()


def key(house: Path, name: str = "filters/caller.py", kept_in: Path | None = None) -> str:
    forget()
    return sources.source_key(house / name, kept_in)


CHANGES = {
    "the kernel": ("filters/caller.py", "return callee", "return 1 + callee"),
    "a constant": ("filters/caller.py", "SIZE = 3", "SIZE = 4"),
    "the loop that fills a table": ("filters/caller.py", "STEPS[one] = one", "STEPS[one] = 2 * one"),
    "a kernel in another file": ("filters/callee.py", "2 * number", "3 * number"),
    "a constant of a kernel in another file": ("schemas/leaf.py", "1", "2"),
    "a table": ("filters/tables/made.py", "made(1)", "made(2)"),
    "what makes a table": ("filters/tables/maker.py", "return value", "return value + 1"),
    "data beside a table": ("filters/tables/data/rules.bin", "1", "2"),
    "how kernels are compiled": ("schemas/kernels.py", "1", "2"),
}
OTHERS = {
    "an error": ("schemas/errors.py", "pass", "code = 2"),
    "a message": ("filters/caller.py", "no numbers", "there are no numbers"),
    "lines above a kernel": ("filters/caller.py", "SIZE = 3", "# as in the paper\n\nSIZE = 3"),
    "a caller": ("filters/caller.py", "if not numbers", "if len(numbers) < 2"),
    "another file": ("filters/other.py", "", "# changed\n"),
}


def change(house: Path, name: str, before: str, after: str) -> None:
    path = house / name
    assert before in FILES[name]
    path.write_text(FILES[name].replace(before, after, 1))


@pytest.mark.parametrize("changed", CHANGES)
def test_an_edit_of_what_is_compiled_into_a_kernel_changes_its_key(house: Path, tmp_path: Path, changed: str) -> None:
    before = key(house, kept_in=tmp_path)
    change(house, *CHANGES[changed])
    assert key(house, kept_in=tmp_path) != before


@pytest.mark.parametrize("changed", OTHERS)
def test_an_edit_of_anything_else_changes_nothing(house: Path, tmp_path: Path, changed: str) -> None:
    before = key(house, kept_in=tmp_path)
    change(house, *OTHERS[changed])
    assert key(house, kept_in=tmp_path) == before


def test_no_error_is_compiled_into_a_kernel_of_winnow() -> None:
    errors = Path(winnow_errors.__file__).resolve()
    files = [one for room in ("filters", "scoring") for one in (errors.parents[1] / room).rglob("*.py")]
    assert [one for one in files if errors in sources._compiled_in(one)] == []


def test_no_two_kernels_of_a_file_have_the_same_name() -> None:
    house = Path(winnow_errors.__file__).resolve().parents[1]
    for file in (one for room in ("filters", "scoring") for one in (house / room).rglob("*.py")):
        module = sources._module(file)
        names = [one.name for one in map(module.body.__getitem__, module.kernels) if isinstance(one, FunctionDef)]
        assert len(set(names)) == len(names), file


def test_another_checkout_of_the_same_sources_has_the_same_keys(
    house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(house)
    shutil.copytree(house, tmp_path / "elsewhere")
    monkeypatch.setattr(sources, "_HOUSE", tmp_path / "elsewhere")
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


TAKES = """
from winnow.schemas.kernels import kernel


@kernel
def first(pair):
    return pair.first
"""
RUNS = "from {} import Pair; from takes import first; print(first(Pair(1, 2)))"
PAIR = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    {}: int\n    {}: int\n"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("edited", "printed"),
    [
        ({}, "1"),
        ({"shapes.py": PAIR.format("second", "first")}, "2"),
        ({"shapes.py": "", "moved.py": PAIR.format("first", "second"), "run.py": RUNS.format("moved")}, "1"),
    ],
    ids=["as it was", "fields in another order", "moved"],
)
def test_machine_code_for_a_named_tuple_is_of_the_tuple_as_it_is(
    tmp_path: Path, edited: dict[str, str], printed: str
) -> None:
    made = {"shapes.py": PAIR.format("first", "second"), "takes.py": TAKES, "run.py": RUNS.format("shapes")}

    def run(files: dict[str, str]) -> str:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "run.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.stdout.strip() or done.stderr

    assert run(made) == "1"
    assert run(edited) == printed


COMPACTS = """
import numpy as np
from winnow.filters.duplicates.ranks import _compacted, distinct

assert distinct(np.array([3, 1, 3], np.uint64)).tolist() == [1, 3]
print(sum(_compacted.stats.cache_hits.values()), sum(_compacted.stats.cache_misses.values()))
"""


@pytest.mark.processes
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are those of x86-64")
def test_machine_code_for_a_named_cpu_is_found_by_all_that_name_it(tmp_path: Path) -> None:
    def run(**named: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
        environment |= {"NUMBA_CACHE_DIR": str(tmp_path), **named}
        command = [sys.executable, "-c", COMPACTS]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert run(NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES="") == "0 1"
    assert run(NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES="") == "1 0"
    assert run(NUMBA_CPU_NAME="nehalem", NUMBA_CPU_FEATURES="") == "0 1"
