"""Task `linear_head`: a softmax head over features of a row, for a label that the store holds.

Features are hashed from the row's text or read from a column, without torch; or they are computed from the row's text
or image by a frozen network.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.features import Features, joined, rows_of
from winnow.scoring.linear.hashed import Hashing, hashed_texts
from winnow.scoring.linear.head import HeadScorer, head_losses, head_shapes, initial_head
from winnow.scoring.linear.parameters import require_weights
from winnow.scoring.linear.training import head_gradient, train_head
from winnow.scoring.protocol import (
    NO_INPUT,
    NOT_FINITE,
    OK,
    TEXT,
    UNREADABLE,
    Checkpoint,
    Encoded,
    Files,
    Floats,
    Scored,
    Scorer,
    Scorers,
    TaskKind,
    TrainingSettings,
    Weights,
    references_of,
    with_loss,
)
from winnow.scoring.tasks.labels import is_text, label_problems, member_of, numbered_labels, shown_label
from winnow.scoring.torch_models.frozen import KINDS, Encoder, Limits, encoder
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.runtime import TorchRuntime

NAME = "linear_head"

Source: TypeAlias = Literal["hashed", "columns", "minilm", "efficientnet"]
"""The source of features; the last two are encoders of the row's text and image."""

Label: TypeAlias = bool | int | str

_MAX_BUCKETS = 1 << 22
_MAX_WEIGHTS = 1 << 28  # 1 GiB
_MAX_WORDS, _MAX_CHARACTERS = 8, 32
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LinearHeadConfig:
    """The features, labels and size of the head."""

    label: str = ""  # a dotted column of strings, integers or booleans
    label_folder: bool = False  # the column has paths, such as samples.source.path; the label is the file's folder
    label_key: str = ""  # the column has JSON objects, such as samples.metadata; the label is at this key
    labels: tuple[Label, ...] = ()  # the classes, in the order of the head's weights
    features: Source = "hashed"
    column: str = ""  # columns: a dotted column of lists of numbers
    column_key: str = ""  # columns: the column has JSON objects; the list is at this key
    width: int = 0  # columns: numbers in each list
    buckets: int = 1 << 16  # hashed: 256 KiB of weights per class, so that ten classes stay in a cache
    words: int = 2  # hashed: the longest sequence of words
    characters: tuple[int, ...] = (3, 4)  # hashed: the shortest and the longest sequence
    max_bytes: int = 4096  # hashed, minilm: read from each text's beginning
    longer: Literal["cut", "refuse"] = "cut"  # minilm: a text of more than 256 tokens, or more than max_bytes
    running: TorchRuntime = field(default_factory=TorchRuntime)  # minilm, efficientnet: where they compute


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows that have features and a label."""

    features: Features
    labels: NDArray[np.int64]  # a label's number in the configuration

    @property
    def table(self) -> NDArray[Any] | None:
        """Features, where they are dense."""
        return self.features if isinstance(self.features, np.ndarray) else None

    def with_table(self, table: NDArray[Any]) -> "Examples":
        """The same with other features."""
        return replace(self, features=table)


class LinearHead:
    """The task with one configuration; the encoder is set if it computes the features."""

    def __init__(self, config: LinearHeadConfig, encode: Encoder | None = None) -> None:
        _require(config)
        self._config, self._encode = config, encode
        self._labels = tuple(shown_label(label) for label in config.labels)
        low, high = config.characters
        self._hashing = Hashing(config.buckets, config.words, (low, high), config.max_bytes)
        self._width = _width(config)
        self._shapes = head_shapes(len(self._labels), self._width)

    @property
    def reads(self) -> tuple[str, ...]:
        """The text, the image, or the column of features, and the label."""
        return _reads(self._config)

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that the encoder reads."""
        return KINDS[self._config.features].side if self._config.features in KINDS else 0

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read the features and labels of rows that have both."""
        numbers, status = numbered_labels(rows.column(self._config.label), self._config, NAME)
        read = self._read_texts if self._config.features == "hashed" else self._encode or self._read_columns
        features = read(rows.column(self.reads[0]), status)
        which = np.flatnonzero(status == OK)
        return Encoded(status, Examples(rows_of(features, which), numbers[which]), len(which))

    def _read_texts(self, column: pa.Array, status: NDArray[np.object_]) -> Features:
        """Texts as sparse rows; texts without a known label are not read."""
        found = hashed_texts(pc.if_else(pa.array(status == OK), column, None), self._hashing)
        status[(np.diff(found.offsets) == 0) & (status == OK)] = NO_INPUT
        return found

    def _read_columns(self, column: pa.Array, status: NDArray[np.object_]) -> Features:
        """Lists as dense rows."""
        name = self._config.column
        if self._config.column_key:
            column = self._lists(column)
        kind = column.type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        if not lists or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
            raise ScoreError(f"task {NAME}: column {name} is of type {kind}; expected lists of numbers")
        if pa.types.is_fixed_size_list(kind) and kind.list_size != self._width:
            raise ScoreError(f"task {NAME}: column {name} has lists of {kind.list_size}; width says {self._width}")
        lengths = np.asarray(pc.list_value_length(column).fill_null(0)).astype(np.int64)
        empty = np.asarray(pc.is_null(column)) | (lengths == 0)
        status[empty & (status == OK)] = NO_INPUT
        status[~empty & (lengths != self._width) & (status == OK)] = UNREADABLE
        good = ~empty & (lengths == self._width)
        found = np.zeros((len(column), self._width), np.float32)
        values = column.filter(pa.array(good)).flatten().cast(pa.float32(), safe=False)
        found[good] = values.to_numpy(zero_copy_only=False).reshape(-1, self._width)  # nulls become NaN
        status[~np.isfinite(found).all(axis=1) & (status == OK)] = NOT_FINITE
        return found

    def _lists(self, column: pa.Array) -> pa.Array:
        """The lists of numbers at a key of JSON objects; null for anything else."""
        name, key, kind = self._config.column, self._config.column_key, column.type
        if not (is_text(kind) or pa.types.is_null(kind)):
            raise ScoreError(
                f"task {NAME}: column {name} is of type {kind}; expected strings, for column_key reads JSON"
            )
        found = (None if raw is None else member_of(raw, key) for raw in column.to_pylist())
        return pa.array([_numbers(one) for one in found], pa.list_(pa.float32()))

    def joined(self, parts: Sequence[Examples]) -> Examples:
        """Concatenate examples."""
        return Examples(joined([part.features for part in parts]), np.concatenate([part.labels for part in parts]))

    def chosen(self, examples: Examples, which: NDArray[np.int64]) -> Examples:
        """Some examples, in this order."""
        return Examples(rows_of(examples.features, which), examples.labels[which])

    def mismatched(self, examples: Examples) -> tuple[Examples, NDArray[np.bool_]]:
        """Give each example the label of the one before it, and say which ones that changes."""
        labels = np.roll(examples.labels, 1)
        return Examples(examples.features, labels), labels != examples.labels

    def initial(self, seed: int) -> Weights:
        """Untrained weights."""
        return initial_head(len(self._labels), self._width, seed)

    def check(self, weights: Weights, where: str) -> None:
        """Raise ScoreError if weights are not of this head, or not finite."""
        require_weights(weights, self._shapes, where)

    def scorer(self, at: Weights, reference: Weights, parameters: Sequence[str], *, cosine: bool = False) -> Scorer:
        """A scorer at given weights in the direction of others."""
        at_one = self.scorers([at], reference, parameters, cosine=cosine)
        return lambda examples: at_one(examples)[0]

    def scorers(
        self,
        at: Sequence[Weights],
        reference: Weights | Sequence[Weights],
        parameters: Sequence[str],
        *,
        cosine: bool = False,
    ) -> Scorers:
        """A scorer at several weights; the part of a reference that several have is computed once."""
        references = references_of(at, reference)
        runs = [list(run) for _, run in itertools.groupby(range(len(at)), lambda place: id(references[place]))]
        each = [HeadScorer([at[one] for one in run], references[run[0]], parameters, cosine=cosine) for run in runs]

        def score(examples: Examples) -> tuple[Scored, ...]:
            return tuple(one for scorer in each for one in scorer(examples.features, examples.labels))

        return score

    def losses(self, weights: Weights, examples: Examples) -> Floats:
        """The cross-entropy of each example."""
        return head_losses(weights, examples.features, examples.labels)

    def gradient(self, weights: Weights, examples: Examples, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean cross-entropy; see `Task`."""
        which = with_loss(self.losses(weights, examples))
        return head_gradient(weights, rows_of(examples.features, which), examples.labels[which], parameters)

    def train(
        self,
        examples: Examples,
        count: int,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> Iterator[Checkpoint]:
        """Train on examples, yielding the checkpoints to keep, the last at the end."""
        if count != len(examples.labels):
            raise ScoreError(f"task {NAME}: {len(examples.labels):,} examples, {count:,} were announced")
        yield from train_head(examples.features, examples.labels, len(self._labels), settings, reference, start)


def _require(config: LinearHeadConfig) -> None:
    """Raise ScoreError for invalid settings."""
    names = [shown_label(label) for label in config.labels]
    if len(config.characters) != 2:
        raise ScoreError(f"task {NAME}: characters {config.characters}: expected the shortest and the longest length")
    low, high = config.characters
    width = _width(config)
    wrong = {
        "column: expected a dotted column of lists of numbers": config.features == "columns" and not config.column,
        f"width {config.width}: expected how many numbers each list of {config.column} has": config.features
        == "columns"
        and not 1 <= config.width <= _MAX_BUCKETS,
        f"{len(names)} labels of {width:,} features: expected at most {_MAX_WEIGHTS:,} weights": len(names) * width
        > _MAX_WEIGHTS,
        f"buckets {config.buckets}: expected 2 to {_MAX_BUCKETS:,}": not 2 <= config.buckets <= _MAX_BUCKETS,
        f"words {config.words}: expected 0 to {_MAX_WORDS}": not 0 <= config.words <= _MAX_WORDS,
        f"characters {low}, {high}: expected a shortest length from 1 and a longest up to {_MAX_CHARACTERS}": low < 1
        or high > _MAX_CHARACTERS,
        "words and characters: no features are selected": config.words == 0 and high < low,
        f"max_bytes {config.max_bytes}: expected 1 to {_MAX_BYTES:,}": not 1 <= config.max_bytes <= _MAX_BYTES,
    }
    if said := [*label_problems(config), *(problem for problem, is_so in wrong.items() if is_so)]:
        raise ScoreError("\n".join(f"task {NAME}: {problem}" for problem in said))


def _numbers(value: object) -> list[float] | None:
    """A list of numbers; None if missing, and a list of NaN for anything else."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, int | float) for one in value):
        return [math.nan]
    return [float(one) for one in value]


def _width(config: LinearHeadConfig) -> int:
    """The number of features of a row."""
    if config.features in KINDS:
        return KINDS[config.features].width
    return config.buckets if config.features == "hashed" else config.width


def _load(config: LinearHeadConfig, files: Files) -> LinearHead:
    if config.features == "hashed" or config.features == "columns":
        return LinearHead(config)
    _require(config)  # before any file is read
    limits = Limits(config.max_bytes, config.longer == "cut")
    return LinearHead(config, encoder(NAME, config.features, files, limits, config.running))


def _files(config: LinearHeadConfig) -> tuple[str, ...]:
    return tuple(asset.name for asset in KINDS[config.features].assets) if config.features in KINDS else ()


def _depends(config: LinearHeadConfig) -> tuple[str, ...]:
    """Products of dense features depend on numpy's BLAS."""
    packages = versions(*KINDS[config.features].packages) if config.features in KINDS else ()
    return () if config.features == "hashed" else (*packages, f"numpy {np.__version__}")


def _reads(config: LinearHeadConfig) -> tuple[str, ...]:
    if config.features in KINDS:
        return (KINDS[config.features].reads, config.label)
    return (TEXT if config.features == "hashed" else config.column, config.label)


def _training(config: LinearHeadConfig) -> TrainingSettings:
    """The paper's settings for encoders; hashed features and columns need larger steps."""
    return TrainingSettings() if config.features in KINDS else TrainingSettings(epochs=5, learning_rate=1e-2)


TASK = TaskKind(
    name=NAME,
    version=2,
    summary="a softmax head over hashed words and characters, a column of features, or a frozen encoder's",
    config=LinearHeadConfig,
    load=_load,
    reads=_reads,
    files=_files,
    declares=tuple(asset for kind in KINDS.values() for asset in kind.assets),
    depends=_depends,
    training=_training,
    reading_costs=True,
)
