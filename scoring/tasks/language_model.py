"""Task `language_model`: the mean loss of a text's tokens under a causal language model.

Rows give `text`. Tokens are bytes of UTF-8, or those of a `tokenizer.json`; the model is a small decoder of winnow's
own, or a PyTorch module that a function of the user's makes, from texts × tokens to texts × tokens × vocabulary (or an
object whose `logits` are that); the vocabulary may be larger than the tokenizer's. The model must be causal, which is
checked before any text is read, as short texts are padded at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal

import numpy as np
import pyarrow as pa

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import LATER, Between
from winnow.scoring.mimic.models import Batch, Parameters, SampleModel
from winnow.scoring.probe.grid import Shape
from winnow.scoring.probe.model import initial_parameters, logits
from winnow.scoring.protocol import (
    NO_INPUT,
    OK,
    TEXT,
    TOO_LONG,
    UNREADABLE,
    Checkpoint,
    Encoded,
    Files,
    Floats,
    Scorers,
    TaskKind,
    TrainingSettings,
    Weights,
    with_loss,
)
from winnow.scoring.torch_models.base import BatchFunction, TorchScorers, TorchTask
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.examples import Examples, Indices, Ragged
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.networks import Network, network_of, output_shape, require_causal
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.runtime import TorchRuntime, at_least_float32
from winnow.scoring.torch_models.tokens import (
    BYTES,
    Tokenizer,
    cut_to,
    tokenizer_files,
    tokenizer_of,
    tokenizer_packages,
)
from winnow.scoring.torch_models.vision import shapes_of

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

NAME: Final = "language_model"
_ROUNDING: Final = 1e-9  # of a share of tokens: .6 of 5 is 3
_LEAST: Final = 32
"""The minimum width of a batch of short texts, in tokens."""


@dataclass(frozen=True, slots=True)
class LanguageModelConfig:
    """The tokenizer and the model."""

    tokenizer: str = BYTES  # winnow's: no file is needed; or the path of a tokenizer.json
    start: str = "end"
    """winnow's: the token that stands before a text, `end` of bytes as in the probe's training. Empty: none, and a
    text's first token is not predicted."""
    architecture: str = "decoder"  # winnow's small one; or `module:function` of the user's
    network: Size = field(default_factory=Size)  # of the small one
    max_tokens: Annotated[int, Between(1, 1 << 20)] = 512  # winnow's: what a small model learns from
    longer: Literal["cut", "refuse", "mean", "max"] = "cut"
    """winnow's: the beginning of a long text is scored; or all of its windows of `max_tokens`, and the text has the
    mean over its tokens, or the values of the window with the largest loss. Trainings read the first window."""
    packed: bool = field(default=False, metadata=LATER)
    """winnow's: no, which user's modules can do as well; whether texts are computed end to end, without what fills them
    up to one length."""
    max_bytes: Annotated[int, Between(1, 1 << 26)] = 65_536  # as text.safety_model: read of each text
    running: TorchRuntime = field(default_factory=TorchRuntime)  # where it computes


class LanguageModel(TorchTask):
    """Texts."""

    name = NAME

    def __init__(self, config: LanguageModelConfig, network: Network, tokenizer: Tokenizer) -> None:
        self._config, self._tokenizer = config, tokenizer
        self._start = [tokenizer.number(config.start)] if config.start else []
        self._width = config.max_tokens + len(self._start)
        if self._width < 2 and config.longer in ("mean", "max"):
            raise ScoreError(
                "`max_tokens`: windows of one token have none to predict; expected 2 or more, or a `start`"
            )
        self._windowed: tuple[Examples, Examples, Indices] | None = None  # texts, their windows, and whose each is
        super().__init__(network, config.running, SampleModel(self._losses))

    @property
    def reads(self) -> tuple[str, ...]:
        """The text."""
        return (TEXT,)

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read rows with a text that has at least one token to predict."""
        most = self._config.max_tokens if self._config.longer in ("cut", "refuse") else None
        status = np.full(rows.num_rows, OK, object)
        found, texts, whole = [], [], []
        for text in rows[TEXT].to_pylist():
            cut, all_of_it = cut_to(text or "", self._config.max_bytes)
            texts.append(cut)
            whole.append(all_of_it)
        for place, tokens in enumerate(self._tokenizer.of(texts)):  # not hot: each of these rows is run through a model
            if tokens is None:
                status[place] = UNREADABLE
            elif len(self._start) + len(tokens) < 2:
                status[place] = NO_INPUT
            elif self._config.longer == "refuse" and (len(tokens) > self._config.max_tokens or not whole[place]):
                status[place] = TOO_LONG
            else:
                found.append(np.concatenate([np.array(self._start, np.int32), tokens[:most]]))
        return Encoded(status, Examples(len(found), tokens=Ragged.of(found)), len(found))

    def groups(self, examples: Examples) -> list[Indices]:
        """Group texts of similar length, to compute little padding."""
        widths = self._widths(_lengths(examples))
        return [np.flatnonzero(widths == width) for width in np.unique(widths)]

    def batch(self, examples: Examples) -> Batch:
        """Tokens, padded with zeros, and the number of real ones in each row."""
        import torch

        assert examples.tokens is not None
        lengths = _lengths(examples)
        width = int(self._widths(lengths).max(initial=0))
        return torch.from_numpy(examples.tokens.padded(width)), torch.from_numpy(lengths)

    def _widths(self, lengths: Indices) -> Indices:
        """The next of 32, 48, 64, 96, 128, … tokens to predict: few widths with little padding."""
        power = 2 ** np.ceil(np.log2(np.maximum(lengths - 1, _LEAST))).astype(np.int64)
        between = power * 3 // 4
        rounded = np.where((lengths - 1 <= between) & (power > _LEAST), between, power) + 1
        most: Indices = np.minimum(rounded, self._width)
        return most

    def _outputs(self, examples: Examples, say: BatchFunction, columns: int) -> tuple[Floats, ...]:
        if self._config.longer in ("cut", "refuse") or not examples.count:
            return super()._outputs(examples, say, columns)
        windows, of = self._windows(examples)
        found = super()._outputs(windows, say, columns)
        if self._config.longer == "max":
            return tuple(column[_largest(found[place // 2 * 2], of)] for place, column in enumerate(found))
        tokens = _lengths(windows) - 1
        return tuple(np.bincount(of, column * tokens) / np.bincount(of, tokens) for column in found)

    def _windows(self, examples: Examples) -> tuple[Examples, Indices]:
        """The windows of texts, and whose each is; the same object for the same texts."""
        if self._windowed is None or self._windowed[0] is not examples:
            assert examples.tokens is not None
            tokens, of = examples.tokens.windows(self._width)
            self._windowed = examples, Examples(len(of), tokens=tokens), of
        return self._windowed[1:]

    def train(
        self,
        examples: Examples,
        count: int,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> Iterator[Checkpoint]:
        """Train on the first window of each text; see `Task`."""
        if examples.count and int(_lengths(examples).max()) > self._width:
            windows, of = self._windows(examples)
            examples = windows.chosen(np.flatnonzero(np.diff(of, prepend=-1)))
        return super().train(examples, count, settings, reference, start)

    def gradient(self, weights: Weights, examples: Examples, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean loss of texts; see `Task`."""
        if self._config.longer in ("cut", "refuse"):
            return super().gradient(weights, examples, parameters)
        examples = examples.chosen(with_loss(self.losses(weights, examples)))
        windows, of = self._windows(examples)
        shares = (_lengths(windows) - 1).astype(np.float64)
        if self._config.longer == "max":
            placed = self._placed(weights)
            (losses,) = super()._outputs(windows, lambda batch: (self._losses_of(placed, batch),), 1)
            largest = _largest(losses, of)
            shares = np.isin(np.arange(len(of)), largest).astype(np.float64)
        return self._gradient(weights, windows, shares / np.bincount(of, shares)[of] / examples.count, parameters)

    def token_rho(
        self, scorers: Scorers, reference: Weights, share: float, count: int
    ) -> Callable[[Examples], tuple[Floats, ...]]:
        """Rho-1's measure at each of the first weights of scorers, of each window by itself; see `TokenWise`."""
        assert isinstance(scorers, TorchScorers)
        known, at = self._placed(reference), [one.weights for one in scorers.each[:count]]

        def numbers(part: Batch) -> "Tensor":
            import torch

            counts, expected = part[1] - 1, self._token_losses(known, part)
            found = []
            for weights in at:
                losses = self._token_losses(weights, part)
                found += [losses.sum(1) / counts, _mean_of_largest(losses - expected, counts, share)]
            return torch.stack(found, 1)

        def say(batch: Batch) -> Sequence[Floats]:
            return list(self._numbers_of(batch, numbers).T)

        return lambda examples: self._outputs(examples, say, 2 * len(at))[1::2]

    def _losses(self, weights: Parameters, batch: Batch) -> "Tensor":
        return self._token_losses(weights, batch).sum(1) / (batch[1] - 1)

    def _token_losses(self, weights: Parameters, batch: Batch) -> "Tensor":
        """The loss of each token that is predicted; zeros after a text's end."""
        import torch

        tokens, lengths = batch
        targets = tokens[:, 1:]
        real = torch.arange(targets.shape[1], device=tokens.device) < (lengths - 1)[:, None]
        if self._config.packed:
            said = at_least_float32(self.network.forward(dict(weights), tokens[:, :-1], real))
            each = torch.nn.functional.cross_entropy(said, targets[real], reduction="none")
            where = real.flatten().nonzero().squeeze(1)
            return each.new_zeros(real.numel()).index_copy(0, where, each).view(real.shape)
        said = at_least_float32(self.network.forward(dict(weights), tokens[:, :-1]))
        each = torch.nn.functional.cross_entropy(said.flatten(0, 1), targets.flatten(), reduction="none")
        return torch.where(real, each.view(targets.shape), torch.zeros_like(targets, dtype=each.dtype))


def _mean_of_largest(values: "Tensor", counts: "Tensor", share: float) -> "Tensor":
    """The mean of the largest of the first so many values of each row: of a share of them, rounded up."""
    import torch

    places = torch.arange(values.shape[1], device=values.device)
    ordered = values.masked_fill(places >= counts[:, None], -torch.inf).sort(1, descending=True).values
    most = (share * counts.double() - _ROUNDING).ceil().clamp(min=1)
    return ordered.masked_fill(places >= most[:, None], 0.0).sum(1) / most.to(values.dtype)


def _largest(losses: Floats, of: Indices) -> Indices:
    """The window of each text with the largest loss; one without a loss, if there is one."""
    order = np.lexsort((-np.where(np.isnan(losses), np.inf, losses), of))
    return order[np.flatnonzero(np.diff(of[order], prepend=-1))]


def _lengths(examples: Examples) -> Indices:
    assert examples.tokens is not None
    return examples.tokens.lengths


def _load(config: LanguageModelConfig, files: Files) -> LanguageModel:
    config.running.ready(NAME)
    path = config.tokenizer if config.tokenizer == BYTES else files.path(config.tokenizer)
    tokenizer = tokenizer_of(NAME, path)
    return LanguageModel(config, _network(config, tokenizer.size), tokenizer)


def _network(config: LanguageModelConfig, vocabulary: int) -> Network:
    if config.architecture == "decoder":
        return decoder(config.network, vocabulary, config.max_tokens)
    if config.packed:
        raise ScoreError(
            f"`packed` is for the architecture decoder; {config.architecture} gets texts that are filled up to one "
            "length: remove `packed`"
        )
    import torch

    made = network_of(config.architecture, config.running)
    length = config.max_tokens
    text = torch.zeros(1, length, dtype=torch.int64, device=config.running.device)
    expected = (1, length, vocabulary)
    what = f"{config.architecture}: of one text of {length} tokens"
    output_shape(
        made, config.running, (text,), expected, what, or_more=True
    )  # vocabularies are often padded to round numbers
    require_causal(made, config.running, vocabulary, length)
    return made


def _depends(config: LanguageModelConfig) -> tuple[str, ...]:
    packages = ("torch", *tokenizer_packages(config.tokenizer))
    return (*versions(*packages), *function_identity(config.architecture))


def decoder(size: Size, vocabulary: int, context: int) -> Network:
    """A network that predicts the next token at each position."""
    shape = Shape(layers=size.layers, width=size.width, heads=size.heads)

    def initial(seed: int) -> "dict[str, Tensor]":
        return {name: value.detach() for name, value in initial_parameters(shape, vocabulary, context, seed).items()}

    def forward(parameters: "dict[str, Tensor]", tokens: "Tensor", real: "Tensor | None" = None) -> "Tensor":
        return logits(parameters, shape, tokens, real)

    return Network(initial, forward, shapes_of(initial(0)))


TASK = TaskKind(
    name=NAME,
    version=1,
    summary="Texts: the mean loss of a text's tokens under a causal language model.",
    config=LanguageModelConfig,
    load=_load,
    reads=lambda _config: (TEXT,),
    files=lambda config: tokenizer_files(config.tokenizer),
    depends=_depends,
    resource="model",
    adapts=True,
    tokens=True,
)
