"""Installs an example of a package that adds to winnow from outside its tree."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent


@contextmanager
def installed(name: str, folder: Path) -> Iterator[Path]:
    """Where pip has installed the package of this name; found by this process, and by those that it starts."""
    shutil.copytree(EXAMPLES / name, folder / "tree")  # a copy, as building leaves things behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, f"--target={folder / 'site'}", str(folder / "tree")], check=True, capture_output=True)
    paths = [str(folder / "site"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.syspath_prepend(folder / "site")
        yield folder / "site"
