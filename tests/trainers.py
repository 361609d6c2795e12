"""The environment of trainers' libraries: readers of exports that winnow itself does not need."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 240


def trainers_python() -> str:
    """Its interpreter; skips the test where it was not set up."""
    python = Path(os.environ.get("WINNOW_TRAINERS", ROOT / ".cache/trainers/bin/python"))
    if not python.exists():
        pytest.skip(f"no {python}: the libraries of trainers (torch among them) come with: make trainers")
    return str(python)


def require_trainer_package(name: str, package: str) -> None:
    """Skips the test where the environment was made before it had this package."""
    look = f"import importlib.util; raise SystemExit(importlib.util.find_spec({name!r}) is None)"
    if subprocess.run([trainers_python(), "-c", look], check=False, capture_output=True).returncode:
        pytest.skip(
            f"needs {package} in the environment of trainers' libraries, which is brought up to date by: make trainers"
        )


def run_trainer(script: str | Path, arguments: Sequence[str | Path] = (), *, seconds: int = SECONDS) -> str:
    """What a script of that environment prints; fails with its own words."""
    command = [trainers_python(), str(script), *map(str, arguments)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
    }
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment, check=False)
    assert done.returncode == 0, f"{script} {' '.join(command[2:])}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@contextmanager
def short_temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place for what those libraries leave behind, with a short name: sockets lie there, whose names are bounded."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield
