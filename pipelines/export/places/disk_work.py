"""The unfinished files of an export to a disk, as the tasks that write its shards see them."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from winnow.pipelines.export.formats.protocol import ShardName
from winnow.pipelines.export.places.manifest import ShardCommit, commit_name
from winnow.pipelines.store.local import LocalStore


@dataclass(frozen=True)
class ScratchDisk(LocalStore):
    """A store whose objects appear under their names complete, but not necessarily flushed to the disk."""

    def _settle(self, stream: BinaryIO) -> None:
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
