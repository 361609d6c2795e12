"""How fast the exact Mimic score of all parameters is, beside a forward pass and beside gradients of single samples.

The same model, batch and numbers in one run, by the CPU time of one thread, turn by turn: a plain forward pass (fused
attention, no derivative), `vmap(grad)` over samples, and a pass back for each sample. Then the peak of memory by batch,
each in a process of its own; and the closed form of a linear head beside the route of the paper's code, `vmap(grad)`
over `functional_call` of the head. `--quick` has the four smaller models and fewer turns. Needs PyTorch, and makes an
environment that has it.
"""

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.measuring.environments import require_torch
from benchmarks.measuring.reporting import Limit, Report, benchmark_arguments, measure, show, thread_seconds
from winnow.scoring.linear.head import BIAS, WEIGHT, HeadScorer, head_losses
from winnow.scoring.mimic.determinism import deterministic
from winnow.scoring.mimic.direction import Direction, direction
from winnow.scoring.mimic.exact import TOLERANCE, MimicScorer
from winnow.scoring.mimic.gradients import gradient_slopes
from winnow.scoring.mimic.memory import BatchPortions
from winnow.scoring.mimic.models import Batch, BatchModel, Model, Parameters, SampleModel, model_of_module
from winnow.scoring.probe.grid import Shape
from winnow.scoring.probe.model import initial_parameters, logits
from winnow.scoring.protocol import Weights

FORWARD, MAPPED, LOOPED, OFFICIAL = "a forward pass", "vmap(grad)", "a loop over samples", "the official route"
FLOOR = 0.25  # of the forward pass's rate: at most four times its time
HEAD_FLOOR = 20.0
SHARE = 0.5  # of a sample's gradient: what a further sample may add to memory

HEAD_FORWARD_FLOOR = 1 / 1.1
CHECKPOINTS = 5
HEADS = ((32, 768, 10), (256, 768, 10), (256, 768, 100), (512, 768, 100), (2048, 1280, 10), (2048, 1280, 100))
"""Samples, features and classes."""

Call: TypeAlias = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A model, its weights, where it should go, and a batch."""

    name: str
    model: Model
    at: Weights
    batch: Batch

    @property
    def towards(self) -> Direction:
        """Somewhere near."""
        noise = np.random.default_rng(0)
        reference = {key: (one + noise.normal(0, 0.01, one.shape)).astype(one.dtype) for key, one in self.at.items()}
        return direction(self.at, reference, list(self.at))

    @property
    def parameters(self) -> int:
        """How many numbers the weights hold."""
        return sum(one.size for one in self.at.values())


def convolutions(count: int, width: int) -> Case:
    """A small residual-free network on 32 × 32 pixels, batch norm in evaluation mode."""
    torch: Any = import_module("torch")
    nn = torch.nn
    torch.manual_seed(0)
    layers: list[Any] = []
    before = 3
    for depth in range(3):
        after = width << depth
        layers += [nn.Conv2d(before, after, 3, stride=1 + (depth > 0), padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        before = after
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)).eval()
    batch = torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,))
    return Case(f"CNN {width}, {count} x 32²", model_of_module(module, _cross_entropy), _weights(module), batch)


def vision(count: int, width: int, layers: int) -> Case:
    """A vision transformer on 32 × 32 pixels in patches of 4."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    module = _vision(torch, width, layers, 10).eval()
    batch = torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,))
    return Case(
        f"ViT {layers} x {width}, {count} x 65", model_of_module(module, _cross_entropy), _weights(module), batch
    )


def language(count: int, places: int, shape: Shape, vocabulary: int = 256) -> Case:
    """A causal transformer: the mean loss of each window."""
    torch: Any = import_module("torch")
    at = {name: one.detach().numpy() for name, one in initial_parameters(shape, vocabulary, places, 0).items()}

    def losses(weights: Parameters, batch: Batch) -> Any:
        said = logits(dict(weights), shape, batch[0][:, :-1])
        rest = batch[0][:, 1:]
        each = torch.nn.functional.cross_entropy(said.flatten(0, 1), rest.flatten(), reduction="none")
        return each.view(rest.shape).mean(1)

    torch.manual_seed(0)
    tokens = torch.randint(0, vocabulary, (count, places + 1))
    return Case(f"LM {shape.layers} x {shape.width}, {count} x {places}", SampleModel(losses), at, (tokens,))


def pair(count: int, width: int, layers: int) -> Case:
    """Two vision transformers as the encoders of a pair; losses over all pairs of the batch."""
    torch: Any = import_module("torch")
    functional = torch.nn.functional
    call = import_module("torch.func").functional_call
    torch.manual_seed(0)
    towers = [_vision(torch, width, layers, 64).eval() for _ in range(2)]
    at = {f"{place}.{name}": one for place, tower in enumerate(towers) for name, one in _weights(tower).items()}

    def embed(weights: Parameters, batch: Batch) -> tuple[Any, ...]:
        own = [{key[2:]: one for key, one in weights.items() if key.startswith(f"{place}.")} for place in range(2)]
        made = (call(*three) for three in zip(towers, own, batch, strict=True))
        return tuple(functional.normalize(one, dim=1) for one in made)

    def losses(_: Parameters, made: tuple[Any, ...]) -> Any:
        alike, right = 10 * made[0] @ made[1].T, torch.arange(len(made[0]))
        return sum(functional.cross_entropy(one, right, reduction="none") for one in (alike, alike.T)) / 2

    batch = torch.randn(count, 3, 32, 32), torch.randn(count, 3, 32, 32)
    return Case(f"pair 2 x {layers} x {width}, {count}", BatchModel(embed, losses), at, batch)


def ways(case: Case) -> dict[str, Call]:
    """The score in three ways, and the forward pass that it is held against."""
    torch: Any = import_module("torch")
    towards = case.towards
    scorer = MimicScorer(case.model, case.at, towards)
    weights, unit, model, batch = scorer.weights, scorer.unit, case.model, case.batch
    whole = model.whole if isinstance(model, BatchModel) else model.losses
    once = BatchPortions(1 << 40)

    def forward() -> Any:
        with torch.no_grad():
            return whole(weights, batch)

    def mapped() -> Any:
        with deterministic():
            return -gradient_slopes(model, weights, unit, batch, once).numpy()

    def looped() -> Any:
        leaves = {name: one.detach().requires_grad_() for name, one in weights.items()}
        found = []
        shared = whole(leaves, batch) if isinstance(model, BatchModel) else None
        for place in range(len(batch[0])):
            one = whole(leaves, tuple(part[place : place + 1] for part in batch)) if shared is None else shared
            loss = one[0 if shared is None else place]
            gradients = torch.autograd.grad(loss, list(leaves.values()), retain_graph=shared is not None)
            found.append(-sum(float((g * unit[n]).sum()) for n, g in zip(leaves, gradients, strict=True)))
        return np.array(found)

    return {"ours": lambda: scorer(batch).score, FORWARD: forward, MAPPED: mapped, LOOPED: looped}


def compared(case: Case, turns: int, *, quick: bool) -> Report:
    """Samples a second of every way: medians over turns, so that a busy machine slows all alike."""
    calls = ways(case)
    answers = {name: call() for name, call in calls.items()}
    for name in (MAPPED, LOOPED):
        _require_equal(answers["ours"], answers[name], f"{case.name}: {name}")
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            seconds[name].append(thread_seconds(call))
    count = len(case.batch[0])
    rates = {name: count / statistics.median(took) for name, took in seconds.items()}
    times = [ours / forward for ours, forward in zip(seconds["ours"], seconds[FORWARD], strict=True)]
    print(f"{case.name}: {case.parameters:,} parameters, {statistics.median(times):.2f} forward passes a score")
    ours = rates.pop("ours")
    return Report(f"Mimic score, {case.name}", "samples/s", ours, peers=rates, floors={FORWARD: FLOOR}, quick=quick)


def _print_head(count: int, width: int, classes: int, turns: int) -> None:
    """Samples a second of a softmax head: its closed form at one checkpoint, at each of several, its forward pass,
    and gradients of its weight by `vmap`."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    func = import_module("torch.func")
    noise = np.random.default_rng(0)
    at, reference = (
        {WEIGHT: noise.normal(0, 0.1, (classes, width)).astype(np.float32), BIAS: np.zeros(classes, np.float32)}
        for _ in range(2)
    )
    features = noise.normal(0, 1, (count, width)).astype(np.float32)
    labels = noise.integers(0, classes, count)
    scorer = HeadScorer([at], reference, [WEIGHT])
    heads = [
        {WEIGHT: at[WEIGHT] + noise.normal(0, 0.01, (classes, width)).astype(np.float32), BIAS: at[BIAS]}
        for _ in range(CHECKPOINTS)
    ]
    several = HeadScorer(heads, reference, [WEIGHT])
    module = torch.nn.Linear(width, classes)
    given, right = torch.from_numpy(features), torch.from_numpy(labels)
    weights = {"weight": torch.from_numpy(at[WEIGHT]), "bias": torch.from_numpy(at[BIAS])}
    step = torch.from_numpy(reference[WEIGHT] - at[WEIGHT]).flatten()

    def loss(weight: Any, one: Any, label: Any) -> Any:
        said = func.functional_call(module, {**weights, "weight": weight}, (one[None],))
        return torch.nn.functional.cross_entropy(said, label[None])

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))

    def ours() -> Any:
        return scorer(features, labels)[0].score

    def official() -> Any:
        with torch.no_grad():
            return (-(gradients(weights["weight"], given, right).flatten(1) @ step) / step.norm()).numpy()

    _require_equal(ours(), official(), f"linear head of {classes} classes")
    ways: list[tuple[Call, int]] = [
        (ours, count),
        (lambda: several(features, labels), CHECKPOINTS * count),
        (lambda: head_losses(at, features, labels), count),
        (official, count),
    ]
    took = [[thread_seconds(call) for call, _ in ways] for _ in range(turns)]
    medians = map(statistics.median, zip(*took, strict=True))
    print(*(done / seconds for (_, done), seconds in zip(ways, medians, strict=True)))


def compared_head(count: int, width: int, classes: int, turns: int, *, quick: bool) -> list[Report]:
    """In a process where numpy has one thread too: of one checkpoint, and of each of several."""
    arguments = map(str, (count, width, classes, turns))
    found = measure([*_MYSELF, "--head", *arguments], {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    one, each, forward, theirs = map(float, found.last_line.split())
    peers, name = {FORWARD: forward, OFFICIAL: theirs}, f"Mimic score, linear head {width} -> {classes}, {count}"
    floors = {FORWARD: HEAD_FORWARD_FLOOR, OFFICIAL: HEAD_FLOOR}
    return [
        Report(name, "samples/s", one, peers=peers, floors=floors, quick=quick),
        Report(
            f"{name}, each of {CHECKPOINTS} checkpoints", "samples/s", each, peers=peers, floors=floors, quick=quick
        ),
    ]


def remembered(shape: Shape, counts: tuple[int, int]) -> Limit:
    """What a further sample adds to the peak of memory, in gradients of a sample."""
    gradient = sum(one.size for one in language(1, _PLACES, shape).at.values()) * 4
    shares = {}
    for way in ("ours", MAPPED):
        few, many = (_peak(way, shape, count) for count in counts)
        shares[way] = (many - few) / (counts[1] - counts[0]) / gradient
        print(f"memory, {way}: {few >> 20} MiB for {counts[0]} samples, {many >> 20} MiB for {counts[1]}")
    print(f"a sample adds {shares['ours']:.3f} of its gradient to memory, {MAPPED} {shares[MAPPED]:.3f}")
    return Limit("memory that a sample adds", shares["ours"], SHARE, "gradients of a sample")


_PLACES = 32
_MYSELF = (sys.executable, "-W", "ignore", "-m", "benchmarks.mimic.speed")


def _peak(way: str, shape: Shape, count: int) -> int:
    sizes = (shape.layers, shape.width, shape.heads, count)
    return int(measure([*_MYSELF, "--peak", way, *map(str, sizes)]).last_line)


def _print_peak(way: str, layers: int, width: int, heads: int, count: int) -> None:
    """The kernel's record of this process, after one score of a batch."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    ways(language(count, _PLACES, Shape(layers, width, heads)))[way]()
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")))


def cases(quick: bool) -> list[Callable[[], Case]]:
    """By model and shape."""
    small = [
        lambda: convolutions(32, 16),
        lambda: vision(16, 64, 2),
        lambda: language(8, 64, Shape(2, 64, 2)),
        lambda: pair(16, 64, 2),
    ]
    large = [
        lambda: convolutions(64, 32),
        lambda: vision(16, 192, 4),
        lambda: language(16, 128, Shape(4, 128, 4)),
        lambda: language(4, 512, Shape(4, 256, 4)),
        lambda: language(4, 256, Shape(6, 384, 6)),
        lambda: pair(16, 192, 2),
    ]
    return small if quick else small + large


def main() -> int:
    """A table for each model and shape; the exit status says whether every promise was kept."""
    parser = benchmark_arguments(__doc__ or "")
    parser.add_argument("--peak", nargs=5, help="print the peak of memory of one score, and nothing else")
    parser.add_argument("--head", nargs=4, type=int, help="print the rates of a linear head, and nothing else")
    options = parser.parse_args()
    if options.peak is not None:
        _print_peak(options.peak[0], *map(int, options.peak[1:]))
        return 0
    if options.head is not None:
        _print_head(*options.head)
        return 0
    require_torch("benchmarks.mimic.speed")
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    quick = options.quick
    turns = 5 if quick else 9
    reports = [compared(make(), turns, quick=quick) for make in cases(quick)]
    for count, width, classes in HEADS:
        reports += compared_head(count, width, classes, 10 * turns, quick=quick)
    status = 0
    for report in reports:
        print(f"{report.name}: {report.ours:,.0f} {report.unit}")
        status = max(status, show(report, options.json))
    limit = remembered(Shape(4, 256, 4), (4, 16) if quick else (8, 64))
    return max(status, show(Report("Mimic score, memory", "samples/s", 0, limit=limit), options.json))


def _require_equal(ours: Any, theirs: Any, name: str) -> None:
    apart = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not apart <= 10 * TOLERANCE["float32"]:  # of float32's own, both ways
        raise SystemExit(f"{name}: scores are {apart:.1e} apart")


def _cross_entropy(said: Any, rest: Batch) -> Any:
    return import_module("torch").nn.functional.cross_entropy(said, rest[0], reduction="none")


def _weights(module: Any) -> dict[str, Any]:
    return {name: one.detach().numpy().copy() for name, one in module.named_parameters()}


def _vision(torch: Any, width: int, layers: int, said: int) -> Any:
    nn = torch.nn

    class Vision(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, stride=4)
            self.first = nn.Parameter(torch.randn(1, 1, width) / 50)
            self.places = nn.Parameter(torch.randn(1, 65, width) / 50)
            self.blocks = nn.Sequential(*(self._block() for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, said)

        def _block(self) -> Any:
            heads = width // 32
            return nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)

        def forward(self, pixels: Any) -> Any:
            seen = self.patches(pixels).flatten(2).transpose(1, 2)
            seen = torch.cat([self.first.expand(len(seen), -1, -1), seen], 1) + self.places
            return self.head(self.norm(self.blocks(seen))[:, 0])

    return Vision()


if __name__ == "__main__":
    sys.exit(main())
