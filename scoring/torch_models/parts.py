"""Losses, derivatives and gradients of a training batch, in parts that fit into memory: those of the whole batch.

Of losses that contrast samples, embeddings are computed part by part, and losses of all; the gradient of embeddings
then flows through one part after the other (GradCache, Gao et al., arXiv 2101.06983). So a batch of thousands of pairs
takes the memory of one part and of the embeddings. A batch of one part is computed at once.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from winnow.scoring.mimic.exact import contrasted, derivative
from winnow.scoring.mimic.memory import take
from winnow.scoring.mimic.models import Batch, BatchModel, Model, Parameters, SampleModel

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Totals: TypeAlias = "Callable[[Tensor, slice], list[Tensor]]"
"""From the losses of some samples of a batch, and where they are in it, what gradients are taken of; totals of parts
add up to those of the batch."""


def parts_of(batch: Batch, size: int) -> list[Batch]:
    """The batch in parts of so many samples; 0: in one."""
    count = len(batch[0])
    return [batch] if not 0 < size < count else [take(batch, at, at + size) for at in range(0, count, size)]


def joined(parts: Sequence[Batch]) -> Batch:
    """The batch of its parts."""
    import torch

    return parts[0] if len(parts) == 1 else tuple(torch.cat(column) for column in zip(*parts, strict=True))


def losses_of(model: Model, parameters: Parameters, parts: Sequence[Batch]) -> "Tensor":
    """The loss of each sample."""
    import torch

    if len(parts) == 1:
        return (
            model.losses(parameters, parts[0]) if isinstance(model, SampleModel) else model.whole(parameters, parts[0])
        )
    if isinstance(model, SampleModel):
        return torch.cat([model.losses(parameters, part) for part in parts])
    return model.losses(parameters, _embedded(model, parameters, parts))


def total_of(model: Model, parameters: Parameters, part: Batch) -> "Tensor":
    """A number whose gradient takes the memory that the part's share of a batch's gradient takes."""
    if isinstance(model, SampleModel):
        return model.losses(parameters, part).sum()
    import torch

    return torch.stack([one.sum() for one in model.embed(parameters, part)]).sum()


def slopes_of(model: Model, parameters: Parameters, unit: Parameters, parts: Sequence[Batch]) -> "Tensor":
    """The derivative of each sample's loss along a direction."""
    import torch

    if len(parts) > 1 and isinstance(model, BatchModel):
        embed = model.embed
        made = [derivative(lambda weights, part=part: embed(weights, part), parameters, unit) for part in parts]  # type: ignore[misc]
        return contrasted(model, parameters, unit, made)[1]
    found = [derivative(partial(_losses_at, model, part), parameters, unit)[1] for part in parts]
    return torch.cat(found)


def gradients(
    model: Model,
    parameters: Callable[[], Parameters],
    parts: Sequence[Batch],
    totals: Totals,
    of: "Sequence[Sequence[Tensor]]",
) -> "list[list[Tensor]]":
    """The gradient of each total for its own group of tensors.

    Args:
        model: The losses.
        parameters: Gives the model's parameters, which depend on the tensors of `of`.
        parts: The batch.
        totals: What gradients are taken of.
        of: The tensors of each total.
    """
    if isinstance(model, BatchModel) and len(parts) > 1:
        return _through_embeddings(model, parameters, parts, totals, of)
    found: list[list[Tensor]] = []
    start = 0
    for part in parts:
        stop = start + len(part[0])
        found = _added(found, _gradients(totals(losses_of(model, parameters(), [part]), slice(start, stop)), of))
        start = stop
    return found


def _through_embeddings(
    model: BatchModel,
    parameters: Callable[[], Parameters],
    parts: Sequence[Batch],
    totals: Totals,
    of: "Sequence[Sequence[Tensor]]",
) -> "list[list[Tensor]]":
    import torch

    with torch.no_grad():
        made = _embedded(model, parameters(), parts)
    made = tuple(one.requires_grad_() for one in made)
    sums = totals(model.losses(parameters(), made), slice(0, len(made[0])))
    found = _gradients(sums, of, keep=True)
    flows = [torch.autograd.grad(one, made, retain_graph=True, materialize_grads=True) for one in sums]
    start = 0
    for part in parts:
        here = slice(start, start + len(part[0]))
        embedded = model.embed(parameters(), part)
        back = [
            torch.stack([(one * into[here]).sum() for one, into in zip(embedded, flow, strict=True)]) for flow in flows
        ]
        found = _added(found, _gradients([one.sum() for one in back], of))
        start = here.stop
    return found


def _losses_at(model: Model, part: Batch, parameters: Parameters) -> "Tensor":
    return losses_of(model, parameters, [part])


def _embedded(model: BatchModel, parameters: Parameters, parts: Sequence[Batch]) -> "tuple[Tensor, ...]":
    import torch

    columns = zip(*(model.embed(parameters, part) for part in parts), strict=True)
    return tuple(torch.cat(column) for column in columns)


def _gradients(
    totals: "Sequence[Tensor]", of: "Sequence[Sequence[Tensor]]", *, keep: bool = False
) -> "list[list[Tensor]]":
    """The gradient of each total for its tensors; zeros where it does not depend on one."""
    import torch

    found = []
    for place, (total, tensors) in enumerate(zip(totals, of, strict=True)):
        more = keep or place < len(totals) - 1
        each = torch.autograd.grad(total, list(tensors), retain_graph=more, allow_unused=True)
        found.append([torch.zeros_like(one) if by is None else by for one, by in zip(tensors, each, strict=True)])
    return found


def _added(one: "list[list[Tensor]]", other: "list[list[Tensor]]") -> "list[list[Tensor]]":
    if not one:
        return other
    return [[a.add_(b) for a, b in zip(*both, strict=True)] for both in zip(one, other, strict=True)]
