"""The recipe's `score` section: the task, reference and trajectory of each score, and which samples it keeps."""

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.problems import Place
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, Matching, NotEmpty
from winnow.schemas.recipe.nodes import MapNode

SCORE = Matching(r"[a-z][a-z0-9_]{0,39}", "a name of a-z, 0-9 and _, such as mimic")
TASK = Matching(r"[a-z][a-z0-9_]{0,39}", "a task's name, such as linear_head")
_FILE = Matching(r"[^\x00-\x1f\x7f]{1,4096}", "the path of a safetensors file")
_ACCELERATOR = Matching(
    r"type:[A-Za-z0-9._-]{1,100};count:[0-9]{1,3}(;[A-Za-z0-9_.:=-]{1,100})*",
    "Beam's accelerator hint, such as type:nvidia-tesla-t4;count:1;install-nvidia-driver",
)
_GLOB = Matching(r"[^\x00-\x20\x7f]{1,200}", "a glob over names of parameters, such as head.*")

Weighing: TypeAlias = Literal["uniform", "mimic", "grand", "rho"]
Binarise: TypeAlias = Literal["threshold", "kmeans", "gmm", "top"]


@dataclass(frozen=True)
class TrainingConfig:
    """How weights are trained; defaults are the task's."""

    epochs: Annotated[int, Between(1, 10_000)] | None = None
    batch: Annotated[int, Between(1, 1 << 20)] | None = None
    learning_rate: Annotated[float, Between(1e-9, 1e3)] | None = None
    weight_decay: Annotated[float, Between(0, 10)] | None = None
    max_samples: Annotated[int, Between(1, 1 << 40)] = 100_000  # those with the smallest hashes are taken


@dataclass(frozen=True)
class ReferenceConfig:
    """The reference: weights trained on a trusted part of the store, read from a file, or merged from several."""

    train_on: Annotated[str, NotEmpty()] | None = None
    weights: Annotated[str, _FILE] | None = None
    merge: Annotated[tuple[Annotated[str, _FILE], ...], NotEmpty()] | None = None
    how: Literal["average", "task_arithmetic"] = "average"
    base: Annotated[str, _FILE] | None = None  # of task arithmetic: what the merged ones were tuned from
    scale: Annotated[float, Between(-100, 100)] = 1.0
    begin: Literal["untrained", "trajectory"] | None = None  # the task's own
    training: TrainingConfig = TrainingConfig()

    def __post_init__(self) -> None:
        given = [name for name in ("train_on", "weights", "merge") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{' and '.join(given) or 'nothing'} says where the reference is from; write one of train_on, weights "
                "and merge"
            )
        if (self.how == "task_arithmetic") != (self.base is not None):
            raise ValueError("'how: task_arithmetic' and 'base' go together: the weights that the merged began from")
        if self.begin is not None and self.train_on is None:
            raise ValueError("'begin' says from where 'train_on' trains, and there is none")
        if self.scale != 1.0 and self.base is None:
            raise ValueError("'scale' says how much is added to 'base', and there is none")
        if self.merge is None and self.how != "average":
            raise ValueError("'how' says how 'merge' is done, and there is none")


@dataclass(frozen=True)
class TrajectoryConfig:
    """The trajectory: given checkpoints, or those of a training on the scored samples."""

    weights: Annotated[tuple[Annotated[str, _FILE], ...], NotEmpty()] | None = None
    checkpoints: Annotated[int, Between(1, 64)] = 3
    method: Weighing | None = None  # mimic, or uniform where the reference begins at the trajectory's end
    temperature: Annotated[float, Between(1e-6, 1e6)] = 1.0  # the paper's, on images
    train_on: Annotated[str, NotEmpty()] | None = None  # what is scored, where nothing is written
    training: TrainingConfig = TrainingConfig()

    def __post_init__(self) -> None:
        if self.weights is not None and self.train_on is not None:
            raise ValueError("'weights' are given and 'train_on' would train others; write one of them")
        if self.weights is not None and (self.method is not None or self.training != TrainingConfig()):
            raise ValueError("'method' and 'training' say how a trajectory is trained; 'weights' gives one")


@dataclass(frozen=True)
class FilterConfig:
    """How scores become votes at each checkpoint, and votes a keep probability."""

    of: Literal["mimic", "rho"] = "mimic"
    binarise: Binarise = "gmm"
    batch: Annotated[int, Between(2, 1 << 20)] = 32  # of the threshold 1/batch; the paper's
    temperature: Annotated[float, Between(1e-6, 1e6)] = 1.0
    top: Annotated[float, Between(0.000001, 0.999999)] = 0.4  # the paper's largest share on DataComp
    aggregate: Literal["majority", "label_model"] = "majority"
    by: Annotated[str, NotEmpty()] | None = None  # a column, such as text.language.code: each value is fitted alone


@dataclass(frozen=True)
class ScoreEntry:
    """One score: a task with its own options, its reference and trajectory."""

    name: str = field(metadata=NOT_WRITTEN)
    options: MapNode
    task: Annotated[str, TASK]
    reference: ReferenceConfig | None = None  # none for a task that measures without weights
    where: Annotated[str, NotEmpty()] | None = None
    parameters: Annotated[tuple[Annotated[str, _GLOB], ...], NotEmpty()] = ("*",)
    variant: Literal["projection", "cosine"] = "projection"
    accelerator: Annotated[str, _ACCELERATOR] | None = None
    min_ram_bytes: Annotated[int, Between(1 << 20, 1 << 50)] | None = None
    trajectory: TrajectoryConfig = TrajectoryConfig()
    filter: FilterConfig = FilterConfig()

    @property
    def place(self) -> Place:
        """Where the recipe configures it."""
        return self.options.place

    @property
    def hints(self) -> dict[str, str]:
        """What its workers ask a runner for."""
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
    def layer(self) -> str:
        """The layer that rules read: the score, and whether to keep."""
        return f"score.{self.name}"

    @property
    def trace(self) -> str:
        """The layer of scores and losses at each checkpoint."""
        return f"trace.{self.name}"
