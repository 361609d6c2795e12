"""The protocol of an export format: a config, and a writer of one shard at a time. Each format is one file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from winnow.schemas.identity import Json


@dataclass(frozen=True, slots=True)
class ShardName:
    """One file, or one group of files, of an export."""

    output: str  # train, validation, or a stage's name
    number: int  # from 0
    of: int  # the number of shards of this output

    def stem(self, separator: str = "-") -> str:
        """`train-00000-of-00012`, Hugging Face's naming of shards."""
        return f"{self.output}{separator}{self.number:05d}{separator}of{separator}{self.of:05d}"


@dataclass(frozen=True, slots=True)
class Made:
    """The result of writing a shard."""

    files: tuple[str, ...]  # relative to the given folder and to the export's, with forward slashes
    samples: int
    facts: Mapping[str, Json]  # for `finish` and the card


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A finished file of an export."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WrittenShard:
    """A committed shard."""

    shard: ShardName
    samples: int
    files: tuple[FileRecord, ...]
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class About:
    """Facts about the whole export for a format's closing files."""

    name: str  # of the store
    plan: str  # the plan's name, a hash
    unit: str
    outputs: tuple[str, ...]  # in plan order
    weights: Mapping[str, Mapping[str, float]]  # by output and source class, the share of units


Join: TypeAlias = Callable[[Path, Sequence[WrittenShard], Path], Sequence[Made]]
"""Shards in a folder → the files that replace them in another."""


class ExportFormat(Protocol):
    """One format. Picklable: workers get it with its config.

    `write` receives the rows of one shard in order, as batches of `winnow.schemas.rows.draws.MIXED`, at least one row;
    it writes under `folder` (its own, empty) and holds no more than one shard in memory. A batch has some MiB of media;
    a larger medium is a file on this machine. The same rows give the same bytes, on any machine and at any time. A row
    that the format cannot hold raises ExportError, which names the sample.

    A format may also have `count(folder, path) -> Sequence[Counted]` (`formats.counting`): how many samples of which
    output one file of a finished export holds or lists, counted independently of the writer. The audit adds
    them up. A damaged file raises ExportError, a missing package RecipeError.

    It may have `wanted_media(config) -> WantedMedia | None` (`formats.wanted_media`), a requirement on every sample;
    `notes(config, shards) -> Sequence[str]`, what a user should know about the written shards;
    `joins(config) -> bool` and `join`, as in `formats.megatron`; and `max_shard_bytes: int`, the largest possible
    shard.
    """

    @property
    def name(self) -> str:
        """The name in recipes."""
        ...

    @property
    def config(self) -> type[Any]:
        """A frozen dataclass, built from the recipe by `build_config`."""
        ...

    def check(self, config: Any) -> None:
        """Raises WinnowError if a package is missing (with the exact pip line) or the options are invalid."""
        ...

    def identity(self, config: Any) -> Json:
        """What the bytes depend on besides the rows: resolved options and digests of the files that they name."""
        ...

    def write(self, config: Any, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one shard."""
        ...

    def finish(self, config: Any, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """Small files beside the shards, by path: indices, descriptions. Called once, when every shard is committed."""
        ...


def joining(export_format: ExportFormat, config: Any) -> Join | None:
    """How a format joins its shards, if its config asks for it."""
    if not getattr(export_format, "joins", _never)(config):
        return None
    join: Join = getattr(export_format, "join")  # noqa: B009  optional in the protocol
    return join


def _never(_: Any) -> bool:
    return False
