"""Small models of every kind that is scored, their weights and batches; all from fixed seeds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.scoring.mimic.models import Batch, BatchModel, Model, Parameters, SampleModel, model_of_module
from winnow.scoring.probe.grid import Shape
from winnow.scoring.probe.model import initial_parameters, logits
from winnow.scoring.protocol import Weights


@dataclass(frozen=True)
class Specimen:
    """A model that is ready to be scored."""

    model: Model
    at: Weights
    reference: Weights
    batch: Batch
    some: tuple[str, ...]  # globs of a few parameters: the mimic layer


def linear_head(count: int = 6) -> Specimen:
    """Softmax regression on embeddings."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    torch.manual_seed(0)
    head = torch.nn.Linear(12, 4)
    batch = torch.randn(count, 12), torch.randint(0, 4, (count,))
    return _specimen(model_of_module(head, _cross_entropy), head, batch, "weight")


def convolutions(count: int = 6) -> Specimen:
    """A small image classifier with batch norm in evaluation mode."""
    import torch

    torch.manual_seed(1)
    nn = torch.nn
    norm = nn.BatchNorm2d(8)
    norm.running_mean = torch.randn(8) / 4
    norm.running_var = torch.rand(8) + 0.5
    layers = [nn.Conv2d(3, 8, 3, padding=1, bias=False), norm, nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.GELU()]
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)).eval()
    batch = torch.randn(count, 3, 12, 12), torch.randint(0, 5, (count,))
    found = _specimen(model_of_module(module, _cross_entropy), module, batch, "7.*")
    buffers = {"1.running_mean": norm.running_mean.numpy(), "1.running_var": norm.running_var.numpy()}
    return Specimen(found.model, {**found.at, **buffers}, {**found.reference, **buffers}, found.batch, found.some)


def vision_transformer(count: int = 5) -> Specimen:
    """Patches, a class token, PyTorch's own encoder layers."""
    import torch

    torch.manual_seed(2)
    module = _vision(4).eval()
    batch = torch.randn(count, 3, 16, 16), torch.randint(0, 4, (count,))
    return _specimen(model_of_module(module, _cross_entropy), module, batch, "head.weight")


def language_model(count: int = 5, places: int = 12) -> Specimen:
    """A causal transformer; a sample's loss is the mean over its places."""
    import torch

    shape = Shape(2, 16, 2)
    at = {name: one.detach().numpy() for name, one in initial_parameters(shape, 32, places, 3).items()}

    def losses(weights: Parameters, batch: Batch) -> Any:
        said = logits(dict(weights), shape, batch[0][:, :-1])
        each = torch.nn.functional.cross_entropy(said.transpose(1, 2), batch[0][:, 1:], reduction="none")
        return each.mean(1)

    torch.manual_seed(3)
    tokens = torch.randint(0, 32, (count, places + 1))
    return Specimen(SampleModel(losses), at, _near(at), (tokens,), ("*.mlp.*", "norm"))


def pair(count: int = 7, bag: bool = False) -> Specimen:
    """Two encoders and a learnt temperature; losses are contrastive, over all pairs of the batch both ways.

    With `bag` words are read by an operator that has no forward derivative.
    """
    import torch

    torch.manual_seed(4)
    nn, functional = torch.nn, torch.nn.functional
    images, words = _vision(8).eval(), nn.EmbeddingBag(30, 16) if bag else nn.Embedding(30, 16)
    texts = nn.Sequential(words, nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 8))
    both = nn.ModuleDict({"image": images, "text": texts})
    at = {name: one.detach().numpy().copy() for name, one in both.named_parameters()} | {
        "scale": np.full(1, 1.5, np.float32)
    }

    def embed(weights: Parameters, batch: Batch) -> tuple[Any, ...]:
        from torch.func import functional_call  # type: ignore[import-not-found, unused-ignore]

        def of(name: str) -> dict[str, Any]:
            return {key.removeprefix(f"{name}."): one for key, one in weights.items() if key.startswith(f"{name}.")}

        made = functional_call(images, of("image"), batch[:1]), functional_call(texts, of("text"), batch[1:])
        return tuple(functional.normalize(one if one.ndim == 2 else one.mean(1), dim=1) for one in made)

    def losses(weights: Parameters, made: tuple[Any, ...]) -> Any:
        alike = weights["scale"].exp() * made[0] @ made[1].T
        right = torch.arange(len(alike), device=alike.device)
        one_way, other_way = (functional.cross_entropy(one, right, reduction="none") for one in (alike, alike.T))
        return (one_way + other_way) / 2

    batch = torch.randn(count, 3, 16, 16), torch.randint(0, 30, (count, 5))
    return Specimen(BatchModel(embed, losses), at, _near(at), batch, ("image.blocks.*.linear2.*",))


ZOO: dict[str, Callable[..., Specimen]] = {
    "linear head": linear_head,
    "convolutions": convolutions,
    "vision transformer": vision_transformer,
    "language model": language_model,
    "pair": pair,
}


def _vision(said: int) -> Any:
    import torch

    nn = torch.nn

    class Vision(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 16, 4, stride=4)
            self.first = nn.Parameter(torch.randn(1, 1, 16))
            self.places = nn.Parameter(torch.randn(1, 17, 16) / 4)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True, norm_first=True)
                for _ in range(2)
            )
            self.head = nn.Linear(16, said)

        def forward(self, pixels: Any) -> Any:
            seen = self.patches(pixels).flatten(2).transpose(1, 2)
            seen = torch.cat([self.first.expand(len(seen), -1, -1), seen], 1) + self.places
            for block in self.blocks:
                seen = block(seen)
            return self.head(seen[:, 0])

    return Vision()


def _cross_entropy(said: Any, rest: Batch) -> Any:
    import torch

    return torch.nn.functional.cross_entropy(said, rest[0], reduction="none")


def _specimen(model: Model, module: Any, batch: Batch, glob: str) -> Specimen:
    at = {name: one.detach().numpy().copy() for name, one in module.named_parameters()}
    return Specimen(model, at, _near(at), batch, (glob,))


def _near(at: Weights) -> Weights:
    noise = np.random.default_rng(5)
    return {name: (one + noise.normal(0, 0.1, one.shape)).astype(one.dtype) for name, one in at.items()}
