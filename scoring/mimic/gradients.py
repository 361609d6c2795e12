"""Gradients of single samples: norms for the cosine score and GraNd, and the oracle of the exact score.

Unlike the score itself these need one gradient per sample, so memory grows with samples times parameters: as many
samples are processed at a time as the memory budget allows.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from winnow.scoring.mimic.memory import BatchPortions, is_out_of_memory, whole_batch
from winnow.scoring.mimic.models import Batch, BatchModel, Model, Parameters, SampleModel

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Gradients: TypeAlias = "dict[str, Tensor]"
"""The gradients of some samples, by parameter, one row each."""


def gradient_norms(
    model: Model, weights: Parameters, names: Sequence[str], batch: Batch, portions: BatchPortions
) -> "Tensor":
    """The norm of each sample's gradient over the named parameters, in float64."""
    import torch

    def norms(gradients: Gradients) -> "Tensor":
        squares = [one.reshape(len(one), -1).double().square().sum(1) for one in gradients.values()]
        return torch.stack(squares).sum(0).sqrt()

    return over_gradients(model, weights, names, batch, portions, norms)


def gradient_slopes(
    model: Model, weights: Parameters, unit: Parameters, batch: Batch, portions: BatchPortions
) -> "Tensor":
    """The inner product of each sample's gradient with a direction, computed from full gradients."""
    import torch

    def slopes(gradients: Gradients) -> "Tensor":
        parts = [one.reshape(len(one), -1).double() @ unit[name].flatten().double() for name, one in gradients.items()]
        return torch.stack(parts).sum(0)

    return over_gradients(model, weights, tuple(unit), batch, portions, slopes)


def over_gradients(
    model: Model,
    weights: Parameters,
    names: Sequence[str],
    batch: Batch,
    portions: BatchPortions,
    call: "Callable[[Gradients], Tensor]",
) -> "Tensor":
    """Apply a function to samples' gradients, in order, with few gradients in memory at a time.

    Args:
        model: Its losses as a function of weights.
        weights: All that it takes.
        names: The parameters whose gradients are needed.
        batch: The samples.
        portions: How many at a time; not those used for scores.
        call: Gives one value per sample from gradients.
    """
    import torch

    chosen = {name: weights[name] for name in names}
    found = (
        _sample_gradients(model, weights, chosen)
        if isinstance(model, SampleModel)
        else _batch_gradients(model, weights, chosen, batch)
    )
    if isinstance(model, BatchModel):
        # Every loss depends on all samples: portions are of losses, each selected by a row of the unit matrix.
        batch = (torch.eye(len(batch[0]), dtype=next(iter(chosen.values())).dtype, device=batch[0].device),)

    def part(some: Batch) -> "Tensor":
        return call(found(some))

    return torch.cat(portions.run(batch, part, part))


def _sample_gradients(model: SampleModel, weights: Parameters, chosen: Parameters) -> Callable[[Batch], Gradients]:
    from torch.func import grad, vmap  # type: ignore[import-not-found, unused-ignore]

    def loss(changed: Parameters, sample: Batch) -> "Tensor":
        return model.losses({**weights, **changed}, tuple(one.unsqueeze(0) for one in sample))[0]

    one_by_one = grad(loss)
    at_once = vmap(one_by_one, in_dims=(None, 0))
    mappable = True

    def gradients(some: Batch) -> Gradients:
        nonlocal mappable
        if mappable:
            try:
                found: Gradients = at_once(chosen, some)
                return found
            except (NotImplementedError, RuntimeError) as error:
                if is_out_of_memory(error) or ("vmap" not in str(error) and "functorch" not in str(error)):
                    raise
            mappable = False
        return _looped_gradients(model, weights, chosen, some)

    return gradients


def _looped_gradients(model: SampleModel, weights: Parameters, chosen: Parameters, some: Batch) -> Gradients:
    """One backward pass per sample, for models that cannot be mapped over samples."""
    import torch

    leaves = {name: one.detach().requires_grad_() for name, one in chosen.items()}
    rows = []
    for place in range(len(some[0])):
        with torch.enable_grad():
            loss = model.losses({**weights, **leaves}, tuple(one[place : place + 1] for one in some)).sum()
        rows.append(torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True))
    return {name: torch.stack(column) for name, column in zip(leaves, zip(*rows, strict=True), strict=True)}


def _batch_gradients(
    model: BatchModel, weights: Parameters, chosen: Parameters, batch: Batch
) -> Callable[[Batch], Gradients]:
    from torch.func import vjp, vmap

    back: Callable[[Tensor], tuple[Gradients]]
    with whole_batch(len(batch[0])):
        _, back = vjp(lambda changed: model.whole({**weights, **changed}, batch), chosen)

    def gradients(rows: Batch) -> Gradients:
        found: tuple[Gradients] = vmap(back)(rows[0])
        return found[0]

    return gradients
