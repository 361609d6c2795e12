"""ConSE (Norouzi et al., arXiv 1312.5650): images and texts in one space, by two separately trained networks.

An image's vector is the mean of the vectors of its ten likeliest classes' names, weighted by probability; a text has
its own vector. Classes are those of EfficientNet-lite0, vectors those of MiniLM, both from winnow's list of assets.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from winnow.schemas.assets import Asset
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import Files, Weights
from winnow.scoring.torch_models import efficientnet, minilm
from winnow.scoring.torch_models.examples import Ragged
from winnow.scoring.torch_models.files import read_checkpoint, read_safetensors
from winnow.scoring.torch_models.networks import Network, Parameters
from winnow.scoring.torch_models.pair_towers import TEXT_TOWER
from winnow.scoring.torch_models.runtime import TorchRuntime, at_least_float32, exclusive_torch
from winnow.scoring.torch_models.tokens import Tokenizer
from winnow.scoring.torch_models.weights import check_weights

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

CLASS_NAMES: Final = Asset(
    name="imagenet-names",
    summary="the names of the 1,000 classes of ImageNet",
    registry="npm",
    package="@tensorflow-models/mobilenet@2.1.1",
    member="package/dist/imagenet_classes.js",
    size_bytes=34_740,
    sha256="2b077246aef6959d0714d3a454aac148aa71581236ba3233c839ca50307cee1b",
    licence="Apache-2.0",
    optional=True,
)
ASSETS: Final = (efficientnet.WEIGHTS, CLASS_NAMES, minilm.WEIGHTS, minilm.TOKENIZER)
FILES: Final = tuple(asset.name for asset in ASSETS)
CLASSIFIER, NAMES, SENTENCES, TOKENIZER = FILES
LIKELIEST: Final = 10  # the paper's T

_IMAGE, _TEXT, _VECTORS = "image.", "text.", "classes"
_BESIDE: Final = ("pooler.", "embeddings.position_ids")  # prefixes of unused arrays in MiniLM's file
_COUNTER: Final = "num_batches_tracked"
_TEXTS: Final = 100  # class names that are encoded at once

_NAME = re.compile(r"^\s*(\d+): ((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\s+])+),?$", re.MULTILINE)
_PART = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def conse() -> Network:
    """Both networks as one, whose first input selects one."""
    shapes = {**efficientnet.shapes(_IMAGE), **minilm.shapes(_TEXT), _VECTORS: (efficientnet.CLASSES, minilm.WIDTH)}

    def forward(parameters: Parameters, which: str, given: "Tensor") -> "Tensor":
        if which == TEXT_TOWER:
            return minilm.mean_embedding(parameters, given, _TEXT)
        return _of_classes(efficientnet.classified(parameters, given, _IMAGE), parameters[_VECTORS])

    return frozen_network(forward, shapes)


def frozen_network(forward: "Callable[..., Tensor]", shapes: Mapping[str, tuple[int, ...]]) -> Network:
    """A network without training, whose arrays are read from files."""

    def initial(seed: int) -> Parameters:
        import torch

        generator = torch.Generator().manual_seed(seed)
        return {name: torch.empty(shape).uniform_(0, 0.1, generator=generator) for name, shape in shapes.items()}

    return Network(initial, forward, shapes, frozenset(shapes))


def _of_classes(said: "Tensor", vectors: "Tensor") -> "Tensor":
    """Images × classes before the softmax → images × width."""
    import torch

    likely, which = at_least_float32(said).softmax(1).topk(LIKELIEST, dim=1)
    return torch.einsum("nk,nkw->nw", likely / likely.sum(1, keepdim=True), at_least_float32(vectors[which]))


def weights_of(network: Network, tokenizer: Tokenizer, files: Files, running: TorchRuntime) -> Weights:
    """Read the networks' arrays from files, and compute the vectors of class names."""
    found: dict[str, Any] = {
        **named(_IMAGE, read_checkpoint(files.path(CLASSIFIER))),
        **named(_TEXT, read_safetensors(files.path(SENTENCES))),
    }
    path = files.path(NAMES)
    vectors = np.zeros((efficientnet.CLASSES, minilm.WIDTH), np.float32)
    check_weights(network, {**found, _VECTORS: vectors}, running, f"{CLASSIFIER} and {SENTENCES}")
    return {**found, _VECTORS: _encoded(network, found, tokenizer, class_names(Path(path).read_text("utf-8"), path))}


def named(prefix: str, arrays: Weights) -> dict[str, Any]:
    """A file's arrays under a prefix, without unused ones."""
    return {
        f"{prefix}{name}": array
        for name, array in arrays.items()
        if not name.startswith(_BESIDE) and not name.endswith(_COUNTER)
    }


def class_names(script: str, where: str) -> list[str]:
    """The names of the classes, with comma-separated synonyms, from the script that lists them."""
    found = {
        int(one[1]): "".join(re.sub(r"\\(.)", r"\1", part[1] or part[2] or "") for part in _PART.finditer(one[2]))
        for one in _NAME.finditer(script)
    }
    if sorted(found) != list(range(efficientnet.CLASSES)) or not all(found.values()):
        raise ScoreError(f"{where}: {len(found):,} names of classes; expected {efficientnet.CLASSES:,}")
    return [found[number] for number in range(efficientnet.CLASSES)]


def _encoded(network: Network, arrays: Mapping[str, Any], tokenizer: Tokenizer, texts: Sequence[str]) -> Any:
    import torch

    parameters = {name: torch.from_numpy(array) for name, array in arrays.items() if name.startswith(_TEXT)}
    first, last = tokenizer.number(minilm.FIRST), tokenizer.number(minilm.LAST)
    tokens = [[first, *(one if one is not None else ()), last] for one in tokenizer.of(texts)]
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))  # by length, to compute little padding
    found = np.empty((len(texts), minilm.WIDTH), np.float32)
    with exclusive_torch():
        for start in range(0, len(order), _TEXTS):
            which = order[start : start + _TEXTS]
            padded = Ragged.of([tokens[place] for place in which]).padded(len(tokens[which[-1]]))
            said = network.forward(parameters, TEXT_TOWER, torch.from_numpy(padded))
            found[which] = torch.nn.functional.normalize(said).numpy()
    return found
