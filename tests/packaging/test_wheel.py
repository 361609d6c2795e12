"""The wheel as a user gets it: built, installed into an environment that has other packages named like our folders."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("schemas", "filters", "pipelines", "runners", "recipes")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"  # a copy: what an earlier build left in the checkout must not get in
    shutil.copytree(
        ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".*", "build", "demo-output", "*.egg-info")
    )
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(tree)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, the dependencies of this one, and strangers named like our folders."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    packages = next((folder / "lib").glob("python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for name in FOLDERS:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("STRANGER = True\n")
    here = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    (packages / "dependencies.pth").write_text(f"{here}\n")
    return folder / "bin" / "python"


def run(python: Path, *arguments: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.processes
def test_the_wheel_holds_only_winnow(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"winnow"}
    assert {f"winnow/{folder}/__init__.py" for folder in FOLDERS} <= set(names)
    assert "winnow/recipes/demo.yaml" in names
    assert "winnow/py.typed" in names
    assert not [name for name in names if "test" in name.lower() and name.endswith(".py")]


@pytest.mark.processes
def test_it_imports_beside_packages_of_the_same_names(installed: Path, tmp_path: Path) -> None:
    code = (
        "import winnow.schemas, winnow.filters, schemas, filters;"
        "assert schemas.STRANGER and filters.STRANGER;"
        "assert winnow.schemas.__file__.split('site-packages')[0] == schemas.__file__.split('site-packages')[0];"
        "print(winnow.schemas.__file__)"
    )
    assert "winnow/schemas/__init__.py" in run(installed, "-c", code, cwd=tmp_path)


@pytest.mark.processes
def test_schemas_and_filters_load_neither_beam_nor_torch(installed: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pkgutil, importlib, winnow.schemas, winnow.filters\n"
        "for package in (winnow.schemas, winnow.filters):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
        "print(sorted({'apache_beam', 'torch', 'duckdb'} & set(sys.modules)))"
    )
    assert run(installed, "-c", code, cwd=tmp_path).strip() == "[]"


def test_the_command_runs_from_any_folder(installed: Path, tmp_path: Path) -> None:
    assert "winnow 0." in run(installed, "-m", "winnow", "--version", cwd=tmp_path)


@pytest.mark.wheel
def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    printed = run(installed, "-m", "winnow", "demo", "--into", "out", "--workers", "2", cwd=tmp_path)
    assert "report" in printed
    assert (tmp_path / "out" / "store" / "report.html").is_file()
