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

Weights: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays of floating-point numbers by the names of parameters."""

Floats: TypeAlias = NDArray[np.float64]

Method: TypeAlias = Literal["uniform", "mimic", "grand", "rho"]
"""What weighs the samples of a training batch: nothing, the score, the gradient's norm, the loss above the
reference's."""

TEXT, IMAGE = "text", "image"
"""The columns that stand for what the recipe's `text` says, and for the bytes of a row's first image."""

OK = "ok"
NO_LABEL = "no_label"  # the label's column is null
UNKNOWN_LABEL = "unknown_label"  # a label that the task does not list
NO_INPUT = "no_input"  # nothing to read: no text, no image
UNREADABLE = "unreadable"  # an image that cannot be decoded, or is too large
IMAGE_MISSING = "image_missing"  # an image whose file is not there any more, or may not be read
TOO_LONG = "too_long"  # more tokens than the model reads, where the task does not cut
NOT_FINITE = "not_finite"  # the loss or the score is no number
ALONE = "alone"  # of a batch whose losses need others, and there are none
REASONS = (NO_LABEL, UNKNOWN_LABEL, NO_INPUT, UNREADABLE, IMAGE_MISSING, TOO_LONG, NOT_FINITE, ALONE)
"""Why a row has no score, beside what the stage itself says."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Rows as a task reads them."""

    status: NDArray[np.object_]  # a row: `ok`, or one of `REASONS`
    examples: Any  # of the rows that are `ok`, in their order; only the task looks into it
    count: int  # of examples


@dataclass(frozen=True, slots=True)
class Scored:
    """What a scorer says of examples, in their order; not a number where it cannot say."""

    loss: Floats
    score: Floats


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights on a trajectory, and what the training that made them needs to go on."""

    step: int
    weights: Weights
    state: Weights  # of the optimiser; empty where none is kept


@dataclass(frozen=True)
class TrainingSettings:
    """How a task's weights are trained."""

    method: Method = "uniform"
    epochs: int = 5  # the paper's
    batch: int = 32  # the paper's
    learning_rate: float = 1e-4  # the paper's
    weight_decay: float = 1e-5  # the paper's
    temperature: float = 1.0  # the paper's, on images
    seed: int = 0
    parameters: tuple[str, ...] = ("*",)  # globs: those whose gradients are weighed, the paper's mimic layer
    keep: int = 1  # how many checkpoints, evenly over the steps; the last is always one


@runtime_checkable
class Tabular(Protocol):
    """Examples of which most is a table with a row for each: who gathers many of them holds that once."""

    @property
    def table(self) -> NDArray[Any] | None:
        """The table; None where these have none."""

    def with_table(self, table: NDArray[Any]) -> "Tabular":
        """The same examples with another table in its place."""


Scorer: TypeAlias = Callable[[Any], Scored]
"""From examples to what is said of them."""
Scorers: TypeAlias = Callable[[Any], tuple[Scored, ...]]
"""The same at several weights at once."""


class Task(Protocol):
    """A task that is ready in one process; what it says of a row under given weights is the same in every one."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that `encode` needs: `text`, `image` (bytes of a file), or dotted columns of the store."""

    @property
    def example_bytes(self) -> int:
        """What the pixels of one example take, where the task reads images; 0 for little."""

    @property
    def together(self) -> int:
        """How many examples share a batch whose losses depend on each other; 0 where each loss is its row's own."""

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Rows with the columns of `reads` → examples."""

    def joined(self, parts: Sequence[Any]) -> Any:
        """Examples of several calls as one."""

    def chosen(self, examples: Any, which: NDArray[np.int64]) -> Any:
        """Some examples, in this order."""

    def initial(self, seed: int) -> Weights:
        """Untrained weights."""

    def check(self, weights: Weights, where: str) -> None:
        """Raise ScoreError where weights are not of this model, parameter by parameter, or not finite."""

    def scorer(self, at: Weights, reference: Weights, parameters: Sequence[str], *, cosine: bool = False) -> Scorer:
        """What scores examples at some weights in the direction of others.

        Args:
            at: The weights on the trajectory.
            reference: Where they should go.
            parameters: Globs over names: only these count.
            cosine: Divide by the norm of the example's gradient as well.

        Raises:
            ScoreError: The direction is zero, or a glob matches nothing.
        """

    def scorers(
        self, at: Sequence[Weights], reference: Weights, parameters: Sequence[str], *, cosine: bool = False
    ) -> Scorers:
        """What scores examples at several weights: as `scorer` does at each, what they share computed once."""

    def losses(self, weights: Weights, examples: Any) -> Floats:
        """The loss of each example."""

    def train(
        self, examples: Any, count: int, settings: TrainingSettings, reference: Weights | None, start: Checkpoint | None
    ) -> Iterator[Checkpoint]:
        """Train on examples, giving the checkpoints that are to be kept, the last at the end.

        The same examples in the same order give the same weights. A training that goes on from a checkpoint ends as
        the one that was not stopped; a checkpoint of step 0, without a state, is where a training begins.
        """


class Measure(Protocol):
    """What says a number of each row without weights and without a direction, such as how like two encodings are."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that `encode` needs, as of a task."""

    @property
    def example_bytes(self) -> int:
        """What the pixels of one example take, where the task reads images; 0 for little."""

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Rows with the columns of `reads` → examples."""

    def joined(self, parts: Sequence[Any]) -> Any:
        """Examples of several calls as one."""

    def chosen(self, examples: Any, which: NDArray[np.int64]) -> Any:
        """Some examples, in this order."""

    def values(self, examples: Any) -> Floats:
        """A number an example; not a number where it cannot say."""


class Files(Protocol):
    """Files that a task needs beside code, such as an encoder or a vocabulary, checked before any worker starts."""

    def path(self, name: str) -> str:
        """Where one lies: a name from winnow's list of assets, or a path that the recipe gave."""


def _nothing(_config: Any) -> tuple[str, ...]:
    return ()


def _of_the_paper(_config: Any) -> TrainingSettings:
    return TrainingSettings()


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A task by its name in recipes. The version goes up whenever a value that it gives for a row changes."""

    name: str
    version: int
    summary: str  # one line
    config: type[Any]  # a frozen dataclass; every field has a default
    load: Callable[[Any, Files], Task | Measure]  # ScoreError names a missing package with the command that installs it
    reads: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    """The columns that the task's `encode` needs, as `Task.reads` says once it is loaded."""
    files: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    declares: tuple[AnyAsset, ...] = ()
    """The assets that its configurations may name, with where each comes from."""
    depends: Callable[[Any], tuple[str, ...]] = field(default=_nothing)
    """What values depend on beside the configuration and its files: versions of packages, code of the user's."""
    resource: Literal["cpu", "model"] = "cpu"
    training: Callable[[Any], TrainingSettings] = field(default=_of_the_paper)
    """How its weights are trained where a recipe does not say."""
    adapts: bool = False
    """Whether its reference is trained on from the trajectory's end where a recipe does not say: two trainings of a
    deep network end in places whose difference says nothing of samples."""
    batched: bool = False  # a row's loss depends on the others of its batch
    measures: bool = False  # `load` gives a measure, not a task
    reading_costs: bool = False
    """Whether reading samples takes what time there is, so that another checkpoint costs little."""
