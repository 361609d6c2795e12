"""How well captions match their images: the cosine of a pair's embeddings, without reference weights.

Rows have a picture in `image` and a caption in another column. A pair's cosine depends only on the pair: other
pairs change no more than the last digits (10⁻⁵ is declared), unless an image's tenth and eleventh likeliest class tie
that closely under `conse`. A pair whose embedding is zero or NaN has no value.

Cosines of different encoders, and of captions in different languages under one of them, are not comparable in size;
compare them within a language (`filter: {binarise: top, by: text.language.code}`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
import pyarrow as pa

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import LATER, Between
from winnow.scoring.mimic.memory import BatchPortions
from winnow.scoring.mimic.models import Batch, BatchModel
from winnow.scoring.protocol import IMAGE, TEXT, Encoded, Files, Floats, PictureFit, TaskKind, Weights
from winnow.scoring.tasks.pairs import Pairs, PairsConfig, files_read, pair_network, read_as, tokenizer_of_layout
from winnow.scoring.torch_models import conse, efficientnet, minilm
from winnow.scoring.torch_models.examples import Examples, Indices
from winnow.scoring.torch_models.files import read_safetensors
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.layouts import LAYOUT_PACKAGES, Layout
from winnow.scoring.torch_models.networks import Network
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.runtime import TorchRuntime, exclusive_torch
from winnow.scoring.torch_models.tokens import BYTES, CLIP, Tokenizer, tokenizer_of
from winnow.scoring.torch_models.weights import check_weights

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

NAME: Final = "alignment"
CONSE: Final = "conse"
_LEAST: Final = 16
"""Tokens that a batch of short captions is made as wide as, where captions need not fill the encoder's width."""


@dataclass(frozen=True, slots=True)
class AlignmentConfig:
    """The inputs and the encoders."""

    caption: str = TEXT  # winnow's: the column with each row's caption; of a list, such as samples.captions, the first
    encoders: str = CONSE
    """winnow's: two networks for English, out of its list of assets; or `module:function` of the user's, a module with
    `encode_image` of images × 3 × height × width and `encode_text` of texts × max_tokens, filled up with zeros."""
    weights: str = ""  # of the user's encoders: the path of a safetensors file, or of the index of several
    layout: str | Layout = field(default="", metadata=LATER)  # of the user's, as for task pairs
    tokenizer: str = BYTES  # of the user's, as all that follows up to `max_tokens`; or the path of a tokenizer.json
    start: str = ""  # winnow's: none; CLIP's is <|startoftext|>
    end: str = ""  # winnow's: none; CLIP's is <|endoftext|>. It is kept when a caption is cut
    size: Annotated[int, Between(8, 4_096)] = 224  # CLIP's: pixels per side
    mean: Annotated[float, Between(-1e6, 1e6)] = 0.5  # as task pairs: subtracted from each colour of 0 to 1
    deviation: Annotated[float, Between(1e-6, 1e6)] = 0.5  # as task pairs: divisor after subtracting the mean
    max_tokens: Annotated[int, Between(2, 65_536)] = 77  # CLIP's, with `start` and `end`
    longer: Literal["cut", "refuse"] = "cut"  # as CLIP's implementations do on request
    max_bytes: Annotated[int, Between(1, 1 << 26)] = 65_536  # as text.safety_model: read of each text
    running: TorchRuntime = field(default_factory=TorchRuntime)  # where it computes


_OF_THE_USERS: Final = ("weights", "layout", "tokenizer", "start", "end", "size", "mean", "deviation", "max_tokens")


class Alignment:
    """Images with captions under two encoders; implements `Measure`.

    Args:
        pairs: Reads rows and encodes them.
        weights: The encoders' checked weights.
        fills: Whether every caption is padded to the encoder's width.
    """

    def __init__(self, pairs: Pairs, weights: Weights, *, fills: bool) -> None:
        self._pairs, self._fills = pairs, fills
        running = pairs.running
        self._weights = running.placement.weights({name: weights[name] for name in pairs.network.shapes})
        self._portions = BatchPortions(running.memory_bytes)

    @property
    def reads(self) -> tuple[str, ...]:
        """The image and its caption."""
        return self._pairs.reads

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads."""
        return self._pairs.side

    @property
    def fit(self) -> PictureFit:
        """How its pictures become squares."""
        return self._pairs.fit

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Rows with a picture and a caption."""
        return self._pairs.encode(rows)

    def joined(self, parts: Sequence[Examples]) -> Examples:
        """Concatenate examples."""
        return self._pairs.joined(parts)

    def chosen(self, examples: Examples, which: Indices) -> Examples:
        """Some examples, in this order."""
        return self._pairs.chosen(examples, which)

    def values(self, examples: Examples) -> Floats:
        """The cosine of each pair, from -1 to 1; NaN if an embedding is zero or NaN."""
        images, texts = self.embedded(examples)
        with np.errstate(invalid="ignore"):  # 0 / 0 of zeros
            cosines = (images * texts).sum(1) / np.sqrt((images**2).sum(1) * (texts**2).sum(1))
        found: Floats = np.clip(np.where(np.isfinite(cosines), cosines, np.nan), -1, 1)
        return found

    def embedded(self, examples: Examples) -> tuple[Floats, Floats]:
        """The embeddings of images and captions, with norm 1 or NaN: examples × width each."""
        widths = self._widths(examples)
        order, parts = [np.empty(0, np.int64)], []
        for width in np.unique(widths):
            which = np.flatnonzero(widths == width)
            with exclusive_torch(self._pairs.running.device):
                parts += self._embedded(examples.chosen(which), int(width))
            order.append(which)
        if not parts:
            return np.empty((0, 0)), np.empty((0, 0))
        back = np.argsort(np.concatenate(order))
        images, texts = (np.concatenate(column)[back] for column in zip(*parts, strict=True))
        return images, texts

    def _widths(self, examples: Examples) -> Indices:
        """The padded number of tokens of each caption; depends only on the caption, so that its value does too."""
        assert examples.tokens is not None
        lengths = examples.tokens.lengths
        if self._fills:
            return np.full(len(lengths), -1, np.int64)
        rounded: Indices = 2 ** np.ceil(np.log2(np.maximum(lengths, _LEAST))).astype(np.int64)
        return rounded

    def _embedded(self, examples: Examples, width: int) -> list[tuple[Floats, ...]]:
        pixels, tokens, lengths = self._pairs.batch(examples)
        cut = tokens if width < 0 else tokens[:, :width].contiguous()
        batch = self._pairs.running.placement.batch((pixels, cut, lengths))
        portions = self._portions.run(batch, self._of, self._of)
        return [tuple(one.double().cpu().numpy() for one in portion) for portion in portions]

    def _of(self, batch: Batch) -> "tuple[Tensor, ...]":
        model = self._pairs.model
        assert isinstance(model, BatchModel)
        return model.embed(self._weights, batch)


def _load(config: AlignmentConfig, files: Files) -> Alignment:
    config.running.ready(NAME)
    if config.encoders == CONSE:
        return _conse(config, files)
    if ":" not in config.encoders:
        raise ScoreError(f"{NAME}: `encoders`: {config.encoders!r}; expected {CONSE}, or `module:function`")
    if not config.weights:
        raise ScoreError(f"{NAME}: `weights`: expected the safetensors file of {config.encoders}")
    reading = _reading(config, config.encoders)
    layout = read_as(NAME, reading, files)
    tokenizer = tokenizer_of_layout(NAME, layout, files)
    try:
        network = pair_network(reading, layout, tokenizer.size)
    except ScoreError as error:
        raise ScoreError(str(error).replace("`architecture`", "`encoders`")) from None
    path = files.path(config.weights)
    weights = read_safetensors(path)
    check_weights(network, weights, config.running, path)
    return Alignment(Pairs(reading, layout, network, tokenizer), weights, fills=True)


def _conse(config: AlignmentConfig, files: Files) -> Alignment:
    defaults = {one.name: one.default for one in fields(AlignmentConfig)}
    given = [name for name in _OF_THE_USERS if getattr(config, name) != defaults[name]]
    if given:
        raise ScoreError(
            f"{NAME}: `{given[0]}` applies only to your own encoders, not to {CONSE}: omit it, or set `encoders`"
        )
    tokenizer: Tokenizer = tokenizer_of(NAME, files.path(conse.TOKENIZER))
    network: Network = conse.conse()
    weights: Weights = conse.weights_of(network, tokenizer, files, config.running)
    reading = _reading(config, CONSE)
    return Alignment(Pairs(reading, read_as(NAME, reading, files), network, tokenizer), weights, fills=False)


def _reading(config: AlignmentConfig, encoders: str) -> PairsConfig:
    """The same settings as those of task pairs."""
    own = encoders == CONSE
    return PairsConfig(
        caption=config.caption,
        layout=config.layout,
        tokenizer=config.tokenizer,
        start=minilm.FIRST if own else config.start,
        end=minilm.LAST if own else config.end,
        architecture=encoders,
        size=efficientnet.SIDE if own else config.size,
        mean=efficientnet.MEAN if own else config.mean,
        deviation=efficientnet.DEVIATION if own else config.deviation,
        max_tokens=minilm.TOKENS if own else config.max_tokens,
        longer=config.longer,
        max_bytes=config.max_bytes,
        running=config.running,
    )


def _files(config: AlignmentConfig) -> tuple[str, ...]:
    if config.encoders == CONSE:
        return conse.FILES
    return (*([config.weights] if config.weights else []), *files_read(_reading(config, config.encoders)))


def _depends(config: AlignmentConfig) -> tuple[str, ...]:
    bare = config.encoders != CONSE and config.tokenizer == BYTES
    packages = ("torch", *(LAYOUT_PACKAGES if config.layout != "" else () if bare else ("tokenizers",)))
    return (*versions(*packages), *(() if config.encoders == CONSE else function_identity(config.encoders)))


TASK = TaskKind(
    name=NAME,
    version=2,
    summary="Images with captions: the cosine of a pair under two encoders.",
    config=AlignmentConfig,
    load=_load,
    reads=lambda config: (IMAGE, config.caption),
    files=_files,
    declares=(*conse.ASSETS, CLIP),
    depends=_depends,
    resource="model",
    measures=True,
)
