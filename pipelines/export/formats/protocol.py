"""What a format of export is: a config, and a writer of one shard at a time. One file in this folder a format."""

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
    of: int  # how many there are of this output

    def stem(self, separator: str = "-") -> str:
        """`train-00000-of-00012`, as Hugging Face names shards."""
        return f"{self.output}{separator}{self.number:05d}{separator}of{separator}{self.of:05d}"


@dataclass(frozen=True, slots=True)
class Made:
    """What writing a shard made."""

    files: tuple[str, ...]  # below the folder that was given, with forward slashes; the same names below the export's
    samples: int
    facts: Mapping[str, Json]  # what `finish` needs to know of them, and what the card may show


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A finished file of an export."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WrittenShard:
    """A shard that stands."""

    shard: ShardName
    samples: int
    files: tuple[FileRecord, ...]
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class About:
    """What a format's closing files may say of the whole export."""

    name: str  # of the store
    plan: str  # the plan's name, a hash
    unit: str
    outputs: tuple[str, ...]  # in the order of the plan
    weights: Mapping[str, Mapping[str, float]]  # by output and source class, the share of units that is given


Join: TypeAlias = Callable[[Path, Sequence[WrittenShard], Path], Sequence[Made]]
"""Shards in a folder → what stands for them in another."""


class ExportFormat(Protocol):
    """One format. Picklable: workers get it with its config.

    `write` is given the rows of one shard in their order, as batches of `winnow.schemas.draws.MIXED`, at least one row;
    it writes below `folder` (its own, empty) and holds no more than one shard in memory. The same rows give the same
    bytes, on any machine and at any time. A row that it cannot hold raises ExportError, which names the sample.

    A format may also have `count(folder, path) -> Sequence[Counted]` (`formats.counting`): of one file of a finished
    export, how many samples of which output it holds or lists, counted by other means than those that wrote it. The
    audit adds them up. A file that is damaged raises ExportError, a package that is missing RecipeError.

    It may have `one_medium(config) -> OneMedium | None` (`formats.one_medium`): what it wants of every sample;
    `notes(config, shards) -> Sequence[str]`: what a reader of the export should know of the shards that were written;
    `joins(config) -> bool` and `join`, as `formats.megatron` has them; and `max_shard_bytes: int`, where larger shards
    cannot be.
    """

    @property
    def name(self) -> str:
        """As recipes write it."""
        ...

    @property
    def config(self) -> type[Any]:
        """A frozen dataclass, built from the recipe by `build_config`."""
        ...

    def check(self, config: Any) -> None:
        """Raise WinnowError where a package is missing (with the exact pip line), or where the options do not go."""
        ...

    def identity(self, config: Any) -> Json:
        """What the bytes depend on beside the rows: resolved options and the digests of files that they name."""
        ...

    def write(self, config: Any, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Write one shard."""
        ...

    def finish(self, config: Any, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """Small files beside the shards, by path: indices, descriptions. Called once, when every shard stands."""
        ...


def joining(export_format: ExportFormat, config: Any) -> Join | None:
    """How a format puts its shards together, where its config says so."""
    if not getattr(export_format, "joins", _never)(config):
        return None
    join: Join = getattr(export_format, "join")  # noqa: B009  optional in the protocol
    return join


def _never(_: Any) -> bool:
    return False
