"""What several processes of a test run need is made by one of them."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(places: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that is made by whichever process of the test run asks first, and only read afterwards."""
    root = places.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # then each process has a folder of its own in the one of the run
        root = root.parent
    folder, done = root / name, root / f"{name}.made"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one who failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
