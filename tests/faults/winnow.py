"""The command line as a process of its own, in a group of its own, with nothing left behind."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
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


def run_here(folder: Path, *arguments: str) -> Done:
    """A command in this process, which has started already: a second or two less."""
    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)  # some write bytes
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            status = main([*arguments])
        except SystemExit as left:  # from the parser of arguments
            status = int(left.code or 0)
    return Done(status, raw.getvalue().decode(), err.getvalue())


def ended(done: Done, status: int = 0) -> str:
    """What a command printed that ended with this status; if that is not 0, what it complained of."""
    assert done.status == status, done.out + done.err
    return done.err if status else done.out


def run(folder: Path, *arguments: str, env: Mapping[str, str] | None = None, seconds: float = 240) -> Done:
    """A command in a process of its own."""
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


def assert_clean(folder: Path, recipe: str = "recipe.yaml") -> None:
    """`winnow audit` finds nothing wrong."""
    done = run_here(folder, "audit", recipe)
    assert done.status == 0, done.out + done.err


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
