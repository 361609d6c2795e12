"""Task `pairs`: the contrastive loss of images with captions under two encoders.

Rows give a picture in `image` and a caption in another column. The loss of a pair is the mean of two
cross-entropies over its batch, of its caption among all captions given its image and the other way round, as CLIP is
trained (arXiv 2103.00020). So it depends on the batch, which is defined: rows in the given order, `batch` at a time,
on any worker. The remaining rows form a smaller batch; a single row has no loss.

An image or caption whose embedding is NaN or nearly zero has no loss, and its batch is scored without it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
import pyarrow as pa

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import Between
from winnow.scoring.mimic.models import Batch, BatchModel, Parameters
from winnow.scoring.tasks.protocol import (
    IMAGE,
    NO_INPUT,
    OK,
    TEXT,
    TOO_LONG,
    UNREADABLE,
    Encoded,
    Files,
    Floats,
    TaskKind,
)
from winnow.scoring.torch_models.base import BatchFunction, TorchTask
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.examples import Examples, Indices, Ragged
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.networks import Network, network_of, output_shape
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.pair_towers import IMAGE_TOWER, SCALE, TEXT_TOWER, towers
from winnow.scoring.torch_models.pictures import require_room, squares_of
from winnow.scoring.torch_models.running import Running, at_least_float32, kind_of
from winnow.scoring.torch_models.tokens import (
    BYTES,
    Tokenizer,
    Tokens,
    cut_to,
    tokenizer_files,
    tokenizer_of,
    tokenizer_packages,
)
from winnow.scoring.torch_models.vision import no_image, normalised

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

NAME: Final = "pairs"
_LEAST: Final = 2  # the minimum batch: a single pair has no loss
_POINTS: Final = 1e-6  # the root mean square below which an embedding has no direction


@dataclass(frozen=True, slots=True)
class PairsConfig:
    """The inputs, the encoders and the batch size."""

    caption: str = TEXT  # winnow's: the column with each row's caption; of a list, such as samples.captions, the first
    tokenizer: str = BYTES  # winnow's: no file is needed; or the path of a tokenizer.json
    start: str = ""  # winnow's: none; CLIP's is <|startoftext|>
    end: str = ""  # winnow's: none; CLIP's is <|endoftext|>. It is kept when a caption is cut
    architecture: str = "towers"
    """winnow's small ones; or `module:function` of the user's, a module with `encode_image` of images × 3 × height ×
    width and `encode_text` of texts × max_tokens, filled up with zeros. Its parameter `logit_scale`, where it has one,
    is the logarithm of what similarities are multiplied by."""
    network: Size = field(default_factory=Size)  # of the small ones
    size: Annotated[int, Between(8, 4_096)] = 224  # CLIP's: pixels per side
    patch: Annotated[int, Between(1, 512)] = 32  # CLIP's ViT-B/32: pixels a side, of the small ones
    mean: Annotated[float, Between(-1e6, 1e6)] = 0.5  # the paper's: subtracted from each colour of 0 to 1
    deviation: Annotated[float, Between(1e-6, 1e6)] = 0.5  # the paper's: divisor after subtracting the mean
    max_tokens: Annotated[int, Between(2, 65_536)] = 77  # CLIP's, with `start` and `end`
    longer: Literal["cut", "refuse"] = "cut"  # as CLIP's implementations do on request
    max_bytes: Annotated[int, Between(1, 1 << 26)] = 65_536  # as text.safety_model: read of each text
    batch: Annotated[int, Between(_LEAST, 1 << 20)] = 256  # winnow's: the paper's 4096 asks for many devices
    temperature: Annotated[float, Between(1e-4, 1e4)] = 0.07  # CLIP's at first; where there is no `logit_scale`
    running: Running = field(default_factory=Running)  # where it computes


class Pairs(TorchTask):
    """Images with captions."""

    name = NAME

    def __init__(self, config: PairsConfig, network: Network, tokenizer: Tokenizer) -> None:
        self._config, self._tokenizer = config, tokenizer
        given = (("start", config.start), ("end", config.end))
        self._start, self._end = ([tokenizer.number(one, key)] if one else [] for key, one in given)
        if config.max_tokens <= len(self._start) + len(self._end):
            raise ScoreError(
                f"`max_tokens`: {config.max_tokens} leaves no room for text between `start` and `end`; expected "
                f"{len(self._start) + len(self._end) + 1} or more"
            )
        super().__init__(network, config.running, BatchModel(self._embedded, self._contrasted), config.batch)

    @property
    def reads(self) -> tuple[str, ...]:
        """The image and its caption."""
        return _reads(self._config)

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads."""
        return self._config.size

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read rows with a caption and a picture."""
        captions, reasons = self._tokens(captions_of(rows[self._config.caption], self._config.caption))
        wanted = np.array([reason == OK for reason in reasons], bool)
        status, pixels = squares_of(rows[IMAGE], wanted, self._config.size)
        status = np.where((status == OK) & ~wanted, np.array(reasons, object), status)
        tokens = Ragged.of([captions[int(place)] for place in np.flatnonzero(status == OK)])
        return Encoded(status, Examples(len(pixels), pixels, tokens), len(pixels))

    def _tokens(self, texts: list[str | None]) -> tuple[list[Tokens], list[str]]:
        """The tokens of each caption, and a status that says why there are none."""
        config, room = self._config, self._config.max_tokens - len(self._start) - len(self._end)
        cut = [cut_to(text or "", config.max_bytes) for text in texts]
        found, reasons = [], []
        for tokens, (_, whole) in zip(self._tokenizer.of([text for text, _ in cut]), cut, strict=True):
            if tokens is None:
                found.append(np.empty(0, np.int32))
                reasons.append(UNREADABLE)
                continue
            long = config.longer == "refuse" and (len(tokens) > room or not whole)
            reasons.append(NO_INPUT if not len(tokens) else TOO_LONG if long else OK)
            found.append(np.concatenate([self._start, tokens[:room], self._end]).astype(np.int32))
        return found, reasons

    def groups(self, examples: Examples) -> list[Indices]:
        """The defined batches."""
        places, size = np.arange(examples.count), self._config.batch
        found = [places[start : start + size] for start in range(0, examples.count, size)]
        return [group for group in found if len(group) >= _LEAST]

    def batch(self, examples: Examples) -> Batch:
        """Pixels as bytes; tokens, padded with zeros, and the number of real ones in each row."""
        import torch

        assert examples.pixels is not None
        assert examples.tokens is not None
        tokens = torch.from_numpy(examples.tokens.padded(self._config.max_tokens))
        return torch.from_numpy(examples.pixels), tokens, torch.from_numpy(examples.tokens.lengths)

    def batch_outputs(self, batch: Batch, parameters: Parameters, say: BatchFunction) -> tuple[Floats, ...]:
        """The outputs of all pairs; if there are NaNs, of the pairs with valid embeddings only."""
        import torch

        said = say(batch)
        if all(np.isfinite(column).all() for column in said):
            return said
        placed = self.running.placement.batch(batch)
        with torch.no_grad():
            made = [
                self._embedded(parameters, tuple(one[place : place + 1] for one in placed))
                for place in range(len(placed[0]))
            ]
        sound = np.array([bool(torch.isfinite(torch.cat(pair)).all()) for pair in made])
        if sound.all():
            return said
        found = tuple(np.full(len(sound), np.nan) for _ in said)
        if sound.sum() >= _LEAST:
            rest = say(tuple(one[torch.from_numpy(sound)] for one in batch))
            for column, values in zip(found, rest, strict=True):
                column[sound] = values
        return found

    def _embedded(self, weights: Parameters, batch: Batch) -> "tuple[Tensor, ...]":

        pixels, tokens, lengths = batch
        given = normalised(pixels, self._config.mean, self._config.deviation, kind_of(weights))
        texts = (tokens, lengths) if self._config.architecture == "towers" else (tokens,)
        said = (
            self.network.forward(dict(weights), IMAGE_TOWER, given),
            self.network.forward(dict(weights), TEXT_TOWER, *texts),
        )
        return tuple(_pointing(at_least_float32(one)) for one in said)

    def _contrasted(self, weights: Parameters, embedded: "tuple[Tensor, ...]") -> "Tensor":
        import torch

        images, texts = embedded
        scale = at_least_float32(weights[SCALE]).exp() if SCALE in weights else 1 / self._config.temperature
        said = scale * images @ texts.T
        right = torch.arange(len(said), device=said.device)
        both = [torch.nn.functional.cross_entropy(way, right, reduction="none") for way in (said, said.T)]
        return (both[0] + both[1]) / 2


def captions_of(column: pa.Array, name: str) -> list[str | None]:
    """The caption of each row: a string, or the first item of a list of strings or of
    `schemas.rows.samples.CAPTION`."""
    kind = column.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    one = kind.value_type if listed else kind
    told = listed and pa.types.is_struct(one) and one.get_field_index("text") >= 0
    one = one.field("text").type if told else one
    if not (_is_string(one) or pa.types.is_null(one)):
        raise ScoreError(f"task {NAME}: caption {name} is of type {kind}; expected strings, or lists of captions")
    found: list[str | None] = column.to_pylist()
    if not listed:
        return found
    first = (next(iter(said or ()), None) for said in column.to_pylist())
    return [said["text"] if told and said is not None else said for said in first]


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _pointing(said: "Tensor") -> "Tensor":
    """Normalise to length 1; NaN for embeddings that are nearly zero, whose direction is only rounding errors."""
    import torch

    size = said.detach().square().mean(1, keepdim=True).sqrt()
    sound = (size >= _POINTS) & (size < torch.inf)
    return torch.where(sound, torch.nn.functional.normalize(said, dim=1), torch.nan)


def _load(config: PairsConfig, files: Files) -> Pairs:
    _check_batch(config)
    config.running.ready(NAME)
    path = config.tokenizer if config.tokenizer == BYTES else files.path(config.tokenizer)
    tokenizer = tokenizer_of(NAME, path)
    return Pairs(config, pair_network(config, tokenizer.size), tokenizer)


def _check_batch(config: PairsConfig) -> None:
    """Raise ScoreError if the similarities of a batch exceed its memory budget."""
    require_room(NAME, config.size, config.batch, config.running.memory_bytes)
    wide, budget = config.running.held.itemsize, config.running.memory_bytes
    if config.batch**2 * wide > budget:
        raise ScoreError(
            f"{NAME}: `batch`: the similarities of {config.batch:,} pairs take {config.batch**2 * wide:,} bytes, more "
            f"than `memory_bytes`: {budget:,}; lower `batch` or raise `memory_bytes`"
        )


def pair_network(config: PairsConfig, vocabulary: int) -> Network:
    """The two encoders, tested on an image and a text."""
    if config.architecture == "towers":
        return towers(config.network, config.size, config.patch, vocabulary, config.max_tokens)
    import torch

    running = config.running
    made = network_of(config.architecture, running, (IMAGE_TOWER, TEXT_TOWER))
    image = normalised(no_image(config.size, running.device), config.mean, config.deviation, running.placement.dtype)
    text = torch.zeros(1, config.max_tokens, dtype=torch.int64, device=running.device)
    one = output_shape(
        made, running, (IMAGE_TOWER, image), None, f"{config.architecture}: of one image of {config.size} pixels a side"
    )
    output_shape(
        made, running, (TEXT_TOWER, text), one, f"{config.architecture}: of one text of {config.max_tokens} tokens"
    )
    return made


def _reads(config: PairsConfig) -> tuple[str, ...]:
    return (IMAGE, config.caption)


def _files(config: PairsConfig) -> tuple[str, ...]:
    return tokenizer_files(config.tokenizer)


def _depends(config: PairsConfig) -> tuple[str, ...]:
    packages = ("torch", *tokenizer_packages(config.tokenizer))
    return (*versions(*packages), *function_identity(config.architecture))


TASK = TaskKind(
    name=NAME,
    version=2,
    summary="Images with captions: the contrastive loss of a declared batch under two encoders.",
    config=PairsConfig,
    load=_load,
    reads=_reads,
    files=_files,
    depends=_depends,
    resource="model",
    adapts=True,
    batched=True,
)
