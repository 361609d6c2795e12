"""The command line as a process of its own, in a group of its own, with nothing left behind."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import psutil

from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


def run(folder: Path, *arguments: str, env: Mapping[str, str] | None = None, seconds: float = 240) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "winnow", *arguments],
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def tree_hash(folder: Path, place: str = "store") -> str:
    return open_store_at(folder / place).require_latest().tree_hash


def assert_clean(folder: Path, recipe: str = "recipe.yaml", env: dict[str, str] | None = None) -> None:
    """`winnow audit` finds nothing wrong; it is a process of its own only where it needs an environment of its own."""
    if env is not None:
        done = run(folder, "audit", recipe, env=env)
        assert done.status == 0, done.out + done.err
        return
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main(["audit", str(folder / recipe)])
    assert status == 0, said.getvalue()


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "winnow", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        parent = psutil.Process(process.pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill_parent_alone(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    members = family(process)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    return members


def kill_group(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    members = family(process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
    return members


def await_gone(members: list[psutil.Process], seconds: float = 30) -> list[psutil.Process]:
    """The processes that still run after a bounded wait; a dead one that nobody has asked about yet does not run."""
    deadline = time.monotonic() + seconds
    while (left := [member for member in members if _runs(member)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
