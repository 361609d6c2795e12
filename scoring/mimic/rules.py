"""Forward derivatives of the operators that cost most, in fewer passes over memory than PyTorch's own rules take.

PyTorch derives attention through each of the small operators that it consists of, on all of its quadratic tensors. Here
attention is one operator with one rule, computed in place and a few heads at a time, so that what lies between stays in
the cache; a linear layer adds its second product to the first where that lies. Values are those of the plain formulas
up to rounding; whatever a rule does not know goes PyTorch's own way.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]
    from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, unused-ignore]

_BLOCK_BYTES = 1 << 19  # of one quadratic tensor: four of them fit into a core's second cache, or nearly


def forward_rules() -> "TorchFunctionMode":
    """A mode to enter inside `torch.func.jvp`, under which these operators have the rules of this file."""
    import torch
    from torch.autograd.forward_ad import make_dual, unpack_dual  # type: ignore[import-not-found, unused-ignore]
    from torch.overrides import TorchFunctionMode

    functional = torch.nn.functional
    rules: dict[Any, Callable[..., tuple[Tensor, Tensor] | None]] = {
        functional.linear: _linear,
        functional.scaled_dot_product_attention: _attention,
    }

    class Rules(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            rule = rules.get(func)
            if rule is not None:
                found = rule(lambda one: tuple(unpack_dual(one)), *args, **kwargs)
                if found is not None:
                    return make_dual(*found)
            return func(*args, **kwargs)

    return Rules()


def _linear(
    unpack: "Callable[[Tensor], tuple[Tensor, Tensor | None]]",
    given: "Tensor",
    weight: "Tensor",
    bias: "Tensor | None" = None,
) -> "tuple[Tensor, Tensor] | None":
    from torch.nn.functional import linear  # type: ignore[import-not-found, unused-ignore]

    (given, given_step), (weight, weight_step) = unpack(given), unpack(weight)
    bias, bias_step = unpack(bias) if bias is not None else (None, None)
    if given_step is None and weight_step is None:
        return None if bias_step is None else (linear(given, weight, bias), bias_step.expand(*given.shape[:-1], -1))
    said = linear(given, weight, bias)
    flat = given.reshape(-1, given.shape[-1])
    if given_step is None:
        return said, linear(given, cast("Tensor", weight_step), bias_step)
    step = linear(given_step, weight, bias_step)
    if weight_step is not None:
        step.view(-1, step.shape[-1]).addmm_(flat, weight_step.t())
    return said, step


def _attention(
    unpack: "Callable[[Tensor], tuple[Tensor, Tensor | None]]",
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    attn_mask: "Tensor | None" = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> "tuple[Tensor, Tensor] | None":
    import torch

    pairs = [unpack(one) for one in (query, key, value)]
    if attn_mask is not None or dropout_p or enable_gqa or any(step is None for _, step in pairs):
        return None
    if len({(*one.shape[:-2], one.dtype) for one in (query, key, value)}) > 1:
        return None
    heads = query.shape[:-2]
    places, seen = query.shape[-2], key.shape[-2]
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    flat = [[cast("Tensor", one).reshape(-1, *one.shape[-2:]) for one in pair] for pair in pairs]
    (asked, asked_step), (keys, keys_step), (values, values_step) = flat
    hidden = torch.ones(places, seen, dtype=torch.bool, device=query.device).triu_(1) if is_causal else None
    said = torch.empty(len(asked), places, values.shape[-1], dtype=query.dtype, device=query.device)
    step = torch.empty_like(said)
    together = max(1, _BLOCK_BYTES // (places * seen * query.element_size()))
    for start in range(0, len(asked), together):
        part = slice(start, start + together)
        turned, turned_step = keys[part].mT, keys_step[part].mT
        likeness = torch.bmm(asked[part] * factor, turned)
        likeness_step = torch.bmm(asked_step[part] * factor, turned)
        likeness_step.baddbmm_(asked[part] * factor, turned_step)
        if hidden is not None:
            likeness.masked_fill_(hidden, -torch.inf)
        share = torch.softmax(likeness, -1)
        likeness_step.mul_(share)
        share_step = likeness_step.addcmul_(share, likeness_step.sum(-1, keepdim=True), value=-1)
        said[part] = torch.bmm(share, values[part])
        step[part] = torch.bmm(share_step, values[part]).baddbmm_(share, values_step[part])
    return said.view(*heads, places, -1), step.view(*heads, places, -1)
