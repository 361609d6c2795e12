"""The destination of an export: a folder on a disk, or objects under an address.

out/hf                         `folder`: written beside it, and published by one rename
s3://bucket/out/hf             `bucket`: files get their final names, the manifest comes last
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from winnow.pipelines.export.formats.protocol import ExportFormat, FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.places.manifest import Manifest, ShardCommit
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import ExportError


class Work(Protocol):
    """An unfinished export, as seen by the workers that write its shards. Picklable."""

    def is_committed(self, shard: ShardName) -> bool:
        """Whether a shard is committed."""

    def writing(self) -> AbstractContextManager[Path]:
        """Yields an empty folder on this machine for a shard's files; it is removed afterwards."""

    def commit(self, made: Path, commit: ShardCommit) -> None:
        """Moves a shard's files to the unfinished export and commits the shard.

        A shard that is written twice has the same bytes, so a second commit is harmless.
        """

    def count(self) -> int:
        """The number of committed shards, for progress."""


class ExportPlace(Protocol):
    """One export's place; used with `with`, which locks out other writers."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def disk(self) -> Path | None:
        """The folder that is written to; None if it is not on a disk of this machine."""

    @property
    def scratch(self) -> ObjectStore:
        """For the exchange and for task lists."""

    @property
    def work(self) -> Work:
        """For the workers that write shards."""

    def finished_manifest(self, *, replace: bool = False, notes: list[str] | None = None) -> Manifest | None:
        """The finished export there, if it is the wanted one; None if there is work to do.

        With `replace`, another export is replaced once the new one is complete. One of the same plan is read in full,
        and is replaced too if files are damaged or samples were left out; `notes` receives the reason.

        ExportError if it is another export, or files are missing or have the wrong size.
        """

    def begin(self, notes: list[str], *, replace: bool = False) -> None:
        """Continues unfinished work of the same identity; discards other work and notes it.

        With `replace`, shards with samples left out are written again: their media may be available now.
        """

    def committed(self) -> dict[tuple[str, int], ShardCommit]:
        """The committed shards, by output and number; withdraws the commit of a shard whose files are missing."""

    def join(
        self, export_format: ExportFormat, config: object, shards: Sequence[WrittenShard]
    ) -> tuple[FileRecord, ...]:
        """Joins the shards' files, if the format does so."""

    def finish(self, manifest: Manifest, closing: Mapping[str, bytes]) -> None:
        """Writes the closing files and the manifest, and publishes the export."""


@contextlib.contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Turns errors of the disk into one line."""
    try:
        yield
    except OSError as error:
        where = "" if error.filename is None or str(error.filename) == str(path) else f" ({error.filename})"
        raise ExportError(f"{path}: cannot be written: {error.strerror or error}{where}") from None


def in_use_error(path: str | Path) -> ExportError:
    """The error for a place that another writer has locked."""
    return ExportError(f"{path}: another export is being written there; wait for it to end")
