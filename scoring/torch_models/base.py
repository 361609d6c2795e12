"""A task whose model runs in PyTorch: all of the protocol but what rows hold and what the loss is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.direction import chosen_parameters, direction
from winnow.scoring.mimic.models import Batch, Model
from winnow.scoring.tasks.protocol import Checkpoint, Encoded, Floats, Scored, Scorer, TrainingSettings, Weights
from winnow.scoring.torch_models.examples import Examples, Indices, joined
from winnow.scoring.torch_models.networks import Network
from winnow.scoring.torch_models.running import Running, alone
from winnow.scoring.torch_models.training import train
from winnow.scoring.torch_models.weights import arrays_of, check_weights

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]


class TorchTask(ABC):
    """Implements `winnow.scoring.tasks.protocol.Task` for a network and the loss of each example.

    Attributes:
        network: What computes.
        running: Where, and how precisely.
        model: The loss of each example of a batch, as a function of weights.
        together: See `Task`.
    """

    name: ClassVar[str]

    def __init__(self, network: Network, running: Running, model: Model, together: int = 0) -> None:
        self.network, self.running, self.model, self.together = network, running, model, together

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The columns that `encode` needs."""

    @abstractmethod
    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Rows as `Examples`."""

    @abstractmethod
    def batch(self, examples: Examples) -> Batch:
        """Examples as the model takes them, on the CPU."""

    def groups(self, examples: Examples) -> list[Indices]:
        """Which examples may be, or have to be, in one batch; those of no group have no loss."""
        return [np.arange(examples.count)] if examples.count else []
