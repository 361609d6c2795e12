"""What workers install: the wheel that a driver packs of itself, and the sdist of a checkout."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import winnow
from winnow.runners.engines.dataflow.wheel import pack

ROOT = Path(__file__).resolve().parents[4]
IMPORTS = "import winnow.runners.commands.main, winnow.filters, winnow.scoring; print(winnow.__file__)"


def installed(folder: Path, package: Path) -> tuple[Path, Path]:
    """A fresh environment with nothing but the package, which pip put there; and what winnow needs, lent from here."""
    venv.create(folder, with_pip=False)
    packages = next((folder / "lib").glob("python*/site-packages"))
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", f"--target={packages}"]
    subprocess.run([sys.executable, *pip, str(package)], check=True, capture_output=True, cwd=folder)
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in lent))
    return folder / "bin" / "python", packages


def modules(packages: Path) -> set[str]:
    return {str(path.relative_to(packages)) for path in (packages / "winnow").rglob("*.py")}


def here() -> set[str]:
    return {str(path.relative_to(ROOT)) for path in winnow_files() if path.suffix == ".py"}


def winnow_files() -> list[Path]:
    folders = [ROOT / "winnow", *(path for path in (ROOT / "winnow").iterdir() if path.is_dir())]
    found = [
        path for folder in folders for path in (folder.glob("*") if folder.name == "winnow" else folder.rglob("*"))
    ]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def imports_from(python: Path, folder: Path) -> bool:
    done = subprocess.run([python, "-I", "-c", IMPORTS], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.startswith(str(folder))


@pytest.mark.processes
def test_a_packed_winnow_installs_and_is_all_of_it(tmp_path: Path) -> None:
    python, packages = installed(tmp_path / "environment", pack(tmp_path))
    assert modules(packages) == here()
    assert (packages / "winnow" / "recipes" / "demo.yaml").read_bytes() == (ROOT / "recipes/demo.yaml").read_bytes()
    assert imports_from(python, tmp_path)


def test_the_same_sources_are_packed_to_the_same_bytes(tmp_path: Path) -> None:
    wheels = [tmp_path / name for name in ("a", "b")]
    for folder in wheels:
        folder.mkdir()
    first, second = (pack(folder) for folder in wheels)
    assert first.name == f"winnow-{winnow.__version__}-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.large
def test_the_sdist_of_a_checkout_installs_and_is_all_of_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"  # a copy, as building leaves things behind
    ignored = shutil.ignore_patterns(".*", "build", "demo-output", "*.egg-info", "__pycache__", "tests", "benchmarks")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(tree)]
    subprocess.run(build, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("winnow-*.tar.gz")
    python, packages = installed(tmp_path / "environment", sdist)
    assert modules(packages) == here()
    assert imports_from(python, tmp_path)
