"""The score's interface to models: the loss of each sample of a batch, as a function of weights by name.

A batch is a tuple of tensors whose first dimension counts samples. There are two kinds of models: each loss depends
only on its own sample, or losses depend on other samples through values computed per sample (a contrastive loss
through embeddings): on the rest of the batch, or on companions, which are the same for every batch.

Forward derivatives ignore `torch.no_grad`: constants of a model must be detached.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from winnow.scoring.protocol import Weights

if TYPE_CHECKING:
    import torch  # type: ignore[import-not-found, unused-ignore]
    from torch import Tensor

Parameters: TypeAlias = "Mapping[str, Tensor]"
Batch: TypeAlias = "tuple[Tensor, ...]"
Precision: TypeAlias = Literal["float32", "float64", "bfloat16"]


@dataclass(frozen=True, slots=True)
class SampleModel:
    """Each loss depends only on its sample, not on the rest of the batch."""

    losses: "Callable[[Parameters, Batch], Tensor]"


@dataclass(frozen=True, slots=True)
class BatchModel:
    """Losses depend on several samples, through tensors that `embed` computes per sample: on all of the batch, or on
    companions, whose tensors then stand before the batch's in what `losses` gets."""

    embed: "Callable[[Parameters, Batch], tuple[Tensor, ...]]"
    losses: "Callable[[Parameters, tuple[Tensor, ...]], Tensor]"
    companions: "Batch | None" = None

    def parts(self, batch: Batch) -> tuple[Batch, ...]:
        """The samples to embed, in the order in which `losses` expects them."""
        return (batch,) if self.companions is None else (self.companions, batch)

    def whole(self, weights: Parameters, batch: Batch) -> "Tensor":
        """The losses of a batch, in one piece."""
        import torch

        made = zip(*(self.embed(weights, part) for part in self.parts(batch)), strict=True)
        return self.losses(weights, tuple(torch.cat(column) for column in made))


Model: TypeAlias = SampleModel | BatchModel


@dataclass(frozen=True, slots=True)
class Placement:
    """The device and precision of a model."""

    device: str = "cpu"
    precision: Precision = "float32"

    @property
    def dtype(self) -> "torch.dtype":
        """The precision as a PyTorch type."""
        import torch

        found: torch.dtype = getattr(torch, self.precision)
        return found

    def weights(self, weights: Weights) -> "dict[str, Tensor]":
        """Arrays as tensors, with floating-point ones in this precision."""
        import numpy as np
        import torch

        return {name: self.tensor(torch.from_numpy(np.array(value, order="C"))) for name, value in weights.items()}

    def batch(self, batch: Batch) -> Batch:
        """A batch on the model's device; labels and tokens stay integers. To a GPU it goes through pinned memory, so
        that the copy runs beside computations."""
        if self.device == "cuda":
            batch = tuple(part if part.is_cuda else part.pin_memory() for part in batch)
        return tuple(self.tensor(part) for part in batch)

    def tensor(self, value: "Tensor") -> "Tensor":
        """One tensor on the model's device."""
        kind = self.dtype if value.is_floating_point() else value.dtype
        return value.to(self.device, kind, non_blocking=self.device == "cuda" and not value.is_cuda)


def model_of_module(module: Any, criterion: "Callable[[Any, Batch], Tensor]", inputs: int = 1) -> SampleModel:
    """A PyTorch module as a function of its weights.

    The module must be in evaluation mode, so that a sample's output depends only on that sample; buffers that are not
    among the weights must be on the device and in the precision of scoring.

    Args:
        module: Called with the first `inputs` tensors of a batch.
        criterion: Gives the loss of each sample from the module's output and the rest of the batch.
        inputs: The number of tensors of a batch that the module takes.
    """
    from torch.func import functional_call  # type: ignore[import-not-found, unused-ignore]

    def losses(weights: Parameters, batch: Batch) -> "Tensor":
        return criterion(functional_call(module, dict(weights), batch[:inputs]), batch[inputs:])

    return SampleModel(losses)
