"""Train a model of the next byte with weighted batches of texts: uniform, Grad-Mimic (arXiv 2501.06708), GraNd, Rho.

Adagrad (Duchi et al., 2011) on the rows that a batch hits: others have no gradient and stay unchanged, so the cost of a
step depends on its texts, not on the table's size. It is PyTorch's, except that weight decay is AdamW's, for the rows
hit. Rates of about 0.1 suit it: a weight's first step is as long as the rate.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.linear.byte_kernels import BYTES, LANES, measure, update
from winnow.scoring.linear.features import Integers
from winnow.scoring.linear.next_bytes import (
    BIAS,
    NAMES,
    NO_WEIGHTS,
    WEIGHT,
    byte_losses,
    byte_shapes,
    initial_bytes,
    single,
)
from winnow.scoring.linear.parameters import require_weights
from winnow.scoring.linear.schedule import Watch, in_batch, schedule_of, stepped
from winnow.scoring.linear.windows import Windows, chosen_windows
from winnow.scoring.mimic.direction import chosen_parameters
from winnow.scoring.protocol import Checkpoint, Floats, TrainingSettings, Weights

_EPSILON = np.float32(1e-10)  # PyTorch's
_TEXTS = 32  # whose rows are added up at once: some 32 MiB by default
_MAX_WINDOWS = 1 << 20  # of a batch: each takes 1 KiB


def train_bytes(
    windows: Windows,
    buckets: int,
    settings: TrainingSettings,
    reference: Weights | None = None,
    start: Checkpoint | None = None,
    watch: Watch | None = None,
) -> Iterator[Checkpoint]:
    """Train a model of the next byte, yielding the checkpoints to keep, the last at the end.

    The same texts in the same order give the same weights; training resumed from a checkpoint gives the same result as
    training without interruption.

    Args:
        windows: Of the texts, at least one each.
        buckets: Rows of the table.
        settings: How to train.
        reference: The weights that scores point to, or whose losses are subtracted; for `mimic` and `rho`.
        start: The checkpoint to resume from.
        watch: Called with the weight of each text.

    Raises:
        ScoreError: There is nothing to train on, a checkpoint belongs to another model, or training diverged.
    """
    schedule = schedule_of(len(windows), settings, reference)
    texts, most = min(settings.batch, len(windows)), int(np.diff(windows.offsets).max())
    if texts * most > _MAX_WINDOWS:
        raise ScoreError(
            f"a batch of {texts:,} texts of up to {most:,} positions: at most {_MAX_WINDOWS:,} positions in all;"
            " lower batch or max_positions"
        )
    training = _Training(windows, buckets, settings, reference, start)
    yield from stepped(training, schedule, start, watch)


def byte_gradient(weights: Weights, windows: Windows, parameters: Sequence[str]) -> Weights:
    """The gradient of the mean loss of texts by the parameters that globs choose."""
    at = single(weights)
    found = {name: np.zeros(one.shape, np.float32) for name, one in at.items()}
    for first in range(0, len(windows), _TEXTS):
        some = chosen_windows(windows, np.arange(first, min(first + _TEXTS, len(windows))))
        hits, residuals = _kept(some)
        losses, gains, squares = np.zeros((3, len(some)))
        measure(
            some.content, some.offsets, at[WEIGHT], at[BIAS], NO_WEIGHTS[WEIGHT], NO_WEIGHTS[BIAS], False, False,
            False, True, hits, residuals, losses, gains, squares,
        )  # fmt: skip
        counts = np.diff(some.offsets)
        residuals /= (np.repeat(counts, counts) * len(windows)).astype(np.float32)[:, None]
        found[BIAS] += residuals.sum(0, dtype=np.float64).astype(np.float32)
        order = np.argsort(hits.reshape(-1), kind="stable")
        rows = hits.reshape(-1)[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        found[WEIGHT][rows[starts]] += np.add.reduceat(residuals[order // hits.shape[1]], starts)
    return {name: found[name] for name in chosen_parameters(NAMES, parameters)}


def _kept(windows: Windows) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Room for the rows and residuals of all windows."""
    count = len(windows.content)
    return np.empty((count, windows.content.shape[1] - 1), np.int64), np.empty((count, BYTES), np.float32)


class _Training:
    """The state of a training."""

    def __init__(
        self,
        windows: Windows,
        buckets: int,
        settings: TrainingSettings,
        reference: Weights | None,
        start: Checkpoint | None,
    ) -> None:
        shapes = byte_shapes(buckets)
        names = chosen_parameters(NAMES, settings.parameters)
        self._windows, self._settings, self.steps = windows, settings, 0
        self._counts = WEIGHT in names, BIAS in names
        self._weights = single(initial_bytes(buckets))
        self._squares = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        if start is not None:
            require_weights(start.weights, shapes, "the checkpoint")
            self.steps = start.step
            self._weights = {name: array.copy() for name, array in single(start.weights).items()}
        if start is not None and (start.state or start.step):  # else it is a beginning
            state = {f"{name}.squares": shape for name, shape in shapes.items()}
            require_weights(start.state, state, "the checkpoint's state")
            self._squares = {name: np.array(start.state[f"{name}.squares"], np.float32) for name in NAMES}
        self._towards, self._distances = NO_WEIGHTS, np.zeros(buckets)
        if reference is not None:
            require_weights(reference, shapes, "the reference")
        if settings.method == "mimic" and reference is not None:
            self._towards = single(reference)
            away = self._towards[WEIGHT] - self._weights[WEIGHT]
            lanes = (away * away).reshape(buckets, -1, LANES).sum(axis=1)  # in the order of `update`
            self._distances = np.add.accumulate(lanes, axis=1, dtype=np.float64)[:, -1].copy()
        if settings.method == "rho" and reference is not None:
            self._reference_losses = byte_losses(reference, windows)
        self._gradient = np.zeros(shapes[WEIGHT], np.float32)  # rows that are not hit are never read
        self._seen = np.full(buckets, -1, np.int64)

    def advance(self, which: Integers) -> Floats:
        """Take one step; returns the weight of each text."""
        batch, settings = chosen_windows(self._windows, which), self._settings
        hits, residuals = _kept(batch)
        losses, gains, squares = np.zeros((3, len(which)))
        measure(
            batch.content, batch.offsets, self._weights[WEIGHT], self._weights[BIAS],
            self._towards[WEIGHT], self._towards[BIAS], *self._counts, settings.method == "grand", True,
            hits, residuals, losses, gains, squares,
        )  # fmt: skip
        values = losses
        if settings.method == "mimic":
            length = self._length()
            values = gains / length if length > 0 else gains
        elif settings.method == "rho":
            values = losses - self._reference_losses[which]
        elif settings.method == "grand":
            values = np.sqrt(squares)
        weighed = in_batch(settings.method, values, settings.temperature)
        per_window = 1 / np.diff(batch.offsets)
        plain = np.full(len(which), 1 / len(which))
        of_weight, of_bias = (
            ((weighed if counts else plain) * per_window).astype(np.float32) for counts in self._counts
        )
        update(
            hits, residuals, batch.offsets, of_weight, of_bias, self._gradient, self._seen, self.steps,
            self._weights[WEIGHT], self._squares[WEIGHT], self._weights[BIAS], self._squares[BIAS],
            self._towards[WEIGHT], self._distances, np.float32(settings.learning_rate),
            np.float32(1 - settings.learning_rate * settings.weight_decay), _EPSILON,
        )  # fmt: skip
        self.steps += 1
        return weighed

    def _length(self) -> float:
        """The distance to the reference, over the parameters that count."""
        weight, bias = self._counts
        found = float(self._distances.sum()) if weight else 0.0
        if bias:
            found += float(np.square(self._towards[BIAS] - self._weights[BIAS], dtype=np.float64).sum())
        return float(np.sqrt(found))

    def checkpoint(self) -> Checkpoint:
        """The full state of training."""
        weights = {name: array.copy() for name, array in self._weights.items()}
        return Checkpoint(self.steps, weights, {f"{name}.squares": one.copy() for name, one in self._squares.items()})
