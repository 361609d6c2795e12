"""Task `pairs`: the contrastive loss of images with captions under two encoders.

Rows give a picture in `image` and a caption in another column. The loss of a pair is the mean of two
cross-entropies, of its caption among many captions given its image and the other way round, as CLIP is trained (arXiv
2103.00020). In training the others are those of its batch. When rows are scored they are companions, `batch` rows with
the smallest hashes of ids: the same for every row, so that losses of different rows can be compared, and that a row's
loss does not depend on which rows are read with it. A companion with the row's own picture or caption is left out, and
the last one for a row without such a companion.

An image or caption whose embedding is NaN or nearly zero has no loss, and is no companion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.schemas.identity import digest
from winnow.schemas.recipe.checks import LATER, Between
from winnow.scoring.mimic.models import Batch, BatchModel, Parameters
from winnow.scoring.protocol import (
    IMAGE,
    NO_INPUT,
    OK,
    TEXT,
    TOO_LONG,
    UNREADABLE,
    Encoded,
    Files,
    Floats,
    PictureFit,
    Scored,
    Scorer,
    Scorers,
    TaskKind,
    Weights,
    references_of,
)
from winnow.scoring.tasks.labels import is_text
from winnow.scoring.torch_models.base import TorchTask
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.examples import Examples, Indices, Ragged
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.layouts import (
    LAYOUT_PACKAGES,
    Layout,
    laid_out_tokenizer,
    layout_files,
    named_layout,
    read_layout,
)
from winnow.scoring.torch_models.networks import Network, network_of, output_shape
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.pair_towers import IMAGE_TOWER, SCALE, TEXT_TOWER, towers
from winnow.scoring.torch_models.pictures import require_room, squares_of
from winnow.scoring.torch_models.runtime import TorchRuntime, at_least_float32, exclusive_torch, kind_of
from winnow.scoring.torch_models.tokens import (
    BYTES,
    CLIP,
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
    layout: str | Layout = field(default="", metadata=LATER)
    """winnow's: what the keys here say, of pictures that are stretched. Or how published encoders read pictures and
    captions: a name, the path of an open_clip_config.json, or a mapping; keys here that differ from their defaults come
    before it."""
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
    running: TorchRuntime = field(default_factory=TorchRuntime)  # where it computes


class Pairs(TorchTask):
    """Images with captions."""

    name = NAME

    def __init__(self, config: PairsConfig, layout: Layout, network: Network, tokenizer: Tokenizer) -> None:
        self._config, self._layout, self._tokenizer = config, layout, tokenizer
        given = (("start", layout.start), ("end", layout.end))
        self._start, self._end = ([tokenizer.number(one, key)] if one else [] for key, one in given)
        self._pad = tokenizer.number(layout.pad, "pad") if layout.pad else 0
        if layout.max_tokens <= len(self._start) + len(self._end):
            raise ScoreError(
                f"`max_tokens`: {layout.max_tokens} leaves no room for text between `start` and `end`; expected "
                f"{len(self._start) + len(self._end) + 1} or more"
            )
        super().__init__(network, config.running, BatchModel(self._embedded, self._contrasted))

    @property
    def reads(self) -> tuple[str, ...]:
        """The image and its caption."""
        return _reads(self._config)

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads."""
        return self._layout.size

    @property
    def fit(self) -> PictureFit:
        """How its pictures become squares."""
        return self._layout.fit

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read rows with a caption and a picture."""
        captions, reasons = self._tokens(captions_of(rows[self._config.caption], self._config.caption))
        wanted = np.array([reason == OK for reason in reasons], bool)
        status, pixels = squares_of(rows[IMAGE], wanted, self._layout.size)
        status = np.where((status == OK) & ~wanted, np.array(reasons, object), status)
        tokens = Ragged.of([captions[int(place)] for place in np.flatnonzero(status == OK)])
        return Encoded(status, Examples(len(pixels), pixels, tokens), len(pixels))

    def _tokens(self, texts: list[str | None]) -> tuple[list[Tokens], list[str]]:
        """The tokens of each caption, and a status that says why there are none."""
        config, room = self._config, self._layout.max_tokens - len(self._start) - len(self._end)
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

    def mismatched(self, examples: Examples) -> tuple[Examples, NDArray[np.bool_]]:
        """Give each example the caption of the one before it, and say which ones that changes."""
        assert examples.tokens is not None
        own = [examples.tokens.one(place) for place in range(examples.count)]
        others = [own[place - 1] for place in range(examples.count)]
        changed = [not np.array_equal(*both) for both in zip(own, others, strict=True)]
        return replace(examples, tokens=Ragged.of(others)), np.array(changed, np.bool_)

    @property
    def companion_count(self) -> int:
        """The number of companions to choose."""
        return self._config.batch

    def companions(self, examples: Examples) -> Weights:
        """Arrays with these examples, to be stored."""
        assert examples.pixels is not None
        assert examples.tokens is not None
        return {"pixels": examples.pixels, "tokens": examples.tokens.values, "ends": examples.tokens.ends}

    def among(self, companions: Weights) -> "PairsAmong":
        """The task whose losses contrast rows with these companions."""
        tokens = Ragged(companions["tokens"], companions["ends"])
        examples = Examples(len(tokens.ends), companions["pixels"], tokens)
        return PairsAmong(self._config, self._layout, self.network, self._tokenizer, examples)

    def alignments(self, weights: Weights, examples: Examples) -> Floats:
        """The cosine of each picture and its caption; NaN if undefined."""
        parameters = self._placed(weights)

        def cosines(part: Batch) -> "Tensor":
            images, texts = self._embedded(parameters, part)
            return (images * texts).sum(1)

        return self._outputs(examples, lambda batch: (self._numbers_of(batch, cosines),), 1)[0]

    def batch(self, examples: Examples) -> Batch:
        """Pixels as bytes; tokens, filled up, and the number of real ones in each row."""
        import torch

        assert examples.pixels is not None
        assert examples.tokens is not None
        tokens = torch.from_numpy(examples.tokens.padded(self._layout.max_tokens, self._pad))
        return torch.from_numpy(examples.pixels), tokens, torch.from_numpy(examples.tokens.lengths)

    def _embedded(self, weights: Parameters, batch: Batch) -> "tuple[Tensor, ...]":
        pixels, tokens, lengths, *_ = batch
        given = normalised(pixels, self._layout.mean, self._layout.deviation, kind_of(weights))
        texts = (tokens, lengths) if self._config.architecture == "towers" else (tokens,)
        said = (
            self.network.forward(dict(weights), IMAGE_TOWER, given),
            self.network.forward(dict(weights), TEXT_TOWER, *texts),
        )
        return tuple(_pointing(at_least_float32(one)) for one in said)

    def _contrasted(self, weights: Parameters, embedded: "tuple[Tensor, ...]") -> "Tensor":
        import torch

        images, texts = embedded
        said = self._scale(weights) * images @ texts.T
        right = torch.arange(len(said), device=said.device)
        both = [torch.nn.functional.cross_entropy(way, right, reduction="none") for way in (said, said.T)]
        return (both[0] + both[1]) / 2

    def _scale(self, weights: Parameters) -> "Tensor | float":
        return at_least_float32(weights[SCALE]).exp() if SCALE in weights else 1 / self._config.temperature


class PairsAmong(Pairs):
    """Images with captions, contrasted with the same companions each."""

    def __init__(
        self, config: PairsConfig, layout: Layout, network: Network, tokenizer: Tokenizer, companions: Examples
    ) -> None:
        super().__init__(config, layout, network, tokenizer)
        self._companions, self._count = companions, companions.count
        self._numbers: tuple[dict[bytes, int], dict[bytes, int]] = {}, {}
        for number, contents in enumerate(zip(*_contents(companions), strict=True)):
            for known, content in zip(self._numbers, contents, strict=True):
                known.setdefault(content, number)
        placed = self.running.placement.batch(self.batch(companions))
        self.model = BatchModel(self._numbered, self._contrasted_among, placed)

    def groups(self, examples: Examples) -> list[Indices]:
        """As many examples at once as there are companions at most, for memory."""
        places, size = np.arange(examples.count), self._config.batch
        return [places[start : start + size] for start in range(0, examples.count, size)]

    def batch(self, examples: Examples) -> Batch:
        """As for training, and which companions have the same picture or caption: the number of the first, or -1."""
        import torch

        numbers = [
            [known.get(content, -1) for content in contents]
            for known, contents in zip(self._numbers, _contents(examples), strict=True)
        ]
        return *super().batch(examples), torch.tensor(numbers, dtype=torch.int64).T

    def scorers(
        self,
        at: Sequence[Weights],
        reference: Weights | Sequence[Weights],
        parameters: Sequence[str],
        *,
        cosine: bool = False,
    ) -> Scorers:
        """A scorer at several weights in the direction of others; see `Task`."""
        if not cosine:
            return super().scorers(at, reference, parameters)
        each = [self._of_sound(*both, parameters) for both in zip(at, references_of(at, reference), strict=True)]
        return lambda examples: tuple(score(examples) for score in each)

    def gradient(self, weights: Weights, examples: Examples, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean loss of pairs among sound companions; see `Task`."""
        among = self._among_sound(self._placed(weights))
        return super(PairsAmong, among).gradient(weights, examples, parameters)

    def _among_sound(self, placed: Parameters) -> "PairsAmong":
        """The task among the companions with finite embeddings, as a NaN would spread to the gradients of all rows."""
        sound = self._companions.chosen(self._sound(placed, self._companions))
        return PairsAmong(self._config, self._layout, self.network, self._tokenizer, sound)

    def _of_sound(self, at: Weights, reference: Weights, parameters: Sequence[str]) -> Scorer:
        """The cosine of pairs with finite embeddings."""
        placed = self.running.placement.weights({name: at[name] for name in self.network.shapes})
        among = self._among_sound(placed)
        score = super(PairsAmong, among).scorers((at,), reference, parameters, cosine=True)

        def scored(examples: Examples) -> Scored:
            found = Scored(np.full(examples.count, np.nan), np.full(examples.count, np.nan))
            if len(which := self._sound(placed, examples)):
                (some,) = score(examples.chosen(which))
                found.loss[which], found.score[which] = some.loss, some.score
            return found

        return scored

    def _sound(self, weights: Parameters, examples: Examples) -> Indices:
        """The examples with finite embeddings."""
        import torch

        batch = self.running.placement.batch(super().batch(examples))

        def finite(part: Batch) -> "Tensor":
            return torch.cat(self._embedded(weights, part), 1).isfinite().all(1)

        with exclusive_torch(self.running.device), torch.no_grad():
            found = self._portions.run(batch, finite, finite)
        return np.flatnonzero(torch.cat(found).cpu().numpy()) if found else np.empty(0, np.int64)

    def _numbered(self, weights: Parameters, batch: Batch) -> "tuple[Tensor, ...]":
        return *self._embedded(weights, batch), batch[-1].float()  # a derivative needs floats

    def _contrasted_among(self, weights: Parameters, embedded: "tuple[Tensor, ...]") -> "Tensor":
        import torch

        others, (images, texts, numbers) = (
            tuple(one[some] for one in embedded) for some in (slice(self._count), slice(self._count, None))
        )
        left_out = ((numbers[:, None] == others[2]) & (numbers[:, None] >= 0)).any(2)  # rows × companions
        if self._count == self._config.batch:
            left_out[:, -1] |= ~left_out.any(1)
        sound = torch.cat(others[:2], 1).isfinite().all(1)
        left_out |= ~sound
        scale = self._scale(weights)
        own = scale * (images * texts).sum(1, keepdim=True)
        losses = []
        for one, many in ((images, others[1]), (texts, others[0])):
            said = scale * one @ torch.where(sound[:, None], many, 0.0).T
            losses.append(torch.cat([own, said.masked_fill(left_out, -torch.inf)], 1).logsumexp(1) - own[:, 0])
        return torch.where(left_out.all(1), torch.nan, (losses[0] + losses[1]) / 2)


def _contents(examples: Examples) -> "tuple[Iterator[bytes], Iterator[bytes]]":
    """What tells captions and pictures apart."""
    assert examples.pixels is not None
    assert examples.tokens is not None
    tokens, places = examples.tokens, range(examples.count)
    return (tokens.one(place).tobytes() for place in places), (digest(one.tobytes()) for one in examples.pixels)


def captions_of(column: pa.Array, name: str) -> list[str | None]:
    """The caption of each row: a string, or the first item of a list of strings or of
    `schemas.rows.samples.CAPTION`."""
    kind = column.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    one = kind.value_type if listed else kind
    told = listed and pa.types.is_struct(one) and one.get_field_index("text") >= 0
    one = one.field("text").type if told else one
    if not (is_text(one) or pa.types.is_null(one)):
        raise ScoreError(f"task {NAME}: caption {name} is of type {kind}; expected strings, or lists of captions")
    found: list[str | None] = column.to_pylist()
    if not listed:
        return found
    first = (next(iter(said or ()), None) for said in column.to_pylist())
    return [said["text"] if told and said is not None else said for said in first]


def _pointing(said: "Tensor") -> "Tensor":
    """Normalise to length 1; NaN for embeddings that are nearly zero, whose direction is only rounding errors."""
    import torch

    size = said.detach().square().mean(1, keepdim=True).sqrt()
    sound = (size >= _POINTS) & (size < torch.inf)
    return torch.where(sound, torch.nn.functional.normalize(said, dim=1), torch.nan)


def _load(config: PairsConfig, files: Files) -> Pairs:
    layout = read_as(NAME, config, files)
    _check_batch(config, layout)
    config.running.ready(NAME)
    tokenizer = tokenizer_of_layout(NAME, layout, files)
    return Pairs(config, layout, pair_network(config, layout, tokenizer.size), tokenizer)


def read_as(task: str, config: PairsConfig, files: Files) -> Layout:
    """What the encoders read: the recipe's keys, or a layout with the keys that differ from their defaults."""
    own = Layout(
        size=config.size,
        fit="stretch",
        mean=(config.mean,),
        deviation=(config.deviation,),
        tokenizer=config.tokenizer,
        start=config.start,
        end=config.end,
        clean="none",
        max_tokens=config.max_tokens,
    )
    if config.layout == "":
        return own
    named = named_layout(config.layout, task)
    layout = read_layout(files.path(str(config.layout))) if named is None else named
    plain = {one.name: one.default for one in fields(PairsConfig)}
    written = [one.name for one in fields(Layout) if one.name in plain and getattr(config, one.name) != plain[one.name]]
    return replace(layout, **{name: getattr(own, name) for name in written})


def tokenizer_of_layout(task: str, layout: Layout, files: Files) -> Tokenizer:
    """The tokenizer of a layout."""
    if not layout.tokenizer:
        raise ScoreError(f"{task}: `tokenizer`: each model of this layout has its own; expected its tokenizer.json")
    path = BYTES if layout.tokenizer == BYTES else files.path(layout.tokenizer)
    return tokenizer_of(task, path, layout.clean)


def files_read(config: PairsConfig) -> tuple[str, ...]:
    """The files that pictures and captions are read by."""
    if config.layout == "":
        return tokenizer_files(config.tokenizer)
    return (*tokenizer_files(laid_out_tokenizer(config.layout, config.tokenizer)), *layout_files(config.layout))


def _check_batch(config: PairsConfig, layout: Layout) -> None:
    """Raise ScoreError if the similarities of a batch exceed its memory budget."""
    require_room(NAME, layout.size, config.batch, config.running.memory_bytes)
    wide, budget = config.running.stored_dtype.itemsize, config.running.memory_bytes
    if config.batch**2 * wide > budget:
        raise ScoreError(
            f"{NAME}: `batch`: the similarities of {config.batch:,} pairs take {config.batch**2 * wide:,} bytes, more "
            f"than `memory_bytes`: {budget:,}; lower `batch` or raise `memory_bytes`"
        )


def pair_network(config: PairsConfig, layout: Layout, vocabulary: int) -> Network:
    """The two encoders, tested on an image and a text."""
    if config.architecture == "towers":
        return towers(config.network, layout.size, config.patch, vocabulary, layout.max_tokens)
    import torch

    running = config.running
    made = network_of(config.architecture, running, (IMAGE_TOWER, TEXT_TOWER))
    image = normalised(no_image(layout.size, running.device), layout.mean, layout.deviation, running.placement.dtype)
    text = torch.zeros(1, layout.max_tokens, dtype=torch.int64, device=running.device)
    one = output_shape(
        made, running, (IMAGE_TOWER, image), None, f"{config.architecture}: of one image of {layout.size} pixels a side"
    )
    output_shape(
        made, running, (TEXT_TOWER, text), one, f"{config.architecture}: of one text of {layout.max_tokens} tokens"
    )
    return made


def _reads(config: PairsConfig) -> tuple[str, ...]:
    return (IMAGE, config.caption)


def _depends(config: PairsConfig) -> tuple[str, ...]:
    packages = ("torch", *(tokenizer_packages(config.tokenizer) if config.layout == "" else LAYOUT_PACKAGES))
    return (*versions(*packages), *function_identity(config.architecture))


TASK = TaskKind(
    name=NAME,
    version=4,  # 4: a pair whose companions all have its picture or caption is `alone`
    summary="Images with captions: the contrastive loss among companions under two encoders.",
    config=PairsConfig,
    load=_load,
    reads=_reads,
    files=files_read,
    declares=(CLIP,),
    depends=_depends,
    resource="model",
    adapts=True,
    contrastive=True,
)
