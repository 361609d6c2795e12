"""What an export format is: a config, and a writer of one shard at a time. Each format is one file."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from winnow.pipelines.export.formats.counting import Counted
from winnow.pipelines.export.formats.wanted_media import MediaOptions, WantedMedia
from winnow.schemas.identity import Json


@dataclass(frozen=True, slots=True)
class ShardName:
    """One file, or one group of files, of an export."""

    output: str  # train, validation, or a stage's name
    number: int  # from 0
    of: int  # the number of shards of this output

    @property
    def digits(self) -> str:
        """Its number, in five digits, or in as many as the number of shards needs."""
        return f"{self.number:0{self._width}d}"

    def numbered(self, separator: str = "-") -> str:
        """`00000-of-00012`; of 150,000 shards, `000000-of-150000`, as TFDS names them."""
        return f"{self.digits}{separator}of{separator}{self.of:0{self._width}d}"

    def stem(self, separator: str = "-") -> str:
        """`train-00000-of-00012`, Hugging Face's naming of shards."""
        return f"{self.output}{separator}{self.numbered(separator)}"

    @property
    def _width(self) -> int:
        return max(5, len(str(self.of)))


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


class ExportFormat(ABC):
    """One format. Picklable: workers get it with its config.

    A row that it cannot hold raises ExportError, which names the sample.
    """

    name: str  # in recipes
    config: type[Any]  # a frozen dataclass, built from the recipe by `build_config`
    max_shard_bytes = 1 << 62  # the largest possible shard

    def check(self, config: Any) -> None:
        """Raises WinnowError if a package is missing (with the exact pip line) or the options are invalid."""
        if isinstance(config, MediaOptions):
            config.require_packages()

    @abstractmethod
    def identity(self, config: Any) -> Json:
        """What the bytes depend on besides the rows: resolved options and digests of the files that they name."""

    def wanted_media(self, config: Any) -> WantedMedia | None:
        """The requirement on every sample; None if there is none."""
        return config.wanted() if isinstance(config, MediaOptions) else None

    @abstractmethod
    def write(self, config: Any, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one shard under a folder of its own, which is empty; holds no more than one shard in memory.

        The rows come in order, as batches of `winnow.schemas.rows.draws.MIXED`, at least one row. A batch has some MiB
        of media; a larger medium is a file on this machine. The same rows give the same bytes, on any machine and at
        any time.
        """

    def joining(self, config: Any) -> Join | None:  # noqa: ARG002
        """How it joins its shards, if its config asks for it."""
        return None

    def finish(
        self,
        config: Any,  # noqa: ARG002
        shards: Sequence[WrittenShard],  # noqa: ARG002
        about: About,  # noqa: ARG002
    ) -> Mapping[str, bytes]:
        """Small files beside the shards, by path: indices, descriptions. Called once, when every shard is committed."""
        return {}

    def notes(self, config: Any, shards: Sequence[WrittenShard]) -> Sequence[str]:  # noqa: ARG002
        """What a user should know about the written shards."""
        return ()

    @abstractmethod
    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """How many samples of which output one file of a finished export holds or lists, for the audit.

        They are counted independently of the writer (`formats.counting`). A damaged file raises ExportError, a missing
        package RecipeError.
        """
