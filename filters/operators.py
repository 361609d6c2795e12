"""Registry of operators: each is one file that measures samples and writes one layer of the store.

An operator is a `TextOperator` or a `PictureOperator`, or a `VideoOperator` of `filters/video/decode/operator.py`.
The operator `text.gopher` is the object `OPERATOR` of `filters/text/gopher.py`. Another package adds one with an entry
point of the group `winnow.operators`, named like the operator.
"""

import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.entry_points import entry_points
from winnow.schemas.assets import AnyAsset
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import nearest
from winnow.schemas.recipe.checks import Matching

ENTRY_POINTS = "winnow.operators"
TEXT = "text"
"""The column for the text that the recipe's `text` selects."""

CAPTIONS = "captions"
"""The column for the captions that the recipe's `captions` selects: those of the first of its columns that has any."""

STATUS = pa.field("status", pa.string(), nullable=False)
"""The first column of every layer: `ok`, or why the row was not measured. The stage adds it where a kernel does not."""

FILES = pa.schema(
    [
        pa.field("mime", pa.string(), nullable=False),
        pa.field("content", pa.large_binary(), nullable=False),
    ]
)
"""Whole files of pictures, not decoded."""

IMAGES = pa.schema(
    [
        pa.field("mime", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("height", pa.int32(), nullable=False),  # of the whole picture, upright
        pa.field("width", pa.int32(), nullable=False),
        pa.field("frames", pa.int32()),  # of the file, of which only the first is here; null if unknown
        pa.field("pixels", pa.large_binary(), nullable=False),  # rows of red, green and blue
        pa.field("rows", pa.int32(), nullable=False),  # of `pixels`, which may be smaller than the picture
        pa.field("columns", pa.int32(), nullable=False),
    ]
)
"""Decoded pictures."""

ITEMS = pa.field("items", pa.list_(pa.string()))
"""The second column of a layer of items: for each item of the row, `ok` or why it was not measured."""

MAX_KERNEL_BYTES = 512 << 20
"""The memory that a kernel may take for one text."""

NO_PIXELS = 0
"""The side of operators that only need to know that a picture can be decoded."""

_FOLDERS = ("text", "url", "page", "image", "video", "caption")
_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")

ColumnName: TypeAlias = Annotated[str, Matching(r"[^.\s]+(\.[^.\s]+)+", "a column, such as text.language.code")]
"""A column that a configuration names, for operators that read what they are told."""

Resource: TypeAlias = Literal["cpu", "model", "gpu"]
Kernel: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]
"""Turns the columns that an operator reads into those that it writes, row by row in the same order."""


KEYS = pa.binary(16)
"""The type of the keys by which rows of a store meet."""

ANSWERS = pa.schema(
    [
        pa.field("key", KEYS, nullable=False),
        pa.field("id", pa.binary(16), nullable=False),  # of the answering row
        pa.field("total", pa.int64(), nullable=False),  # all rows that offer this key, not only those among the answers
    ]
)
"""The first columns of answers; followed by those that the operator's `answers_for` returns."""


class Assets(Protocol):
    """Files that operators need: models and lists, fetched and checked before any worker starts."""

    def path(self, name: str) -> str:
        """The path of an asset, given its name in winnow's list of assets or a path from the recipe."""


@dataclass(frozen=True, slots=True)
class RowLookup:
    """How an operator looks up other rows of the store by key: some rows want a key, others offer it and answer.

    All functions get what `prepare` returns, and batches with the columns that the operator reads, of the rows that it
    measures. Values must depend only on these, so that they are the same however rows are divided into shards.
    """

    max_answers: Callable[[Any], int]  # the most per key: those of the rows with the smallest ids
    offered_keys: Callable[[Any, pa.RecordBatch], tuple[NDArray[np.int64], pa.Array]]
    """Row numbers, and the key that each offers, without nulls; rows and keys may repeat."""
    load: Callable[[Any, pa.RecordBatch], Kernel]
    """The kernel for a shard, from the answers to its rows, sorted by key and id."""
    wanted_keys: Callable[[Any, pa.RecordBatch], pa.Array] | None = None
    """The keys that rows want, in any order; null for none. None: those that they offer."""
    answers_for: Callable[[Any, pa.RecordBatch, NDArray[np.int64], pa.Array], pa.RecordBatch] | None = None
    """The answers of rows to keys that they offer: one for each pair of row and key. None: the id says enough."""
    answer_columns: pa.Schema = field(default_factory=lambda: pa.schema([]))  # of the batches of `answers_for`
    least_total: Callable[[Any], int] = field(default=lambda _config: 1)
    """From how many offering rows on a key is answered. As `max_answers` it gets the configuration."""
    repeats: int | None = None
    """So many equal keys of one row count as one row of the total, twice as many as two; None: any number."""
    second: "Callable[[Any, pa.RecordBatch], RowComparison] | None" = None
    """For a shard, the comparison that follows, from this lookup's answers: of whatever answers, it differs in lines
    and in the kernel alone. None: answers go to the kernel."""
    prepare: Callable[[Any, Assets], Any] = field(default=lambda config, _assets: config)
    """Called once a process, with what the operator's `load` gets: its files are opened here. None of it: the other
    functions get the configuration."""
    sent_bytes: int = 2
    """The bytes of offers for each byte of the objects that are read, about: these are compressed."""

    def unanswered(self, config: Any, _assets: Assets) -> Kernel:
        """The kernel of rows that nothing is looked up for, as an operator's `load` gives it."""
        return self.load(config, pa.RecordBatch.from_pylist([], schema=ANSWERS))


@dataclass(frozen=True, slots=True)
class RowComparison:
    """How an operator compares parts of rows that meet by key, after a lookup that says which may be equal.

    Rows give lines; those of one key meet, of all rows of the store. What is found of them goes to the shards that ask.
    As in `RowLookup`, functions get what `prepare` returns.
    """

    lines: Callable[[Any, pa.RecordBatch], pa.RecordBatch]
    """Lines of these rows: `key`, where each meets others, `asked` (`KEYS`), by which its shard gets answers, and what
    is compared; equal lines may be one."""
    answers: pa.Schema  # `key`, which is what was asked, and what was found
    compare: Callable[[Any, pa.RecordBatch], pa.RecordBatch]
    """What is found of all lines of some keys, which come in any order; each answer once."""
    load: Callable[[Any, pa.RecordBatch], Kernel]
    """The kernel for a shard, from the answers to what its rows asked, in any order."""
    sent_bytes: int = 2
    """The bytes of lines for each byte of the objects that are read, about."""


PART = pa.field("part", pa.string(), nullable=False)
"""What of a key a line counts, such as the rows of one language."""


@dataclass(frozen=True, slots=True)
class RowTotals:
    """How an operator adds up rows of the store by key: each row gets sums over all rows of its key.

    Rows give lines of a key, a part and integers. Lines of the same key and part are added up, first within a shard, so
    that a key that many rows have costs one line a shard and part. A shard gets the sums of the keys and parts that its
    rows gave, and those of all parts of these keys that are `shown`. As in `RowLookup`, functions get the operator's
    configuration, and batches with the columns that it reads.
    """

    amounts: tuple[str, ...]  # the names of the integers
    lines: Callable[[Any, pa.RecordBatch], pa.RecordBatch]
    """Lines of these rows: `key` (`KEYS`), `part` (`PART`) and the amounts (int64); they may repeat."""
    shown: Callable[[Any, pa.RecordBatch], NDArray[np.bool_]]
    """Which sums all rows of their key get; of all sums of some keys, sorted by key and part."""
    load: Callable[[Any, pa.RecordBatch], Kernel]
    """The kernel for a shard, from sums, sorted by key and part."""
    sent_bytes: int = 1
    """The bytes of lines for each byte of the objects that are read, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(ABC):
    """A measurement: the common part of operators on texts, pictures and videos.

    The version goes up whenever the output for any row changes.
    """

    name: str
    version: int
    summary: str  # one line for `winnow operators`
    config: type[Any]  # a frozen dataclass; every field has a default
    writes: Callable[[Any], pa.Schema]
    load: Callable[[Any, Assets], Callable[..., Any]]
    """Called once a process; what it returns measures rows, pictures or videos."""
    assets: Callable[[Any], tuple[str, ...]] = field(default=lambda _config: ())  # names of assets, or the user's paths
    declares: tuple[AnyAsset, ...] = ()
    """The assets that its configurations may name, with where each comes from."""
    resource: Resource = "cpu"
    reasons: tuple[str, ...] = ()  # its own statuses, in addition to the stage's
    detects: Callable[[Any], Mapping[str, str]] = field(default=lambda _config: {})
    """The columns that detect harmful content, each with its subcategory in the taxonomy of `schemas/safety`: null
    where the operator could not look, never where it found nothing."""
    languages: Callable[[Any], frozenset[str] | None] = field(default=lambda _config: None)
    """The languages that it covers, as ISO 639-3; None if it does not depend on language."""
    depends: Callable[[Any], tuple[str, ...]] = field(default=lambda _config: ())
    """What values depend on besides the configuration and the content of its files, such as code that it names."""
    elsewhere: Callable[[Any], Iterable[tuple[str, ...]]] = field(default=lambda _config: ())
    """What `depends` may be where other packages are installed: then a message on a layer names packages, not
    settings."""
    guarded: bool = False
    """Whether a rule on its columns that drops half of a source is an alarm, as the files it was given may be wrong."""
    covered: tuple[str, str] | None = None
    """Of a guarded operator, the columns with the share of a text's words that its spans cover, and with their number:
    then an edit that cuts half of a source or language is an alarm as well."""
    remarks: Callable[[Any, Assets], tuple[str, ...]] = field(default=lambda _config, _assets: ())
    """Warnings about the files it was given, such as invalid lines of a list."""

    @abstractmethod
    def inputs(self, config: Any) -> tuple[str, ...]:
        """What it reads, for display: the names of columns, or what it looks at."""

    def configured(self, _config: Any) -> "Operator":
        """The operator for this configuration: another one if that reads something else."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOperator(Operator):
    """Measures rows by their columns: the text, the address, captions, or what other operators wrote.

    A kernel gets only rows that have every column of `needs` and meet the condition; the others become null rows
    whose status says why. Its output for a row depends only on that row, unless it has `lookup`.
    """

    reads: Callable[[Any], tuple[str, ...]]  # dotted names, such as `text`, `samples.url`, `text.language.label`
    load: Callable[[Any, Assets], Kernel]
    lookup: RowLookup | RowTotals | None = None
    """For an operator whose values depend on other rows of the store. It runs after all layers that it reads have been
    written for every shard, and its layer is computed again when shards are added. None: a row's values depend on it
    alone."""
    needs: tuple[str, ...] = (TEXT,)  # columns that a row must have to be measured
    as_written: bool = False
    """Whether its kernel gets the text as it is written; else in composed form (NFC), and its columns of spans are
    moved to the same places of the text as it is written."""
    memory: int = 1
    """The bytes of memory that its kernel takes at worst for each byte of a text. Texts for which that is more than
    `MAX_KERNEL_BYTES` are not measured (`too_large`)."""
    kinds: Callable[[Any], tuple[str, ...]] = field(default=lambda _config: ())
    """The kinds of its spans, such as `email`; empty if its spans have no fixed kinds."""

    def inputs(self, config: Any) -> tuple[str, ...]:
        """The columns that it reads."""
        return self.reads(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOperator(Operator):
    """Measures pictures: its kernel writes a row for each, from that picture alone.

    The columns of its layer are lists, aligned with the sample's media.
    """

    load: Callable[[Any, Assets], Kernel]
    files: bool = False  # whether its kernel gets whole files (`FILES`) instead of decoded pictures (`IMAGES`)
    side: Callable[[Any], int | None] = field(default=lambda _config: None)
    """To what the longer side of decoded pictures is shrunk; None for every pixel, `NO_PIXELS` for pictures of whatever
    size they are decoded at for other operators."""

    def inputs(self, _config: Any) -> tuple[str, ...]:
        """Pictures, or their files."""
        return ("media.file" if self.files else "media.image",)


_REGISTERED: dict[str, Operator] = {}
"""Operators that this process added by itself, such as a notebook."""


def register_operator(operator: Operator) -> None:
    """Add an operator that recipes of this process may name, or replace one added before.

    Raises:
        RecipeError: Its name is invalid, or belongs to another operator.
    """
    name = operator.name
    if not _NAME.fullmatch(name) or name.partition(".")[0] not in _FOLDERS:
        rooms = ", ".join(_FOLDERS)
        raise RecipeError(f"operator {name!r}: expected a name such as text.shouting, that begins with one of {rooms}")
    if name in _own_names() or any(point.name == name for point in entry_points(ENTRY_POINTS)):
        raise RecipeError(f"operator {name!r}: there is one of this name already; choose another")
    _REGISTERED[name] = operator


def operator_names() -> tuple[str, ...]:
    """The names of all operators."""
    return tuple(sorted({*_own_names(), *_REGISTERED, *(point.name for point in entry_points(ENTRY_POINTS))}))


def find_operator(name: str) -> Operator:
    """The operator with this name; the error for an unknown name suggests the nearest."""
    if name not in operator_names() or not _NAME.fullmatch(name):
        near = nearest(name, operator_names())
        hint = f"did you mean {near!r}?" if near else "`winnow operators` lists them"
        raise RecipeError(f"unknown operator {name!r} ({hint})")
    if name in _REGISTERED:
        return _REGISTERED[name]
    point = next((point for point in entry_points(ENTRY_POINTS) if point.name == name), None)
    try:
        found = point.load() if point else import_module(f"winnow.filters.{name}").OPERATOR
    except (ImportError, AttributeError, TypeError) as error:  # in another package, or in one that it needs
        raise RecipeError(f"operator {name!r} cannot be loaded: {error}") from error
    if not isinstance(found, Operator):
        raise RecipeError(f"{name!r} is registered as an operator but is not an Operator; correct its entry point")
    return found


@lru_cache(maxsize=1)
def _own_names() -> tuple[str, ...]:
    return tuple(
        f"{folder}.{module.name}"
        for folder in _FOLDERS
        for module in pkgutil.iter_modules(import_module(f"winnow.filters.{folder}").__path__)
        if not module.ispkg  # packages are shared code
    )
