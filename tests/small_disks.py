"""Disks that fill: a tmpfs of a few megabytes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk_at(disk: Path, megabytes: int) -> Iterator[Path]:
    """A new folder that holds no more than so much."""
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root: run the tests as root to see a disk fill")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)
