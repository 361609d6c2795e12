"""Writes an export to a folder: unfinished work is in a hidden folder beside it, and one rename publishes it.

    out/hf/                            finished: the files, and winnow.json, which lists them
    out/.hf.winnow-unfinished/         unfinished
        unfinished.json                the identity
        lock                           one writer at a time
        <identity>/files/              what out/hf will be
        <identity>/commits/            put only if absent, <output>-<n>.json: a shard whose files are complete
        <identity>/scratch/            the exchange, and files that are still being written
    out/.hf.winnow-replaced/           for a moment: the export being replaced

A folder with files but without winnow's marks is never touched.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import orjson

from winnow.pipelines.export.formats.protocol import ExportFormat, FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.places.destination import disk_errors, in_use_error
from winnow.pipelines.export.places.existing import (
    WantedExport,
    absolute_folder,
    file_above,
    read_manifest,
    refuse_strangers,
    replaced_folder,
    require_own_folder,
    size_of,
    unfinished_folder,
)
from winnow.pipelines.export.places.manifest import (
    MANIFEST,
    OWN,
    Manifest,
    Outline,
    ShardCommit,
    commit_name,
    file_records,
    sha256_of,
)
from winnow.pipelines.export.places.overlaps import MARKER
from winnow.pipelines.processes.identity import boot_id
from winnow.pipelines.store.local import UNFINISHED, LocalStore, sync
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json, canonical_json


@dataclass(frozen=True)
class ScratchDisk(LocalStore):
    """A store whose objects appear under their names complete, but not necessarily flushed to the disk."""

    def _sync(self, stream: BinaryIO) -> None:
        """Does not wait for the disk."""


FILES = "files"
COMMITS = "commits"
SCRATCH = "scratch"


@dataclass(frozen=True)
class DiskWork:
    """The work folder of one identity."""

    folder: Path

    def is_committed(self, shard: ShardName) -> bool:
        """Whether a shard is committed."""
        return LocalStore(self.folder).exists(_commit(shard))

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yields a folder on the same disk, so that files need not be copied."""
        with tempfile.TemporaryDirectory(dir=self.folder / SCRATCH, prefix="shard-") as name:
            yield Path(name)

    def commit(self, made: Path, commit: ShardCommit) -> None:
        """Moves a shard's files to the unfinished export and commits the shard."""
        for file in commit.written.files:
            target = self.folder / FILES / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / file.path, target)
        LocalStore(self.folder).put_if_absent(_commit(commit.written.shard), commit.to_json())

    def count(self) -> int:
        """The number of committed shards."""
        try:
            return len(os.listdir(self.folder / COMMITS))
        except OSError:
            return 0


def _commit(shard: ShardName) -> str:
    return f"{COMMITS}/{commit_name(shard)}"


_LOCK = "lock"


class ExportFolder:
    """One export's place on a disk; used with `with`, which locks out other writers."""

    def __init__(self, path: str | Path, identity: str, wanted: Outline | None = None) -> None:
        """`identity`: what to write; unfinished work of another is discarded. `wanted`: the same, for messages."""
        absolute = absolute_folder(path)
        if absolute.name == "":
            raise ExportError(f"{path}: is the root of the disk; name a folder")
        self.path = Path(path)
        self.identity = identity
        self._wanted = wanted
        self._target = absolute
        self.unfinished = unfinished_folder(absolute)
        self._work = self.unfinished / identity  # so that a worker that outlived its driver cannot harm other work
        self._replaced = replaced_folder(absolute)
        self._lock = -1

    def __enter__(self) -> "ExportFolder":
        if (above := file_above(self._target)) is not None:
            raise ExportError(f"{self.path}: {above} is a file, not a folder; choose another folder")
        with disk_errors(self.path):
            self._target.parent.mkdir(parents=True, exist_ok=True)
            self._require_ours()
            self._take_lock()
        try:
            with disk_errors(self.path):
                self._recover()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # what remains is ours, and the next export removes it
            if not (self.unfinished / MARKER).exists():
                self._clear(keep_lock=False)
        self._release()

    @property
    def scratch(self) -> ScratchDisk:
        """For the exchange and for task lists."""
        return ScratchDisk(self._work / SCRATCH)

    @property
    def work(self) -> DiskWork:
        """For the workers that write shards."""
        return DiskWork(self._work)

    @property
    def disk(self) -> Path:
        """Where it is being written."""
        return self.unfinished

    def finished_manifest(self, *, replace: bool = False, notes: list[str] | None = None) -> Manifest | None:
        """The finished export there, if it is the wanted one; None if there is work to do."""
        with disk_errors(self.path):
            manifest = read_manifest(self._target, self.path)
            if manifest is None:
                return None
            wanted = WantedExport(str(self.path), self.identity, self._wanted)
            if not wanted.is_met_by(manifest, LocalStore(self._target), replace=replace, notes=notes):
                refuse_strangers(LocalStore(self._target), manifest, self.path)
                return None
            self._clear()  # left by a process that died after finishing
            return manifest

    def begin(self, notes: list[str], *, replace: bool = False) -> None:
        """Continues unfinished work of the same identity; discards other work and notes it.

        With `replace`, shards with samples left out are written again: their media may be available now.
        """
        with disk_errors(self.path):
            marker = self.unfinished / MARKER
            found = orjson.loads(marker.read_bytes()) if marker.exists() else None
            if found is None:
                self._clear()  # left by a worker that outlived its export
            elif found["identity"] != self.identity:
                notes.append(f"{self.path}: removed unfinished work of another plan or with other options")
                self._clear()
                found = None
            if found is not None and found["boot"] != boot_id():
                self._drop_damaged()  # the machine crashed: some writes may not have reached the disk
                found = None
            if replace:
                self._drop_lacking()
            if found is None:
                LocalStore(self.unfinished).put(MARKER, canonical_json(self._mark()).encode())
            for name in (FILES, COMMITS, SCRATCH):
                (self._work / name).mkdir(parents=True, exist_ok=True)
            for path in (self.unfinished / UNFINISHED, self._work / UNFINISHED, self._work / SCRATCH):
                _remove(path)  # left by a stopped run
            (self._work / SCRATCH).mkdir()

    def _drop_damaged(self) -> None:
        """Withdraws the commits of shards whose files are damaged."""
        files = self._work / FILES
        for path, commit in self._commits():
            if any(
                size_of(files / file.path) != file.bytes or sha256_of(files / file.path) != file.sha256
                for file in commit.written.files
            ):
                path.unlink()

    def _drop_lacking(self) -> None:
        """Withdraws the commits of shards with samples left out."""
        for path, commit in self._commits():
            if any(line.may_return for line in commit.left_out):
                path.unlink()

    def _commits(self) -> Iterator[tuple[Path, ShardCommit]]:
        folder = self._work / COMMITS
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            yield path, ShardCommit.from_json(path.read_bytes())

    def committed(self) -> dict[tuple[str, int], ShardCommit]:
        """The committed shards, by output and number; withdraws the commit of a shard whose files are missing."""
        with disk_errors(self.path):
            found: dict[tuple[str, int], ShardCommit] = {}
            for path, commit in self._commits():
                if all(size_of(self._work / FILES / file.path) == file.bytes for file in commit.written.files):
                    found[commit.written.shard.output, commit.written.shard.number] = commit
                else:
                    path.unlink()
            return found

    def join(
        self, export_format: ExportFormat, config: object, shards: Sequence[WrittenShard]
    ) -> tuple[FileRecord, ...]:
        """Joins the shards' files, if the format does so."""
        join = export_format.joining(config)
        if join is None:
            return ()
        with disk_errors(self.path):
            into = self._work / SCRATCH / "joined"
            _remove(into)
            into.mkdir()
            paths = [path for made in join(self._work / FILES, shards, into) for path in made.files]
            records = file_records(into, paths)
            for record in records:
                target = self._work / FILES / record.path
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(into / record.path, target)
            return records

    def finish(self, manifest: Manifest, closing: Mapping[str, bytes]) -> None:
        """Writes the closing files and the manifest, and publishes the export by one rename."""
        with disk_errors(self.path):
            files = LocalStore(self._work / FILES)
            for path, content in sorted(closing.items()):
                files.put(path, content)
            files.put(MANIFEST, manifest.to_json())
            expected = {MANIFEST, *(file.path for file in manifest.files)}
            for info in list(files.list()):  # left by an earlier attempt and not part of the export
                if info.path not in expected:
                    files.delete(info.path)
            _remove(files.folder / UNFINISHED)
            for path in [*sorted(expected), *sorted({str(PurePosixPath(path).parent) for path in expected})]:
                sync(files.folder / path)  # most of it is on the disk by now
            old = read_manifest(self._target, self.path)
            if old is not None:
                refuse_strangers(LocalStore(self._target), old, self.path)  # added meanwhile
                os.rename(self._target, self._replaced)
            os.rename(files.folder, self._target)
            sync(self._target.parent)
            self._clear()
            _remove_export(self._replaced)

    def _require_ours(self) -> None:
        """Checks that neither the folder nor the hidden one beside it holds anything else."""
        require_own_folder(self._target, self.path)
        read_manifest(self._target, self.path)
        held = set(os.listdir(self.unfinished)) if self.unfinished.is_dir() else set()
        held -= {_LOCK, UNFINISHED}
        # Without a mark, these may be files that a worker wrote after its export ended.
        if not self._marked(self.unfinished / MARKER) and not all(_is_work(self.unfinished / name) for name in held):
            raise _not_ours(self.unfinished)
        held = set(os.listdir(self._replaced)) if self._replaced.is_dir() else set()
        if held and MANIFEST not in held:
            raise _not_ours(self._replaced)

    def _marked(self, marker: Path) -> bool:
        try:
            found = orjson.loads(marker.read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return False
        return isinstance(found, dict) and found.get("winnow") == OWN and {"identity", "boot"} <= found.keys()

    def _mark(self) -> dict[str, Json]:
        return {"winnow": OWN, "identity": self.identity, "for": self._target.name, "boot": boot_id()}

    def _take_lock(self) -> None:
        while True:
            self.unfinished.mkdir(exist_ok=True)
            try:
                descriptor = os.open(self.unfinished / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except FileNotFoundError:  # another export has just finished and removed the folder
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise in_use_error(self.path) from None
            if _same_file(descriptor, self.unfinished / _LOCK):
                self._lock = descriptor
                return
            os.close(descriptor)

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _recover(self) -> None:
        """Recovers after a process that died between two renames."""
        if not self._replaced.exists():
            return
        if os.listdir(self._replaced):
            Manifest.from_json((self._replaced / MANIFEST).read_bytes(), str(self._replaced))  # else not ours
        if self._target.exists() and os.listdir(self._target):
            _remove_export(self._replaced)
        else:
            os.rename(self._replaced, self._target)

    def _clear(self, *, keep_lock: bool = True) -> None:
        # The marker goes last: a folder with files but no marker counts as foreign.
        last = {MARKER, _LOCK}
        for name in sorted(os.listdir(self.unfinished)):
            if name not in last:
                _remove(self.unfinished / name)
        (self.unfinished / MARKER).unlink(missing_ok=True)
        if not keep_lock:
            (self.unfinished / _LOCK).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # another export has just put its lock there
                self.unfinished.rmdir()


def _not_ours(folder: Path) -> ExportError:
    return ExportError(f"{folder}: contains files not written by winnow; move them away")


def _is_work(path: Path) -> bool:
    """Whether a folder has the layout of an identity's work."""
    if path.is_symlink() or not path.is_dir():
        return False
    return set(os.listdir(path)) <= {FILES, COMMITS, SCRATCH, UNFINISHED}


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        there, held = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


def _remove(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _remove_export(folder: Path) -> None:
    """Removes an export's files; those that mark it as ours go last."""
    if folder.exists():
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif entry.name != MANIFEST:
                os.unlink(entry.path)
        (folder / MANIFEST).unlink(missing_ok=True)
        folder.rmdir()
