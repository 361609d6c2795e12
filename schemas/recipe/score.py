"""The recipe's `score` section: the task, reference and trajectory of each score, and which samples it keeps."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.problems import Place
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, Matching, NotEmpty, PathText
from winnow.schemas.recipe.nodes import MapNode

SCORE = Matching(r"[a-z][a-z0-9_]{0,39}", "a name of a-z, 0-9 and _, such as mimic")
TASK = Matching(r"[a-z][a-z0-9_]{0,39}", "a task's name, such as linear_head")
_FILE = PathText("the path of a safetensors file")
_ACCELERATOR = Matching(
    r"type:[A-Za-z0-9._-]{1,100};count:[0-9]{1,3}(;[A-Za-z0-9_.:=-]{1,100})*",
    "Beam's accelerator hint, such as type:nvidia-tesla-t4;count:1;install-nvidia-driver",
)
_GLOB = Matching(r"[^\x00-\x20\x7f]{1,200}", "a glob over names of parameters, such as head.*")


@dataclass(frozen=True)
class RelativeTemperature:
    """A temperature in units of the standard deviation of a batch's scores, so that it suits features of any norm."""

    relative: Annotated[float, Between(1e-6, 1e6)]


Temperature: TypeAlias = float | RelativeTemperature


@dataclass(frozen=True)
class _Temperature:
    """A number above zero, or one of a batch's standard deviations."""

    expects: str = "a number from 1e-06 to 1_000_000.0, or {relative: such a number}"

    def complaint(self, value: object) -> str | None:
        """Name the bounds if a number is outside them."""
        return Between(1e-6, 1e6).complaint(value)


Weighing: TypeAlias = Literal["uniform", "mimic", "grand", "rho"]
Measured: TypeAlias = Literal["mimic", "rho", "loss", "alignment", "target", "token_rho"]
Beside: TypeAlias = Literal["target", "token_rho"]
"""Measures that a score has on request."""
Binarise: TypeAlias = Literal["threshold", "kmeans", "gmm", "top"]


@dataclass(frozen=True)
class TrainingConfig:
    """How weights are trained; the defaults depend on the task."""

    epochs: Annotated[int, Between(1, 10_000)] | None = None
    batch: Annotated[int, Between(1, 1 << 20)] | None = None
    learning_rate: Annotated[float, Between(1e-9, 1e3)] | None = None
    weight_decay: Annotated[float, Between(0, 10)] | None = None
    max_samples: Annotated[int, Between(1, 1 << 40)] = 100_000  # selected by the smallest hashes


@dataclass(frozen=True)
class ReferenceConfig:
    """The reference: weights trained on a trusted part of the store, read from a file, or merged from several."""

    train_on: Annotated[str, NotEmpty()] | None = None
    weights: Annotated[str, _FILE] | None = None
    merge: Annotated[tuple[Annotated[str, _FILE], ...], NotEmpty()] | None = None
    how: Literal["average", "task_arithmetic"] = "average"
    base: Annotated[str, _FILE] | None = None  # for task arithmetic: the weights that the merged ones were trained from
    scale: Annotated[float, Between(-100, 100)] = 1.0
    begin: Literal["untrained", "trajectory"] | None = None  # None for the task's default
    training: TrainingConfig = TrainingConfig()

    def __post_init__(self) -> None:
        given = [name for name in ("train_on", "weights", "merge") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{' and '.join(given) or 'nothing'} does not define the reference; write exactly one of train_on, "
                f"weights and merge"
            )
        if (self.how == "task_arithmetic") != (self.base is not None):
            raise ValueError(
                "'how: task_arithmetic' and 'base' go together; 'base' are the weights that the merged "
                "ones were trained from"
            )
        if self.begin is not None and self.train_on is None:
            raise ValueError("'begin' needs 'train_on', whose start it sets")
        if self.scale != 1.0 and self.base is None:
            raise ValueError("'scale' needs 'base', to which differences are added")
        if self.merge is None and self.how != "average":
            raise ValueError("'how' needs 'merge', whose method it sets")


@dataclass(frozen=True)
class TrajectoryConfig:
    """The trajectory: given checkpoints, or those of a training on the scored samples."""

    weights: Annotated[tuple[Annotated[str, _FILE], ...], NotEmpty()] | None = None
    checkpoints: Annotated[int, Between(1, 64)] = 3
    method: Weighing | None = None  # None: mimic, or uniform if the reference begins at the trajectory's end
    temperature: Annotated[Temperature, _Temperature()] = 1.0  # the paper's, on images
    train_on: Annotated[str, NotEmpty()] | None = None  # None for the scored samples
    training: TrainingConfig = TrainingConfig()

    def __post_init__(self) -> None:
        if self.weights is not None and self.train_on is not None:
            raise ValueError("'weights' and 'train_on' cannot be combined; write one of them")
        if self.weights is not None and (self.method is not None or self.training != TrainingConfig()):
            raise ValueError("'method' and 'training' apply only to a trained trajectory, not to 'weights'")


@dataclass(frozen=True)
class FilterConfig:
    """How scores become votes at each checkpoint, and votes a keep probability."""

    of: Measured = "mimic"
    binarise: Binarise = "gmm"
    batch: Annotated[int, Between(2, 1 << 20)] = 32  # of the threshold 1/batch; the paper's
    temperature: Annotated[Temperature, _Temperature()] = 1.0
    top: Annotated[float, Between(0.000001, 0.999999)] = 0.4  # the paper's largest share on DataComp
    aggregate: Literal["majority", "label_model"] = "majority"
    constrained: bool = True  # label_model: no checkpoint counts as worse than chance
    # a column, such as text.language.code, each of whose values is fitted separately
    by: Annotated[str, NotEmpty()] | None = None

    def __post_init__(self) -> None:
        if not self.constrained and self.aggregate != "label_model":
            raise ValueError("'constrained: false' needs 'aggregate: label_model', whose fit it sets")


@dataclass(frozen=True)
class TargetConfig:
    """The samples that the measure `target` compares others with, by gradients (LESS, arXiv 2402.04333)."""

    rows: Annotated[str, NotEmpty()]  # a condition
    max_samples: Annotated[int, Between(1, 1 << 20)] = 256  # winnow's, chosen by the smallest hashes


@dataclass(frozen=True)
class VideoFrames:
    """Which frames of a video a task on pictures looks at, and what becomes of their values."""

    take: Literal["mean", "worst"] = "mean"  # of the values of all frames, or those of the frame with the lowest score
    max_frames: Annotated[int, Between(1, 64)] = 4  # evenly spread
    every_seconds: Annotated[float, Between(0.1, 3600.0)] | None = None  # one in so many seconds; else keyframes


@dataclass(frozen=True)
class ScoreEntry:
    """One score: a task with its own options, its reference and trajectory."""

    name: str = field(metadata=NOT_WRITTEN)
    options: MapNode
    task: Annotated[str, TASK]
    reference: ReferenceConfig | None = None  # None for a task that measures without weights
    where: Annotated[str, NotEmpty()] | None = None
    parameters: Annotated[tuple[Annotated[str, _GLOB], ...], NotEmpty()] = ("*",)
    variant: Literal["projection", "cosine"] = "projection"
    frames: VideoFrames | None = None  # of videos, for tasks on pictures; None: videos have no picture
    accelerator: Annotated[str, _ACCELERATOR] | None = None
    min_ram_bytes: Annotated[int, Between(1 << 20, 1 << 50)] | None = None
    target: TargetConfig | None = None  # None: without the measure of this name
    token_rho: Annotated[float, Between(0.000001, 1)] | None = None
    """The share of a text's tokens, those with the largest loss above the reference's, over which the measure of this
    name is the mean (Rho-1, arXiv 2404.07965: 0.6); None: without it."""
    trajectory: TrajectoryConfig = TrajectoryConfig()
    filter: FilterConfig = FilterConfig()

    @property
    def place(self) -> Place:
        """Where the recipe configures it."""
        return self.options.place

    @property
    def hints(self) -> dict[str, str]:
        """The resource hints for its workers."""
        said = {"accelerator": self.accelerator, "min_ram": self.min_ram_bytes}
        return {name: f"{one}B" if name == "min_ram" else str(one) for name, one in said.items() if one is not None}

    @property
    def checkpoints(self) -> int:
        """The number of checkpoints that score each row; 0 for tasks without a reference."""
        if self.reference is None:
            return 0
        given = self.trajectory.weights
        return self.trajectory.checkpoints if given is None else len(given)

    @property
    def beside(self) -> tuple[Beside, ...]:
        """The measures on request that it has."""
        asked: dict[Beside, object] = {"target": self.target, "token_rho": self.token_rho}
        return tuple(name for name, one in asked.items() if one is not None)

    @property
    def layer(self) -> str:
        """The layer that rules read: the score, and whether to keep."""
        return f"score.{self.name}"

    @property
    def trace(self) -> str:
        """The layer of scores and losses at each checkpoint."""
        return f"trace.{self.name}"
