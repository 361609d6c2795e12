"""What the score needs of a model: the loss of each sample of a batch, as a function of weights by name.

A batch is a tuple of tensors whose first dimension counts samples. A model is one of two kinds: each loss is its own
sample's alone, or losses depend on the whole batch through what is computed of each sample by itself (a contrastive
loss through embeddings).

A forward derivative goes through `torch.no_grad`: what a model takes for a constant must be detached.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from winnow.scoring.tasks.protocol import Weights

if TYPE_CHECKING:
    import torch  # type: ignore[import-not-found, unused-ignore]
    from torch import Tensor

Parameters: TypeAlias = "Mapping[str, Tensor]"
Batch: TypeAlias = "tuple[Tensor, ...]"
Precision: TypeAlias = Literal["float32", "float64", "bfloat16"]


@dataclass(frozen=True, slots=True)
class Alone:
    """Each loss is of its sample alone: a loss does not change with what else is in the batch."""

    losses: "Callable[[Parameters, Batch], Tensor]"


@dataclass(frozen=True, slots=True)
class Together:
    """Losses depend on all samples of the batch, through tensors that `embed` makes of each sample by itself."""

    embed: "Callable[[Parameters, Batch], tuple[Tensor, ...]]"
    losses: "Callable[[Parameters, tuple[Tensor, ...]], Tensor]"

    def whole(self, weights: Parameters, batch: Batch) -> "Tensor":
        """The losses of a batch, in one piece."""
        return self.losses(weights, self.embed(weights, batch))


Model: TypeAlias = Alone | Together


@dataclass(frozen=True, slots=True)
class Placement:
    """Where and in what numbers a model is computed."""

    device: str = "cpu"
    precision: Precision = "float32"

    @property
    def dtype(self) -> "torch.dtype":
        """The precision, as PyTorch names it."""
        import torch

        found: torch.dtype = getattr(torch, self.precision)
        return found

    def weights(self, weights: Weights) -> "dict[str, Tensor]":
        """Arrays as tensors; those of floating-point numbers in the precision."""
        import numpy as np
        import torch

        return {name: self.tensor(torch.from_numpy(np.array(value, order="C"))) for name, value in weights.items()}

    def batch(self, batch: Batch) -> Batch:
        """A batch where the model is; labels and tokens stay whole numbers."""
        return tuple(self.tensor(part) for part in batch)

    def tensor(self, value: "Tensor") -> "Tensor":
        """One tensor where the model is."""
        return value.to(self.device, self.dtype if value.is_floating_point() else value.dtype)


def of_module(module: Any, criterion: "Callable[[Any, Batch], Tensor]", inputs: int = 1) -> Alone:
    """A PyTorch module as a function of its weights.

    The module must be in evaluation mode, where a sample's output is its own (dropout and batch statistics are not),
    and where its buffers are not among the weights, on the device and in the precision that it is scored in.

    Args:
        module: Called with the first `inputs` tensors of a batch.
        criterion: From what the module says and the rest of the batch to the loss of each sample.
        inputs: How many tensors of a batch the module takes.
    """
    from torch.func import functional_call  # type: ignore[import-not-found, unused-ignore]

    def losses(weights: Parameters, batch: Batch) -> "Tensor":
        return criterion(functional_call(module, dict(weights), batch[:inputs]), batch[inputs:])

    return Alone(losses)
