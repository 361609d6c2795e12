"""Operators with a rule of their own have the derivative that PyTorch's own rules give."""

from collections.abc import Callable
from typing import Any

import pytest

from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.rules import forward_rules

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch
functional = torch.nn.functional


def noise(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


LONG = noise(2, 3, 200, 4), noise(2, 3, 150, 4), noise(2, 3, 150, 6)  # two heads at a time
SHORT = noise(2, 4, 5, 4), noise(2, 4, 5, 4), noise(2, 4, 5, 6)
MASK = torch.ones(5, 5, dtype=torch.bool).tril()
MEAN, SPREAD = noise(3), noise(3).abs() + 0.5
attention, batch_norm = functional.scaled_dot_product_attention, functional.batch_norm


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (attention, SHORT),
        (attention, LONG),
        (lambda q, k, v: attention(q, k, v, is_causal=True), SHORT),
        (lambda q, k, v: attention(q, k, v, is_causal=True, scale=0.3), LONG),
        (lambda q, k, v: attention(q, k, v, attn_mask=MASK), SHORT),
        (lambda q, k, v: attention(q, k[:, :2], v[:, :2], enable_gqa=True), SHORT),
        (lambda q, k, v: attention(q[0], k[0], v[0]), SHORT),
        (lambda q, k, v: attention(q, k.detach(), v), SHORT),
        (lambda q, k, v: attention(q, k[:1], v), SHORT),
        (functional.linear, (noise(2, 3, 4), noise(5, 4), noise(5))),
        (functional.linear, (noise(4), noise(5, 4))),
        (lambda x, w: functional.linear(x.detach(), w), (noise(2, 4), noise(5, 4))),
        (lambda x, w: functional.linear(x, w.detach()), (noise(2, 4), noise(5, 4))),
        (lambda x, w, b: functional.linear(x.detach(), w.detach(), b), (noise(2, 4), noise(5, 4), noise(5))),
        (lambda x, w, b: functional.linear(x, weight=w, bias=b), (noise(2, 4), noise(5, 4), noise(5))),
        (lambda x, w: functional.linear(input=x, weight=w), (noise(2, 4), noise(5, 4))),
        (lambda x, w, b: functional.linear(bias=b, weight=w, input=x), (noise(2, 4), noise(5, 4), noise(5))),
        (lambda x, w: functional.linear(x, w), (noise(2, 3, 4), noise(4))),
        (lambda x: functional.gelu(input=x), (noise(3, 4),)),
        (lambda x, w: functional.conv1d(input=x, weight=w, stride=2), (noise(2, 3, 8), noise(4, 3, 3))),
        (lambda q, k, v: attention(query=q, key=k, value=v), SHORT),
        (lambda x, w: functional.layer_norm(input=x, normalized_shape=(4,), weight=w), (noise(3, 4), noise(4))),
        (lambda x, w: batch_norm(input=x, running_mean=MEAN, running_var=SPREAD, weight=w), (noise(2, 3), noise(3))),
        (lambda x, w: functional.linear(x.transpose(0, 1), w), (noise(2, 3, 4), noise(5, 4))),
        (functional.gelu, (noise(3, 4),)),
        (lambda x: functional.gelu(x, approximate="tanh"), (noise(3, 4),)),
        (lambda x, w, b: functional.layer_norm(x, (4,), w, b), (noise(3, 4), noise(4), noise(4))),
        (lambda x: functional.layer_norm(x, (3, 4), eps=0.1), (noise(2, 3, 4),)),
        (lambda x, w: functional.layer_norm(x.transpose(0, 1), (3,), w), (noise(3, 4), noise(3))),
        (lambda x, w, b: functional.layer_norm(x, (4,), w.detach(), b.detach()), (noise(3, 4), noise(4), noise(4))),
        (lambda x, w, b: functional.layer_norm(x.detach(), (4,), w, b), (noise(3, 4), noise(4), noise(4))),
        (lambda x, w, b: batch_norm(x, MEAN, SPREAD, w, b), (noise(2, 3, 4, 4), noise(3), noise(3))),
        (lambda x, w, b: batch_norm(x, MEAN, SPREAD, w, b.detach(), eps=0.1), (noise(2, 3), noise(3), noise(3))),
        (lambda x, w, b: batch_norm(x, MEAN, SPREAD, w.detach(), b), (noise(2, 3, 4), noise(3), noise(3))),
        (lambda x: batch_norm(x, MEAN, SPREAD), (noise(2, 3, 4),)),
        (lambda x, w, b: batch_norm(x, None, None, w, b, training=True), (noise(2, 3, 4), noise(3), noise(3))),
        (functional.conv1d, (noise(2, 3, 8), noise(4, 3, 3), noise(4))),
        (lambda x, w: functional.conv2d(x, w, stride=2, padding=1), (noise(2, 4, 8, 8), noise(6, 4, 3, 3))),
        (lambda x, w: functional.conv2d(x, w, groups=2), (noise(2, 4, 8, 8), noise(6, 2, 3, 3))),
        (lambda x, w, b: functional.conv2d(x.detach(), w, b), (noise(2, 4, 8, 8), noise(6, 4, 3, 3), noise(6))),
        (lambda x, w: functional.conv3d(x, w.detach()), (noise(1, 2, 5, 5, 5), noise(2, 2, 3, 3, 3))),
    ],
)
def test_a_rule_gives_the_plain_derivative(call: Callable[..., Any], given: tuple[Any, ...]) -> None:
    def ruled(*values: Any) -> Any:
        with forward_rules():
            return call(*values)

    steps = tuple(torch.cos(one) for one in given)
    with deterministic():
        expected, found = (torch.func.jvp(one, given, steps) for one in (call, ruled))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_inside_pytorchs_own_layer_is_found(need_weights: bool) -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
    weights = {name: one.detach() for name, one in layer.named_parameters()}

    def call(changed: Any, given: Any) -> Any:
        return torch.func.functional_call(layer, changed, (given,) * 3, {"need_weights": need_weights})[0]

    def ruled(changed: Any, given: Any) -> Any:
        with forward_rules():
            return call(changed, given)

    values = weights, noise(2, 5, 8)
    with deterministic():
        expected, found = (torch.func.jvp(one, values, values) for one in (call, ruled))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_what_does_not_move_is_left_alone() -> None:
    with forward_rules():
        assert torch.equal(functional.linear(noise(2, 4), noise(5, 4)), noise(2, 4) @ noise(5, 4).T)


def test_what_linear_makes_of_a_vector_of_weights_is_pytorchs_own() -> None:
    with deterministic(), forward_rules():
        _, step = torch.func.jvp(lambda w: functional.linear(noise(2, 4), w), (noise(4),), (noise(4),))
    torch.testing.assert_close(step, noise(2, 4) @ noise(4))
