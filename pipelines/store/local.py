"""Stores objects on a local or mounted disk.

An object is written under `.tmp` on the same filesystem, synced, and then gets its name in one step:
`rename` for put, `link` for put-if-absent. A reader therefore never sees half an object, and a process that
dies leaves at most a file in `.tmp`, which `clear_unfinished` removes.
"""

import errno
import itertools
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.names import file_name, object_name
from winnow.schemas.errors import StoreError

UNFINISHED = ".tmp"
T = TypeVar("T")
_PLACING_TRIES = 100  # of a name in a folder that others remove meanwhile
_serial = itertools.count()
_NOWHERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))  # removed since it was listed, or a link to nothing


@dataclass(frozen=True)
class LocalStore:
    """Objects under one folder. Picklable; holds no open files."""

    folder: Path
    owner: str = field(default="", kw_only=True)  # the identity of the store whose records these are
    durable: bool = field(default=True, kw_only=True)  # False where nothing outlives the process, such as scratch

    @property
    def root(self) -> str:
        """The folder as the user wrote it."""
        return str(self.folder)

    def owned_by(self, owner: str) -> Self:
        """The same objects, as those of this store."""
        return replace(self, owner=owner)

    def open(self, path: str) -> BinaryIO:
        """Opens a seekable reader of the object; a pipe or a device is none, and is not waited for."""
        return open(self._file(path), "rb", opener=_without_waiting)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range of the object."""
        with self.open(path) as stream:
            stream.seek(offset)
            return stream.read(-1 if length is None else length)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Lists every regular file whose path starts with the prefix, sorted by path; holds one folder's names."""
        folders = [self.entries(prefix.rpartition("/")[0])]
        while folders:
            path = next(folders[-1], None)
            if path is None:
                folders.pop()
            elif path.startswith(prefix) and path.endswith("/"):
                folders.append(self.entries(path[:-1]))
            elif path.startswith(prefix) and (found := self._info(path)) is not None:
                yield found

    def exists(self, path: str) -> bool:
        """Whether an object has this name."""
        return self._file(path).is_file()

    def size(self, path: str) -> int:
        """The object's size in bytes; a folder or a pipe is not an object."""
        status = self._file(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._file(path)))
        return status.st_size

    def put(self, path: str, content: bytes | Path) -> None:
        """Puts the whole object or nothing; a file on the same disk is linked, not copied."""
        target = self._file(path)
        unfinished = self._unfinished(content)
        try:
            _placed(target, partial(os.replace, unfinished, target))
        finally:
            unfinished.unlink(missing_ok=True)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Puts the object only if the name is free; the disk decides between racing callers."""
        target = self._file(path)
        if target.exists():
            return False
        unfinished = self._unfinished(content)
        try:
            if is_first := _placed(target, partial(_linked, unfinished, target)):
                with suppress(FileNotFoundError):  # another process has already removed the object and its folder
                    sync(target.parent)
            return is_first
        finally:
            unfinished.unlink(missing_ok=True)

    def delete(self, path: str) -> None:
        """Removes the object, and folders that become empty."""
        target = self._file(path)
        target.unlink(missing_ok=True)
        for folder in target.parents:
            try:
                if folder == self.folder or any(os.scandir(folder)):
                    break
                folder.rmdir()
            except OSError:  # another process has just added something there, or also removed it
                break

    def scratch(self) -> Path:
        """A folder on the same disk for unfinished files."""
        folder = self.folder / UNFINISHED
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        """Removes leftovers of dead writers; only the holder of the lease may call this.

        Writers on other machines cannot be seen from here. With the lease held, all their files count as
        leftovers; one that just then puts a record without a lease, such as a tombstone, fails and has to repeat it.
        """
        folder = self.folder / UNFINISHED
        entries = list(os.scandir(folder)) if folder.is_dir() else []
        leftovers = [entry for entry in entries if _is_left(entry.name, elsewhere=elsewhere)]
        for entry in leftovers:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)
        return len(leftovers)

    def _file(self, path: str) -> Path:
        parts = path.split("/")
        if not path or path.startswith("/") or ".." in parts or "\0" in path:
            raise StoreError(f"{self.root}: not an object name: {path!r}")
        return self._under(path)

    def _under(self, path: str) -> Path:
        if path.isascii():
            return self.folder / path
        try:
            return self.folder / os.fsdecode(file_name(path))
        except ValueError:
            raise StoreError(f"{self.root}: not an object name: {path!r}") from None

    def _unfinished(self, content: bytes | Path) -> Path:
        unfinished = self.scratch() / f"{Process.this().prefix}{next(_serial)}"
        if isinstance(content, Path):
            try:
                os.link(content, unfinished)
            except OSError:  # another disk, or one without links
                shutil.copyfile(content, unfinished)
            with open(unfinished, "rb") as stream:
                self._sync(stream)
            return unfinished
        try:
            with open(unfinished, "wb") as stream:
                stream.write(content)
                stream.flush()
                self._sync(stream)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            if error.filename is None:  # writing names no file, such as where the disk is full
                raise OSError(error.errno, error.strerror, str(self.folder)) from error
            raise
        return unfinished

    def _sync(self, stream: BinaryIO) -> None:
        """Waits until an unfinished object is on the disk, so that it has its bytes before its name."""
        if self.durable:
            os.fsync(stream.fileno())

    def entries(self, folder: str) -> Iterator[str]:
        """The paths in a folder, in the order of the files below them; those of folders end in a slash."""
        found = []
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._under(folder)) as entries:
            for entry in entries:
                if folder or entry.name != UNFINISHED:
                    name = entry.name if entry.name.isascii() else object_name(os.fsencode(entry.name))
                    path = f"{folder}/{name}" if folder else name
                    found.append(f"{path}/" if entry.is_dir(follow_symlinks=False) else path)
        found.sort()
        return iter(found)

    def _info(self, path: str) -> ObjectInfo | None:
        try:
            # Of an ASCII name no Path: it would keep the names of folders and files in a table of the interpreter's.
            status = os.stat(f"{self.folder}/{path}" if path.isascii() else self._under(path))
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise
        return ObjectInfo(path, status.st_size, str(status.st_mtime_ns)) if stat.S_ISREG(status.st_mode) else None


def _placed(target: Path, place: Callable[[], T]) -> T:
    """What `place` returns, called while the target's folder exists.

    Whoever deletes a folder's last object removes the folder too, which may happen at any time in between.
    """
    tries = 0
    while True:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return place()
        except (FileNotFoundError, FileExistsError):  # or a file lies in the folder's place, and stays there
            tries += 1
            if tries == _PLACING_TRIES:
                raise


def _linked(unfinished: Path, target: Path) -> bool:
    """Whether the target's name was free; a file in its folder's place is an error instead."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        return False
    return True


def _without_waiting(path: str, flags: int) -> int:
    try:
        opened = os.open(path, flags | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:  # a socket
            raise
    else:
        if stat.S_ISREG(os.fstat(opened).st_mode) or stat.S_ISDIR(os.fstat(opened).st_mode):  # `open` refuses folders
            return opened
        os.close(opened)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _is_left(name: str, *, elsewhere: bool) -> bool:
    writer = Process.of(name)
    if writer is None or not writer.is_visible:
        return elsewhere
    return not writer.is_running


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
