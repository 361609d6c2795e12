"""Task `next_byte`: a log-linear model of the next byte, for any text and without a label. No torch.

A text's score then shows how similar its writing is to the reference's training texts. The table has 16 MiB, and a text
takes less than a millisecond. Train it with a `learning_rate` of about 0.1 (Adagrad).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.byte_training import byte_gradient, train_bytes
from winnow.scoring.linear.next_bytes import ByteScorer, byte_losses, byte_shapes, initial_bytes
from winnow.scoring.linear.parameters import require_weights
from winnow.scoring.linear.windows import Windows, chosen_windows, joined_windows, windows_of
from winnow.scoring.protocol import (
    NO_INPUT,
    OK,
    TEXT,
    Checkpoint,
    Encoded,
    Floats,
    Scorer,
    Scorers,
    TaskKind,
    TrainingSettings,
    Weights,
    references_of,
    with_loss,
)

NAME = "next_byte"

_BUCKETS = 64, 1 << 20  # the least, the most: a table of 1 GiB
_MAX_ORDERS = 16
_MAX_POSITIONS = 1 << 14


@dataclass(frozen=True, slots=True)
class NextByteConfig:
    """The size of the model and of its input."""

    buckets: int = 1 << 14  # rows of 256 weights: 16 MiB
    orders: int = 4  # contexts of 1, 2, … bytes
    max_positions: int = 256  # positions read, spread over a text


class NextByte:
    """The task with one configuration."""

    side = 0
    reads = (TEXT,)

    def __init__(self, config: NextByteConfig) -> None:
        for name, low, high in (
            ("buckets", *_BUCKETS),
            ("orders", 1, _MAX_ORDERS),
            ("max_positions", 1, _MAX_POSITIONS),
        ):
            if not low <= getattr(config, name) <= high:
                raise ScoreError(f"task {NAME}: {name} {getattr(config, name)}: expected {low:,} to {high:,}")
        self._config = config

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read the windows of texts; nothing else of them is kept."""
        found = windows_of(rows.column(TEXT), self._config.orders, self._config.max_positions)
        which = np.flatnonzero(np.diff(found.offsets))
        status = np.full(rows.num_rows, NO_INPUT, np.object_)
        status[which] = OK
        return Encoded(status, chosen_windows(found, which), len(which))

    def joined(self, parts: Sequence[Windows]) -> Windows:
        """Concatenate examples."""
        return joined_windows(parts)

    def chosen(self, examples: Windows, which: NDArray[np.int64]) -> Windows:
        """Some examples, in this order."""
        return chosen_windows(examples, which)

    def initial(self, seed: int) -> Weights:  # noqa: ARG002  # nothing is drawn
        """Untrained weights: zeros."""
        return initial_bytes(self._config.buckets)

    def check(self, weights: Weights, where: str) -> None:
        """Raise ScoreError if weights are not of this model, or not finite."""
        require_weights(weights, byte_shapes(self._config.buckets), where)

    def scorer(self, at: Weights, reference: Weights, parameters: Sequence[str], *, cosine: bool = False) -> Scorer:
        """A scorer at given weights in the direction of others."""
        return ByteScorer(at, reference, parameters, cosine=cosine)

    def scorers(
        self,
        at: Sequence[Weights],
        reference: Weights | Sequence[Weights],
        parameters: Sequence[str],
        *,
        cosine: bool = False,
    ) -> Scorers:
        """A scorer at several weights."""
        both = zip(at, references_of(at, reference), strict=True)
        each = [self.scorer(*one, parameters, cosine=cosine) for one in both]
        return lambda examples: tuple(score(examples) for score in each)

    def losses(self, weights: Weights, examples: Windows) -> Floats:
        """The mean loss of each text's bytes, in nats."""
        return byte_losses(weights, examples)

    def gradient(self, weights: Weights, examples: Windows, parameters: Sequence[str]) -> Weights:
        """The gradient of the mean loss of texts; see `Task`."""
        return byte_gradient(weights, chosen_windows(examples, with_loss(byte_losses(weights, examples))), parameters)

    def train(
        self,
        examples: Windows,
        count: int,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> Iterator[Checkpoint]:
        """Train on texts, yielding the checkpoints to keep, the last at the end."""
        if count != len(examples):
            raise ScoreError(f"task {NAME}: {len(examples):,} examples, {count:,} were announced")
        yield from train_bytes(examples, self._config.buckets, settings, reference, start)


def _training(_config: NextByteConfig) -> TrainingSettings:
    """Settings for Adagrad, which learns nothing at the paper's rate of 1e-4."""
    return TrainingSettings(epochs=5, learning_rate=0.1, weight_decay=0.0)


TASK = TaskKind(
    name=NAME,
    version=1,
    summary="a log-linear model of the next byte over hashed contexts: any text, no label",
    config=NextByteConfig,
    load=lambda config, _files: NextByte(config),
    reads=lambda _config: (TEXT,),
    training=_training,
)
