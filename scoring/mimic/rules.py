"""Forward derivatives of the most expensive operators, with fewer passes over memory than PyTorch's own rules.

PyTorch differentiates attention through each of its small operators, on all quadratic tensors. Here attention is one
operator with one rule, computed in place and a few heads at a time, so that intermediate tensors stay in the cache.
Softmax and layer norm have symmetric Jacobians: their derivatives are PyTorch's own fused backward passes. If both a
weight and its input move, the second product is added in place. Values equal the plain formulas up to rounding; cases
that a rule does not cover use PyTorch's own.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]
    from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, unused-ignore]

Unpack: TypeAlias = "Callable[[Tensor], tuple[Tensor, Tensor | None]]"
"""Gives a tensor's value and its derivative, if it has one."""
Moving: TypeAlias = "tuple[Tensor, Tensor]"

_BLOCK_BYTES = 1 << 19  # of one quadratic tensor: four of them about fill a core's second cache


def forward_rules() -> "TorchFunctionMode":
    """A mode to enter inside `torch.func.jvp` that applies this file's rules."""
    found: TorchFunctionMode = _mode()()
    return found


@lru_cache(maxsize=1)
def _mode() -> Any:
    import torch
    from torch.autograd.forward_ad import make_dual, unpack_dual  # type: ignore[import-not-found, unused-ignore]
    from torch.overrides import TorchFunctionMode

    functional = torch.nn.functional
    rules: dict[Any, Callable[..., Moving | None]] = {
        functional.linear: _linear,
        functional.conv1d: _convolution(functional.conv1d),
        functional.conv2d: _convolution(functional.conv2d),
        functional.conv3d: _convolution(functional.conv3d),
        functional.gelu: _gelu,
        functional.layer_norm: _layer_norm,
        functional.batch_norm: _batch_norm,
        functional.scaled_dot_product_attention: _attention,
    }
    opened = {functional.multi_head_attention_forward: _opened(functional.multi_head_attention_forward)}

    def unpack(one: "Tensor") -> "tuple[Tensor, Tensor | None]":
        value, step = unpack_dual(one)
        return value, None if step is None or step._is_zerotensor() else step

    class Rules(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func in opened:
                with self:
                    return opened[func](*args, **kwargs)
            rule = rules.get(func)
            if rule is not None:
                found = rule(unpack, *args, **kwargs)
                if found is not None:
                    return make_dual(*found)
            return func(*args, **kwargs)

    return Rules


def _opened(func: Any) -> Any:
    """A PyTorch function without the initial check that would hide its operators from a mode."""

    def no(*_: object) -> bool:
        return False

    names = {**func.__globals__, "has_torch_function": no, "has_torch_function_variadic": no}
    return FunctionType(func.__code__, names, func.__name__, func.__defaults__, func.__closure__)


def _maybe(unpack: Unpack, one: "Tensor | None") -> "tuple[Tensor | None, Tensor | None]":
    return (None, None) if one is None else unpack(one)


def _linear(
    unpack: Unpack,
    input: "Tensor",  # as PyTorch names it
    weight: "Tensor",
    bias: "Tensor | None" = None,
) -> "Moving | None":
    from torch.nn.functional import linear  # type: ignore[import-not-found, unused-ignore]

    if weight.ndim != 2:
        return None
    (given, given_step), (weight, weight_step) = unpack(input), unpack(weight)
    bias, bias_step = _maybe(unpack, bias)
    said = linear(given, weight, bias)
    if given_step is None:
        # If at most the bias moves, there is nothing to gain.
        return None if weight_step is None else (said, linear(given, weight_step, bias_step))
    step = linear(given_step, weight, bias_step)
    if weight_step is not None:
        step.view(-1, step.shape[-1]).addmm_(given.reshape(-1, given.shape[-1]), weight_step.t())
    return said, step


def _convolution(convolve: Any) -> "Callable[..., Moving | None]":
    def rule(
        unpack: Unpack,
        input: "Tensor",  # as PyTorch names it
        weight: "Tensor",
        bias: "Tensor | None" = None,
        *args: Any,
        **kwargs: Any,
    ) -> "Moving | None":
        (given, given_step), (weight, weight_step), (bias, bias_step) = (
            _maybe(unpack, one) for one in (input, weight, bias)
        )
        said = convolve(given, weight, bias, *args, **kwargs)
        if given_step is None:
            return None if weight_step is None else (said, convolve(given, weight_step, bias_step, *args, **kwargs))
        step = convolve(given_step, weight, bias_step, *args, **kwargs)
        return said, step if weight_step is None else step.add_(convolve(given, weight_step, None, *args, **kwargs))

    return rule


def _gelu(unpack: Unpack, input: "Tensor", *, approximate: str = "none") -> "Moving | None":
    import torch

    given, step = unpack(input)
    if step is None:
        return None
    said = torch.nn.functional.gelu(given, approximate=approximate)
    return said, torch.ops.aten.gelu_backward(step, given, approximate=approximate)


def _layer_norm(
    unpack: Unpack,
    input: "Tensor",
    normalized_shape: Sequence[int],
    weight: "Tensor | None" = None,
    bias: "Tensor | None" = None,
    eps: float = 1e-5,
) -> "Moving | None":
    import torch

    given, given_step = unpack(input)
    (weight, weight_step), (bias, bias_step) = _maybe(unpack, weight), _maybe(unpack, bias)
    if given_step is None:
        return None
    normed, mean, scale = torch.native_layer_norm(given, normalized_shape, None, None, eps)
    step = torch.ops.aten.native_layer_norm_backward(
        given_step.contiguous(), given.contiguous(), normalized_shape, mean, scale, None, None, [True, False, False]
    )[0]
    if weight is not None:
        step.mul_(weight)
    if weight_step is not None:
        step.addcmul_(normed, weight_step)
    if bias_step is not None:
        step.add_(bias_step)
    if weight is not None:
        normed.mul_(weight)
    return normed if bias is None else normed.add_(bias), step


def _batch_norm(
    unpack: Unpack,
    input: "Tensor",
    running_mean: "Tensor | None",
    running_var: "Tensor | None",
    weight: "Tensor | None" = None,
    bias: "Tensor | None" = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> "Moving | None":
    """Batch norm with fixed statistics: it scales and shifts each channel."""
    import torch

    if training or running_mean is None or running_var is None:
        return None
    (mean, mean_step), (variance, variance_step) = unpack(running_mean), unpack(running_var)
    if mean_step is not None or variance_step is not None:
        return None
    given, given_step = unpack(input)
    (weight, weight_step), (bias, bias_step) = _maybe(unpack, weight), _maybe(unpack, bias)
    if given_step is None or given.ndim < 2:
        return None
    norm = torch.nn.functional.batch_norm
    said = norm(given, mean, variance, weight, bias, False, momentum, eps)
    if weight_step is None:
        return said, norm(given_step, torch.zeros_like(mean), variance, weight, bias_step, False, momentum, eps)
    slope = weight_step * torch.rsqrt(variance + eps)
    shift = torch.addcmul(torch.zeros_like(mean) if bias_step is None else bias_step, mean, slope, value=-1)
    step = norm(given_step, torch.zeros_like(mean), variance, weight, shift, False, momentum, eps)
    return said, step.addcmul_(given, slope.view(-1, *[1] * (given.ndim - 2)))


def _attention(
    unpack: Unpack,
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
    steps = [step for _, step in pairs if step is not None]
    if attn_mask is not None or dropout_p or enable_gqa or len(steps) < len(pairs):
        return None
    if len({(*one.shape[:-2], one.dtype) for one in (query, key, value)}) > 1:
        return None  # shared heads, or widths that attention itself rejects
    heads = query.shape[:-2]
    places, seen = query.shape[-2], key.shape[-2]
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    asked, keys, values = (one.reshape(-1, *one.shape[-2:]) for one, _ in pairs)
    asked_step, keys_step, values_step = (one.reshape(-1, *one.shape[-2:]) for one in steps)
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
        share_step = torch._softmax_backward_data(likeness_step, share, -1, share.dtype)
        said[part] = torch.bmm(share, values[part])
        step[part] = torch.bmm(share_step, values[part]).baddbmm_(share, values_step[part])
    return said.view(*heads, places, -1), step.view(*heads, places, -1)
