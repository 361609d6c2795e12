"""The protocol of scoring tasks, whatever library they use.

A task reads rows into examples, computes the loss of each example under given weights, and scores examples: how far a
step along an example's negative gradient goes towards reference weights. Weights are arrays by name, so that they are
stored as safetensors files, which cannot run code.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.assets import AnyAsset
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.score import Temperature

Weights: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays of floating-point numbers by the names of parameters."""

Floats: TypeAlias = NDArray[np.float64]

Method: TypeAlias = Literal["uniform", "mimic", "grand", "rho"]
"""How the samples of a training batch are weighted: equally, by score, by gradient norm, by the loss above the
reference's."""

TEXT, IMAGE = "text", "image"
"""The names of two special inputs: the text that the recipe selects, and a row's first picture as `picture_type`."""

OK = "ok"
NO_LABEL = "no_label"  # the label's column is null
UNKNOWN_LABEL = "unknown_label"  # a label that the task does not list
NO_INPUT = "no_input"  # no text or no image
UNREADABLE = "unreadable"  # a text or list that the task cannot take, or an image that has changed
IMAGE_MISSING = "image_missing"  # an image whose file no longer exists or cannot be read
TOO_LONG = "too_long"  # more tokens than the model reads, if the task does not cut
NOT_FINITE = "not_finite"  # the loss or the score is NaN or infinite
ALONE = "alone"  # no other row to contrast it with
REASONS = (NO_LABEL, UNKNOWN_LABEL, NO_INPUT, UNREADABLE, IMAGE_MISSING, TOO_LONG, NOT_FINITE, ALONE)
"""Why a row has no score, besides the stage's own statuses and those of pictures that cannot be decoded."""


PictureFit: TypeAlias = Literal["stretch", "bicubic_crop", "bicubic_stretch", "bilinear_crop"]
"""How a picture becomes a square: stretched by area; or by Pillow's filter, its shorter side resized and the middle cut
out, or the whole picture stretched. `winnow.filters.image.models.framing.Fit` says the same."""

_COLOURS = 3  # red, green and blue, a byte each


def picture_type(side: int) -> pa.FixedSizeBinaryType:
    """Pictures as squares of this many pixels per side: rows of red, green and blue; null where there is none."""
    return pa.binary(side * side * _COLOURS)


@dataclass(frozen=True, slots=True)
class Encoded:
    """The result of reading rows."""

    status: NDArray[np.object_]  # per row: `ok`, or one of `REASONS`
    examples: Any  # of the rows that are `ok`, in their order; opaque to callers
    count: int  # the number of examples


@dataclass(frozen=True, slots=True)
class Scored:
    """The results of a scorer for examples, in their order; NaN if undefined."""

    loss: Floats
    score: Floats


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights on a trajectory, with the state for resuming their training."""

    step: int
    weights: Weights
    state: Weights  # the optimiser's state; empty if it was not kept


@dataclass(frozen=True)
class TrainingSettings:
    """How a task's weights are trained."""

    method: Method = "uniform"
    epochs: int = 5  # the paper's
    batch: int = 32  # the paper's
    learning_rate: float = 1e-4  # the paper's
    weight_decay: float = 1e-5  # the paper's
    temperature: Temperature = 1.0  # the paper's, on images
    seed: int = 0
    parameters: tuple[str, ...] = ("*",)  # globs of the parameters with weighted gradients, the paper's mimic layer
    keep: int = 1  # the number of checkpoints, evenly spaced; the last step is always one


@runtime_checkable
class Tabular(Protocol):
    """Examples whose data are mostly one table with a row per example, so that collections avoid a second copy."""

    @property
    def table(self) -> NDArray[Any] | None:
        """The table; None if there is none."""

    def with_table(self, table: NDArray[Any]) -> "Tabular":
        """The same examples with another table."""


Scorer: TypeAlias = Callable[[Any], Scored]
"""Scores examples."""
Scorers: TypeAlias = Callable[[Any], tuple[Scored, ...]]
"""Scores examples at several weights at once."""


def references_of(at: Sequence[Weights], reference: Weights | Sequence[Weights]) -> list[Weights]:
    """The reference of each of several weights, of which all may have the same."""
    return [reference] * len(at) if isinstance(reference, Mapping) else list(reference)


def with_loss(losses: Floats) -> NDArray[np.int64]:
    """The examples with a finite loss; ScoreError if there is none."""
    which = np.flatnonzero(np.isfinite(losses))
    if not len(which):
        raise ScoreError(f"none of {len(losses):,} samples has a finite loss, so there is no gradient")
    return which


class Reader(Protocol):
    """What a task and a measure have in common: they turn rows into examples."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that `encode` needs: `text`, `image`, or dotted columns of the store."""

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads; 0 if it reads none."""

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Convert rows with the columns of `reads` to examples."""

    def joined(self, parts: Sequence[Any]) -> Any:
        """Concatenate examples."""

    def chosen(self, examples: Any, which: NDArray[np.int64]) -> Any:
        """Some examples, in this order."""


@runtime_checkable
class Fitting(Protocol):
    """A reader that says how its pictures become squares; those of others are stretched."""

    @property
    def fit(self) -> PictureFit:
        """How."""


def fit_of(reader: Reader) -> PictureFit:
    """How a reader's pictures become squares."""
    return reader.fit if isinstance(reader, Fitting) else "stretch"


class Task(Reader, Protocol):
    """A task that is loaded in one process. Its results for a row and given weights are the same in all processes."""

    def initial(self, seed: int) -> Weights:
        """Untrained weights."""

    def check(self, weights: Weights, where: str) -> None:
        """Raise ScoreError if weights are not of this model, or not finite."""

    def scorer(self, at: Weights, reference: Weights, parameters: Sequence[str], *, cosine: bool = False) -> Scorer:
        """A scorer at given weights in the direction of others.

        Args:
            at: The weights on the trajectory.
            reference: The weights that the direction points to.
            parameters: Globs over the names of the parameters to use.
            cosine: Also divide by the norm of the example's gradient.

        Raises:
            ScoreError: The direction is zero, or a glob matches nothing.
        """

    def scorers(
        self,
        at: Sequence[Weights],
        reference: Weights | Sequence[Weights],
        parameters: Sequence[str],
        *,
        cosine: bool = False,
    ) -> Scorers:
        """A scorer at several weights, which computes common parts once; each may have a reference of its own."""

    def losses(self, weights: Weights, examples: Any) -> Floats:
        """The loss of each example."""

    def gradient(self, weights: Weights, examples: Any, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean loss of examples, over those with a loss, by the parameters that globs choose.

        Raises:
            ScoreError: No example has a finite loss.
        """

    def train(
        self, examples: Any, count: int, settings: TrainingSettings, reference: Weights | None, start: Checkpoint | None
    ) -> Iterator[Checkpoint]:
        """Train on examples, yielding the checkpoints to keep, the last at the end.

        The same examples in the same order give the same weights. Training resumed from a checkpoint gives the same
        result as training without interruption; a checkpoint of step 0 without a state sets the initial weights.
        """


@runtime_checkable
class Mismatching(Protocol):
    """A task that can plant errors."""

    def mismatched(self, examples: Any) -> tuple[Any, NDArray[np.bool_]]:
        """Give each example the label or caption of another, and say which ones that changes."""


@runtime_checkable
class Contrastive(Task, Protocol):
    """A task whose losses contrast each row with companions: a few rows of the store, the same for all rows."""

    @property
    def companion_count(self) -> int:
        """The number of companions to choose."""

    def companions(self, examples: Any) -> Weights:
        """Arrays with these examples, to be stored."""

    def among(self, companions: Weights) -> Task:
        """The task whose losses contrast rows with these companions."""

    def alignments(self, weights: Weights, examples: Any) -> Floats:
        """How well the two sides of each example fit under weights, whatever the companions."""


@runtime_checkable
class TokenWise(Task, Protocol):
    """A task whose losses are means over tokens."""

    def token_rho(
        self, scorers: Scorers, reference: Weights, share: float, count: int
    ) -> Callable[[Any], tuple[Floats, ...]]:
        """Rho-1's measure of examples (arXiv 2404.07965) at each of the first weights of scorers.

        It is the mean, over the share of a text's tokens where that is largest, of how far a token's loss is above the
        reference's.

        Args:
            scorers: Made by this task; their weights are used where they are.
            reference: The weights whose losses are subtracted.
            share: The share of tokens.
            count: How many of the scorers' weights.
        """


class Measure(Reader, Protocol):
    """Computes a number per row without weights and direction, such as the similarity of two embeddings."""

    def values(self, examples: Any) -> Floats:
        """One number per example; NaN if undefined."""


class Files(Protocol):
    """Files that a task needs, such as an encoder or a vocabulary; checked before any worker starts."""

    def path(self, name: str) -> str:
        """The path of a file, given an asset's name or a path in the recipe."""


def _nothing(_config: Any) -> tuple[str, ...]:
    return ()


def _of_the_paper(_config: Any) -> TrainingSettings:
    return TrainingSettings()


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A task by its name in recipes. The version is increased whenever its results change."""

    name: str
    version: int
    summary: str  # one line
    config: type[Any]  # a frozen dataclass; every field has a default
    load: Callable[[Any, Files], Task | Measure]  # ScoreError names a missing package with the command that installs it
    reads: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    """The columns that the task's `encode` needs, as `Task.reads` says once it is loaded."""
    files: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    declares: tuple[AnyAsset, ...] = ()
    """The assets that its configurations may name."""
    depends: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    """What values depend on besides the configuration and its files: package versions and the user's code."""
    resource: Literal["cpu", "model"] = "cpu"
    training: Callable[[Any], TrainingSettings] = field(default=_of_the_paper)
    """The default training settings."""
    adapts: bool = False
    """Whether by default its reference is trained from the trajectory's end: the difference of two independently
    trained deep networks is not informative about samples."""
    contrastive: bool = False  # whether `load` gives a `Contrastive` task
    tokens: bool = False  # whether `load` gives a `TokenWise` task
    measures: bool = False  # whether `load` gives a measure instead of a task
    reading_costs: bool = False
    """Whether reading samples dominates the time, so that further checkpoints cost little."""
