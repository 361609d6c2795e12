"""A folder for the temporary files of this process, recognisable after the process was killed.

    TMPDIR/winnow-<uid>/<process>-<its start>/                          a command, for which this is TMPDIR
    TMPDIR/winnow-<uid>/<process>-<its start>/<process>-<its start>/    a worker of the command
    TMPDIR/winnow-<uid>/failed-….log                                    kept, as an error message names it

A process locks its folder for as long as it lives. The system releases a lock however the process ends, a new process
with the same number does not hold it, and containers that share the folder see each other's locks. The next process
that needs a folder, such as the next command, removes those without a lock.
"""

import atexit
import fcntl
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.pipelines.processes.identity import started
from winnow.schemas.environment.temporary_root import RUN_FOLDER_VARIABLE, temporary_root

FAILED = "failed-"
"""The beginning of the names of kept logs."""

_LOCK = "lock"  # held for as long as the folder's process lives
_GUARD = "guard"  # held while folders are made and removed
_NAME = re.compile(r"[0-9]+-[0-9]*(-[0-9]+)?")

_lock = threading.Lock()
_folder: Path | None = None
_held: list[int] = []  # the open files that the locks are on


def run_folder() -> Path:
    """This process's folder, made on first use and removed with the process."""
    global _folder
    with _lock:
        if _folder is None or not _folder.is_dir():
            _folder = _make(_parent())
            atexit.register(_remove, _folder, os.getpid())
        return _folder


def temporary_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """A new folder for a `with` block; its name begins with its purpose.

    What cannot be removed yet, as something still writes to it, goes with the process's folder: a removal error would
    hide the error, or the interrupt, that ended the block.
    """
    return tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=run_folder(), ignore_cleanup_errors=True)


@contextmanager
def temporary_files_of_a_command() -> Iterator[None]:
    """Directs all temporary files of this process, its libraries and its child processes to its folder.

    Without a writable temporary folder nothing changes: most commands need none, and those that do report it.
    """
    if RUN_FOLDER_VARIABLE in os.environ:  # part of another command, whose folder it shares
        yield
        return
    try:
        folder = str(run_folder())
    except OSError:
        yield
        return
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = os.environ[RUN_FOLDER_VARIABLE] = tempfile.tempdir = folder
    try:
        yield
    finally:
        del os.environ[RUN_FOLDER_VARIABLE], os.environ["TMPDIR"]
        if before is not None:
            os.environ["TMPDIR"] = before
        tempfile.tempdir = None
        _remove(Path(folder), os.getpid())


def remove_dead_runs(*, logs: bool = False) -> None:
    """Removes the folders of this user's processes that have ended, and on request what failed runs left for people."""
    root = temporary_root()
    with _guarded(root):
        _sweep(root)
    for kept in left_by_failed_runs() if logs else ():
        kept.unlink(missing_ok=True)


def left_by_failed_runs() -> list[Path]:
    """Files that outlive their runs, for this user alone: logs of workers, which may quote a row."""
    root = temporary_root()
    pages = root.glob("report-*.html")  # earlier versions put those of full disks here
    return sorted([*root.glob(f"{FAILED}*.log"), *pages])


def _parent() -> Path:
    """The folder of the command that this process belongs to, or the user's."""
    command = os.environ.get(RUN_FOLDER_VARIABLE)
    return Path(command) if command is not None and Path(command).is_dir() else temporary_root()


def _make(parent: Path) -> Path:
    with _guarded(parent):
        _sweep(parent)
        name = f"{os.getpid()}-{started(os.getpid()) or ''}"
        # A container that shares the folder may have a process of the same number and start.
        names = [name, *(f"{name}-{again}" for again in range(1, 1000))]
        folder = parent / next(one for one in names if not (parent / one).exists())
        folder.mkdir(mode=0o700)
        held = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        _held.append(held)
        return folder


@contextmanager
def _guarded(parent: Path) -> Iterator[None]:
    """Prevents removal between a folder's creation and its lock."""
    guard = os.open(parent / _GUARD, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
    finally:
        os.close(guard)


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        if _NAME.fullmatch(folder.name) is None or folder.is_symlink() or not folder.is_dir():
            continue
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:  # its process was killed while making or removing it; or something clears old files
            process, since, *_ = folder.name.split("-")
            if started(int(process)) != since:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its process lives
            continue
        finally:
            os.close(lock)


def _remove(folder: Path, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    """Forgets the folder after a fork; the lock belongs to the parent."""
    global _lock, _folder
    _lock = threading.Lock()
    _folder = None
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_forget)
