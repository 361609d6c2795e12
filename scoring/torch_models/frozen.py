"""Frozen encoders from winnow's assets, whose outputs are features of a head.

A row's features depend only on that row: other rows change no more than the last digits (10⁻⁵ is declared).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.assets import Asset
from winnow.scoring.mimic.memory import BatchPortions
from winnow.scoring.mimic.models import Batch
from winnow.scoring.protocol import IMAGE, NO_INPUT, NOT_FINITE, OK, TEXT, TOO_LONG, UNREADABLE, Files, Weights
from winnow.scoring.torch_models import conse, efficientnet, minilm
from winnow.scoring.torch_models.examples import Ragged
from winnow.scoring.torch_models.files import read_checkpoint, read_safetensors
from winnow.scoring.torch_models.networks import Network, Parameters
from winnow.scoring.torch_models.pictures import squares_of
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch, kind_of
from winnow.scoring.torch_models.tokens import cut_to, tokenizer_of
from winnow.scoring.torch_models.vision import normalised
from winnow.scoring.torch_models.weights import check_weights

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

Name: TypeAlias = Literal["minilm", "efficientnet"]
Status: TypeAlias = NDArray[np.object_]
Numbers: TypeAlias = NDArray[np.float32]

_LEAST: Final = 16  # the minimum width of a batch of short texts, in tokens
_TOKENS: Final = 512  # at once; with more, layers no longer fit in a core's cache
_IMAGES: Final = 8  # at once, for the same reason


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties of an encoder that are known before it is loaded."""

    reads: str
    width: int
    assets: tuple[Asset, ...]
    packages: tuple[str, ...]
    side: int = 0  # pixels per side of the pictures that it reads


KINDS: Final[Mapping[str, Kind]] = {
    "minilm": Kind(TEXT, minilm.WIDTH, (minilm.WEIGHTS, minilm.TOKENIZER), ("torch", "tokenizers")),
    "efficientnet": Kind(IMAGE, efficientnet.POOLED, (efficientnet.WEIGHTS,), ("torch",), efficientnet.SIDE),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what is read of a text."""

    max_bytes: int
    cuts: bool  # whether a text that is too long is cut instead of rejected


class Encoder(Protocol):
    """Computes features from a column."""

    def __call__(self, column: pa.Array, status: Status) -> Numbers:
        """Features (rows × width) of rows that are `ok` so far; failed rows get a status and zeros."""


def encoder(task: str, name: Name, files: Files, limits: Limits, running: TorchRuntime) -> Encoder:
    """Load an encoder; ScoreError if a package or file is missing, or a file is not the expected one."""
    running.ready(task)
    return _Texts(task, files, limits, running) if name == "minilm" else _Images(files, running)


class _Frozen:
    """A network with the weights of a file."""

    def __init__(self, network: Network, weights: Weights, running: TorchRuntime, where: str) -> None:
        check_weights(network, weights, running, where)
        self._network, self._running, self._portions = network, running, BatchPortions(running.memory_bytes)
        self._parameters = running.placement.weights({name: weights[name] for name in network.shapes})

    def __call__(self, given: NDArray[Any]) -> Numbers:
        """The outputs for examples, with as many at a time as fit in memory."""
        import torch

        def call(batch: Batch) -> "Tensor":
            return self._network.forward(self._parameters, batch[0])

        with exclusive_torch(self._running.device):
            parts = self._portions.run(self._running.placement.batch((torch.from_numpy(given),)), call, call)
            found: Numbers = torch.cat([part.float() for part in parts]).cpu().numpy()
        return found


class _Texts:
    """MiniLM's mean over a text's tokens, not normalised."""

    def __init__(self, task: str, files: Files, limits: Limits, running: TorchRuntime) -> None:
        self._limits = limits
        self._tokenizer = tokenizer_of(task, files.path(conse.TOKENIZER))
        self._first, self._last = (self._tokenizer.number(one) for one in (minilm.FIRST, minilm.LAST))
        path = files.path(conse.SENTENCES)
        network = conse.frozen_network(minilm.mean_embedding, minilm.shapes())
        self._network = _Frozen(network, conse.named("", read_safetensors(path)), running, path)

    def __call__(self, column: pa.Array, status: Status) -> Numbers:
        wanted = np.flatnonzero(status == OK)
        tokens = Ragged.of(self._tokens(column.take(pa.array(wanted)).to_pylist(), wanted, status))
        found = np.zeros((len(status), minilm.WIDTH), np.float32)
        wanted = np.flatnonzero(status == OK)
        widths = 2 ** np.ceil(np.log2(np.maximum(tokens.lengths, _LEAST))).astype(np.int64)
        for width in np.unique(widths):  # depends only on the text, so that its features do too
            alike, count = np.flatnonzero(widths == width), max(1, _TOKENS // int(width))
            for start in range(0, len(alike), count):
                which = alike[start : start + count]
                some = Ragged.of([tokens.one(int(place)) for place in which])
                found[wanted[which]] = self._network(some.padded(int(width)))
        return _finite(found, status)

    def _tokens(self, texts: list[str | None], rows: NDArray[np.int64], status: Status) -> list[NDArray[np.int32]]:
        """The tokens of each non-empty text, between the start and end tokens."""
        room, limits = minilm.TOKENS - 2, self._limits
        cut = [cut_to(text or "", limits.max_bytes) for text in texts]
        found = []
        for row, tokens, (_, whole) in zip(rows, self._tokenizer.of([text for text, _ in cut]), cut, strict=True):
            if tokens is None:
                status[row] = UNREADABLE
            elif not len(tokens):
                status[row] = NO_INPUT
            elif not limits.cuts and (len(tokens) > room or not whole):
                status[row] = TOO_LONG
            else:
                found.append(np.concatenate([[self._first], tokens[:room], [self._last]]).astype(np.int32))
        return found


class _Images:
    """EfficientNet-lite0's last features, averaged over positions."""

    def __init__(self, files: Files, running: TorchRuntime) -> None:
        path = files.path(conse.CLASSIFIER)
        network = conse.frozen_network(_pooled, efficientnet.shapes())
        self._network = _Frozen(network, conse.named("", read_checkpoint(path)), running, path)

    def __call__(self, column: pa.Array, status: Status) -> Numbers:
        found = np.zeros((len(status), efficientnet.POOLED), np.float32)
        for start in range(0, len(status), _IMAGES):
            here = slice(start, start + _IMAGES)
            wanted = status[here] == OK
            said, pixels = squares_of(column[here], wanted, efficientnet.SIDE)
            status[here] = np.where(wanted, said, status[here])
            if len(pixels):
                found[start + np.flatnonzero(status[here] == OK)] = self._network(pixels)
        return _finite(found, status)


def _pooled(parameters: Parameters, pixels: "Tensor") -> "Tensor":
    given = normalised(pixels, efficientnet.MEAN, efficientnet.DEVIATION, kind_of(parameters))
    return efficientnet.pooled(parameters, given)


def _finite(found: Numbers, status: Status) -> Numbers:
    """The rows unchanged; rows with NaN get a status."""
    status[~np.isfinite(found).all(axis=1) & (status == OK)] = NOT_FINITE
    return found
