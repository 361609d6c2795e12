"""The base of an export format: a config, and a writer of one shard at a time. Each format is one file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from winnow.schemas.identity import Json

if TYPE_CHECKING:
    from winnow.pipelines.export.formats.counting import Counted
    from winnow.pipelines.export.formats.wanted_media import WantedMedia


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


class ExportFormat:
    """The base of an export format. Picklable: workers get it with its config.

    `write` receives the rows of one shard in order, as batches of `winnow.schemas.rows.draws.MIXED`, at least one row;
    it writes under `folder` (its own, empty) and holds no more than one shard in memory. A batch has some MiB of media;
    a larger medium is a file on this machine. The same rows give the same bytes, on any machine and at any time. A row
    that the format cannot hold raises ExportError, which names the sample.
    """

    name: str  # in recipes
    config: type[Any]  # a frozen dataclass, built from the recipe by `build_config`
    max_shard_bytes: int | None = None  # of the largest possible shard

    def check(self, config: Any) -> None:
        """Raises WinnowError if a package is missing (with the exact pip line) or the options are invalid."""

    def identity(self, config: Any) -> Json:
        """What the bytes depend on besides the rows: resolved options and digests of the files that they name."""
        return asdict(config)

    def write(self, config: Any, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one shard."""
        raise NotImplementedError

    def finish(self, config: Any, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:  # noqa: ARG002
        """Small files beside the shards, by path: indices, descriptions. Called once, when every shard is committed."""
        return {}

    def count(self, folder: Path, path: str) -> "Sequence[Counted]":  # noqa: ARG002
        """How many samples of which output one file of a finished export holds or lists, for the audit.

        They are counted independently of the writer. A damaged file raises ExportError, a missing package RecipeError.
        """
        return ()

    def wanted_media(self, config: Any) -> "WantedMedia | None":  # noqa: ARG002
        """The requirement on every sample."""
        return None

    def notes(self, config: Any, shards: Sequence[WrittenShard]) -> Sequence[str]:  # noqa: ARG002
        """What a user should know about the written shards."""
        return ()

    def joins(self, config: Any) -> bool:  # noqa: ARG002
        """Whether `join` joins the shards once they are written."""
        return False

    def join(self, folder: Path, shards: Sequence[WrittenShard], into: Path) -> Sequence[Made]:
        """Joins the shards in `folder` into files under `into`, which replace them.

        A crash leaves the shards unchanged: `into` may be emptied and written again.
        """
        raise NotImplementedError
