"""A local folder for unfinished objects, for stores that are not on a disk.

Each process has its own under the system's temporary folder (TMPDIR) and locks it for as long as it lives.
Leftovers of a killed process are recognised by the missing lock and removed by the next process that needs a folder.
The system releases locks however a process ends, and containers that share the folder see the same locks.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

_LOCK = "lock"

_lock = threading.Lock()
_folder: Path | None = None
_process = 0
_held: list[int] = []  # the open files that the locks are on


def process_scratch() -> Path:
    """This process's folder, made on first use and removed with the process."""
    global _folder, _process
    with _lock:
        if _folder is None or _process != os.getpid() or not _folder.is_dir():
            _folder, _process = _make(_common()), os.getpid()
            atexit.register(_remove, _folder, _process)
        return _folder


def _common() -> Path:
    """The parent folder of all processes of this user, which nobody else may write to."""
    folder = Path(tempfile.gettempdir()) / f"winnow-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if status.st_uid != os.getuid() or folder.is_symlink() or not folder.is_dir() or status.st_mode & 0o022:
            return Path(tempfile.mkdtemp(prefix="winnow-"))
    return folder


def _make(common: Path) -> Path:
    guard = os.open(common / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)  # prevents sweeping between a folder's creation and its lock
        _sweep(common)
        folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=common))
        held = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        _held.append(held)
        return folder
    finally:
        os.close(guard)


def _sweep(common: Path) -> None:
    for folder in common.glob("scratch-*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:  # its process was killed while making or removing it
            shutil.rmtree(folder, ignore_errors=True)
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its process lives
            pass
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
