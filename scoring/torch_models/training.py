"""Training with weighted batches: uniform, by score, by gradient norm, or by loss above the reference's.

Stage 1 of the Mimic score (arXiv 2501.06708). The gradient of the chosen parameters is the weighted sum over the
batch's samples, and of other parameters the mean, as in the paper's code; AdamW steps at a constant rate. The network
is always in evaluation mode: no dropout, fixed batch statistics, so that a sample's loss depends only on that sample.
The same examples, settings and PyTorch give the same weights to the last bit, with or without interruption.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.schedule import Schedule, in_batch, require_finite
from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.direction import chosen_parameters
from winnow.scoring.mimic.exact import lacks_forward
from winnow.scoring.mimic.gradients import Gradients, gradient_slopes, over_gradients
from winnow.scoring.mimic.memory import BatchPortions, is_out_of_memory
from winnow.scoring.mimic.models import Batch, Model
from winnow.scoring.protocol import Checkpoint, TrainingSettings, Weights
from winnow.scoring.torch_models.networks import Network, Parameters
from winnow.scoring.torch_models.parts import gradients, joined, losses_of, parts_of, slopes_of
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch
from winnow.scoring.torch_models.toward import unit_towards
from winnow.scoring.torch_models.weights import array_of, arrays_of, check_weights, tensors_of

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

BETAS: Final = (0.9, 0.999)  # AdamW's, as the paper's code leaves them
EPSILON: Final = 1e-8

_MOMENTS: Final = ("exp_avg", "exp_avg_sq")


class Training:
    """One training, from its first step or from a checkpoint."""

    def __init__(
        self,
        network: Network,
        model: Model,
        running: TorchRuntime,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> None:
        import torch

        self._network, self._model, self._running, self._settings = network, model, running, settings
        self._chosen = chosen_parameters(network.trained, settings.parameters)
        self._reference: Parameters = {}
        if settings.method in ("mimic", "rho") and reference is not None:
            check_weights(network, reference, running, "the reference")
            self._reference = tensors_of(network, reference, running)
        if start is not None:
            check_weights(network, start.weights, running, "the checkpoint that training goes on from")
        self.step = 0 if start is None else start.step
        first = arrays_of(network.initial(settings.seed)) if start is None else start.weights
        self._parameters = tensors_of(network, first, running)
        trained = [self._parameters[name].requires_grad_() for name in network.trained]
        self._optimiser = torch.optim.AdamW(
            trained, settings.learning_rate, BETAS, EPSILON, settings.weight_decay, foreach=False, fused=False
        )
        self._no_forward = False  # whether an operator lacks a forward derivative, as the first step shows
        self._portions = BatchPortions(running.memory_bytes)
        if self.step and start is not None:
            self._restore(start.state)

    def advance(self, batch: Batch) -> None:
        """Take one step.

        Raises:
            ScoreError: A loss or weight is not finite, memory ran out, or the weights equal the reference.
        """
        if not self._fits(self._running.placement.batch(batch)):
            raise ScoreError(
                f"training: out of memory on a batch of {len(batch[0])}; lower batch, or choose a smaller model"
            )
        self._optimiser.step()
        self.step += 1

    def _fits(self, batch: Batch) -> bool:
        """Compute the gradient; False if memory runs out."""
        try:
            self._differentiate(batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return False
        return True

    def _differentiate(self, batch: Batch) -> None:
        """Set the gradient of the weighted sum for the chosen parameters, and of the mean for the others."""
        import torch

        parts = parts_of(batch, self._running.accumulate)
        weights = self._weights(parts)
        others = [name for name in self._network.trained if name not in self._chosen]
        groups = [[*self._chosen, *others]] if weights is None else [one for one in (list(self._chosen), others) if one]
        of = [[self._parameters[name] for name in group] for group in groups]

        def totals(losses: "Tensor", which: slice) -> "list[Tensor]":
            if not bool(torch.isfinite(losses).all()):
                raise ScoreError(
                    f"training: a loss is NaN at step {self.step + 1}; lower learning_rate, or use other starting "
                    "weights"
                )
            mean = losses.mean() * (len(losses) / len(batch[0])) if len(parts) > 1 else losses.mean()
            weighed = mean if weights is None else (weights[which] * losses).sum()
            return [weighed, mean][: len(of)]

        with torch.enable_grad():
            found = gradients(self._model, lambda: self._narrow(self._parameters), parts, totals, of)
        for group, each in zip(of, found, strict=True):
            for parameter, gradient in zip(group, each, strict=True):
                parameter.grad = gradient

    def checkpoint(self) -> Checkpoint:
        """The current state, copied."""
        state: dict[str, NDArray[Any]] = {}
        for name in self._network.trained:
            kept = self._optimiser.state.get(self._parameters[name], {})
            state |= {f"{moment}.{name}": array_of(kept[moment]) for moment in _MOMENTS if moment in kept}
        return Checkpoint(self.step, arrays_of(self._parameters), state)

    def _restore(self, state: Weights) -> None:
        import torch

        for name in self._network.trained:
            parameter = self._parameters[name]
            kept = {"step": torch.tensor(float(self.step))}
            for moment in _MOMENTS:
                found = state.get(f"{moment}.{name}")
                if found is None or found.shape != tuple(parameter.shape):
                    raise ScoreError(
                        f"the checkpoint of step {self.step} has no `{moment}` of {name}, or one of another shape; "
                        "expected one that this training wrote, or none to begin anew"
                    )
                kept[moment] = torch.from_numpy(np.array(found, self._running.stored_dtype)).to(parameter.device)
            self._optimiser.state[parameter] = kept

    def _weights(self, parts: Sequence[Batch]) -> "Tensor | None":
        """The weight of each sample; None for equal weights."""
        import torch

        method, model = self._settings.method, self._model
        if method == "uniform":
            return None
        now = self._narrow({name: one.detach() for name, one in self._parameters.items()})
        if method == "mimic":
            said = self._scores(now, parts)
        elif method == "grand":
            said = over_gradients(model, now, self._chosen, joined(parts), self._portions, _norms)
        else:
            said = losses_of(model, now, parts) - losses_of(model, self._narrow(self._reference), parts)
        weights = in_batch(method, said.double().cpu().numpy(), self._settings.temperature)
        return torch.from_numpy(weights).to(said.device, self._running.compute_dtype)

    def _scores(self, now: Parameters, parts: Sequence[Batch]) -> "Tensor":
        """The scores in the current direction of the reference."""
        unit = self._narrow(unit_towards(self._parameters, self._reference, self._chosen))
        if not self._no_forward:
            try:
                with deterministic():
                    return -slopes_of(self._model, now, unit, parts)
            except (NotImplementedError, RuntimeError) as error:
                if not lacks_forward(error):
                    raise
            self._no_forward = True
        return -gradient_slopes(self._model, now, unit, joined(parts), self._portions)

    def _narrow(self, parameters: Parameters) -> Parameters:
        """The parameters in the type of computation."""
        return {name: self._running.placement.tensor(one) for name, one in parameters.items()}


def _norms(gradients: Gradients) -> "Tensor":
    """The norms of samples' gradients; a parameter may be a single number, such as CLIP's `logit_scale`."""
    import torch

    squares = [one.reshape(len(one), -1).double().square().sum(1) for one in gradients.values()]
    return torch.stack(squares).sum(0).sqrt()


def train(
    begin: Callable[[], Training],
    batch: Callable[[NDArray[np.int64]], Batch],
    schedule: Schedule,
    device: str = "cpu",
) -> Iterator[Checkpoint]:
    """Yield the checkpoints to keep; a starting checkpoint is yielded again if no steps are left.

    Args:
        begin: Creates the training.
        batch: Gives the model's inputs for examples by index.
        schedule: The examples of each step, and the steps after which a checkpoint is kept.
        device: Where it computes. For a GPU the next batch is made and moved beside each step.
    """
    with exclusive_torch(device):
        training = begin()
    if training.step > schedule.steps:
        raise ScoreError(f"the checkpoint is of step {training.step:,}; this training ends at {schedule.steps:,}")
    if training.step == schedule.steps:
        yield training.checkpoint()
    batches = ahead((partial(batch, which) for _, which in schedule.batches(training.step)), device != "cpu")
    for stop in schedule.kept:
        if stop <= training.step:
            continue
        with exclusive_torch(device):  # released while the caller runs
            while training.step < stop:
                training.advance(next(batches))
            found = training.checkpoint()
        require_finite(found.weights, found.step)
        yield found


def ahead(makers: Iterator[Callable[[], Batch]], beside: bool) -> Iterator[Batch]:
    """What each gives, in order; `beside`: in a thread, one before it is wanted."""
    if not beside:
        yield from (make() for make in makers)
        return
    with ThreadPoolExecutor(1) as thread:
        coming = [thread.submit(make) for make in itertools.islice(makers, 1)]
        while coming:
            made = coming.pop().result()
            coming = [thread.submit(make) for make in itertools.islice(makers, 1)]
            yield made
