"""How fast `winnow law probe` trains, beside a bare PyTorch loop of the same model with the same optimiser.

The bare loop is what one would write to see how fast a model can be: modules, batches that are in memory already, no
shares, no order that a seed makes, no mode in which results are repeatable. Needs PyTorch, and
makes an environment that has it.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from benchmarks.measuring.environments import require_torch
from benchmarks.measuring.reporting import Report, benchmark_arguments, show
from winnow.scoring.probe.grid import Run, Schedule, Shape
from winnow.scoring.probe.streams import VOCABULARY, Stream
from winnow.scoring.probe.training import Training, deterministic

Step: TypeAlias = Callable[[], None]

CASES = ((Shape(2, 64, 2), Schedule(64, 8)), (Shape(4, 128, 4), Schedule(128, 16)))
"""That of the shipped grid, and a larger one."""
BARE = "bare PyTorch"
_BYTES = 2_000_000
_BATCHES = 50
_SLICE_STEPS = 10


def ours(shape: Shape, schedule: Schedule) -> Step:
    """A step of winnow's loop."""
    noise = np.random.default_rng(0)
    tokens = {name: noise.integers(0, VOCABULARY, _BYTES).astype(np.uint8) for name in "abcd"}
    streams = {name: Stream(name, values, values) for name, values in tokens.items()}
    shares = tuple((name, 0.25) for name in tokens)
    return Training(Run(shape, 10**12, shares, 0, schedule, held_out_tokens=1), streams).advance


def bare(shape: Shape, schedule: Schedule) -> Step:
    """A step of the shortest loop."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    model = _model(torch, shape, schedule.context)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, (0.9, 0.95), weight_decay=0.1, fused=True)
    batches = torch.randint(0, VOCABULARY, (_BATCHES, schedule.batch, schedule.context + 1))
    made = 0

    def step() -> None:
        nonlocal made
        windows = batches[made % _BATCHES]
        made += 1
        optimiser.zero_grad(set_to_none=True)
        said = model(windows[:, :-1])
        torch.nn.functional.cross_entropy(said.flatten(0, 1), windows[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return step


def _model(torch: Any, shape: Shape, context: int) -> Any:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            width = shape.width
            self.attention_norm = nn.LayerNorm(width, bias=False)
            self.read = nn.Linear(width, 3 * width, bias=False)
            self.write = nn.Linear(width, width, bias=False)
            self.mlp = nn.Sequential(
                nn.LayerNorm(width, bias=False),
                nn.Linear(width, 4 * width, bias=False),
                nn.GELU(approximate="tanh"),
                nn.Linear(4 * width, width, bias=False),
            )

        def forward(self, hidden: Any) -> Any:
            sequences, places, width = hidden.shape
            parts = self.read(self.attention_norm(hidden)).split(width, dim=2)
            query, key, value = (part.view(sequences, places, shape.heads, -1).transpose(1, 2) for part in parts)
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            hidden = hidden + self.write(mixed.transpose(1, 2).reshape(sequences, places, width))
            return hidden + self.mlp(hidden)

    class Model(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.bytes = nn.Embedding(VOCABULARY, shape.width)
            self.places = nn.Embedding(context, shape.width)
            self.blocks = nn.Sequential(*(Block() for _ in range(shape.layers)))
            self.norm = nn.LayerNorm(shape.width, bias=False)
            self.head = nn.Linear(shape.width, VOCABULARY, bias=False)
            self.head.weight = self.bytes.weight
            self.register_buffer("order", torch.arange(context))

        def forward(self, tokens: Any) -> Any:
            hidden = self.bytes(tokens) + self.places(self.order[: tokens.shape[1]])
            return self.head(self.norm(self.blocks(hidden)))

    return Model()


def compared(shape: Shape, schedule: Schedule, turns: int) -> tuple[float, float]:
    """Tokens a second of both loops: medians of slices that take turns, so that a busy machine slows both alike."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    with deterministic("cpu", 1):
        our_step = ours(shape, schedule)
        _slice(our_step)
    bare_step = bare(shape, schedule)
    _slice(bare_step)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(turns):
        with deterministic("cpu", 1):
            seconds[0].append(_slice(our_step))
        seconds[1].append(_slice(bare_step))
    tokens = _SLICE_STEPS * schedule.step_tokens
    return tokens / statistics.median(seconds[0]), tokens / statistics.median(seconds[1])


def _slice(step: Step) -> float:
    start = time.perf_counter()
    for _ in range(_SLICE_STEPS):
        step()
    return time.perf_counter() - start


def main() -> int:
    """A table for each size of model; the exit status says whether the promise was kept."""
    options = benchmark_arguments(__doc__ or "").parse_args()
    require_torch("benchmarks.probe")
    status = 0
    for shape, schedule in CASES:
        our_rate, bare_rate = compared(shape, schedule, 5 if options.quick else 60)
        name = f"law probe, N {shape.parameters:,}, batches of {schedule.batch} x {schedule.context}"
        print(f"{name}: {our_rate:,.0f} tokens/s, bare PyTorch {bare_rate:,.0f}, one thread")
        report = Report(name, "tokens/s", our_rate, peers={BARE: bare_rate}, floors={BARE: 0.9}, quick=options.quick)
        status = max(status, show(report, options.json))
    return status


if __name__ == "__main__":
    sys.exit(main())
