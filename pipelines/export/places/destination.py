"""Where an export goes: a folder of a disk, or objects under an address.

out/hf                         `folder`: made beside it, and shown by one rename
s3://bucket/out/hf             `bucket`: files take their names as they are made, the manifest comes last
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from winnow.pipelines.export.formats.protocol import ExportFormat, FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.places.manifest import Manifest, ShardCommit
from winnow.pipelines.store.facade import ObjectStore


class Work(Protocol):
    """Where an export is being made, as those see it that write its shards. Picklable."""

    def stands(self, shard: ShardName) -> bool:
        """Whether a shard is committed."""
        ...

    def writing(self) -> AbstractContextManager[Path]:
        """An empty folder of this machine, in which a shard's files are made; it goes with the block."""
        ...

    def commit(self, made: Path, commit: ShardCommit) -> None:
        """Put a shard's files where the export is being made, and say that they stand.

        A shard that is written twice has the same bytes twice, so it does no harm to come second.
        """
        ...

    def count(self) -> int:
        """How many shards are committed; for people."""
        ...


class ExportPlace(Protocol):
    """One export's place; `with` it, nobody else writes there."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def disk(self) -> Path | None:
        """A folder of the disk that is written to; None where that is no disk of this machine."""
        ...

    @property
    def scratch(self) -> ObjectStore:
        """For the exchange and for task lists."""
        ...

    @property
    def work(self) -> Work:
        """For those that write shards."""
        ...

    def standing(self, *, replace: bool = False, notes: list[str] | None = None) -> Manifest | None:
        """The finished export that is there, if it is what would be written; None where there is work to do.

        Args:
            replace: Another export makes room once the new one is whole. One of the same plan is read whole: where its
                files are not as they were written, or samples were left out of it, it makes room too.
            notes: Gets why an export of the same plan makes room.

        Raises:
            ExportError: It is another export, or its files are gone or of other sizes than they were written.
        """
        ...

    def begin(self, notes: list[str], *, replace: bool = False) -> None:
        """Go on with unfinished work of the same identity; other work goes, and that is noted.

        With `replace` shards that samples were left out of are made again: their media may be back.
        """
        ...

    def committed(self) -> dict[tuple[str, int], ShardCommit]:
        """The shards that stand, by output and number; the commit of one whose files are gone is taken back."""
        ...

    def join(
        self, export_format: ExportFormat, config: object, shards: Sequence[WrittenShard]
    ) -> tuple[FileRecord, ...]:
        """What takes the place of the shards' files, where a format joins them; nothing where it does not."""
        ...

    def finish(self, manifest: Manifest, closing: Mapping[str, bytes]) -> None:
        """Write the closing files and the manifest, and show the whole."""
        ...
