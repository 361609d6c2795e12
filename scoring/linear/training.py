"""Train a softmax head with weighted batches: uniform, Grad-Mimic (arXiv 2501.06708), GraNd, Rho.

A step is a few numpy calls: the reference's logits of all samples are computed once, and the direction towards it is a
difference of logits, so that a Grad-Mimic step costs hardly more than a plain one. AdamW is PyTorch's, operation by
operation, over every weight, including those of features that a batch lacks.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from winnow.schemas.kernels import arithmetic
from winnow.scoring.linear.features import (
    Features,
    Integers,
    Real,
    Sparse,
    kind_of,
    products,
    rows_of,
    sparse_products,
    squared_norms,
    width_of,
)
from winnow.scoring.linear.head import (
    BIAS,
    NAMES,
    WEIGHT,
    counted,
    head_losses,
    head_shapes,
    initial_head,
    require_labels,
)
from winnow.scoring.linear.parameters import require_weights
from winnow.scoring.linear.schedule import Watch, in_batch, schedule_of, stepped
from winnow.scoring.linear.softmax import residuals
from winnow.scoring.mimic.direction import chosen_parameters
from winnow.scoring.protocol import Checkpoint, Floats, TrainingSettings, Weights

_BETAS = (0.9, 0.999)  # PyTorch's
_EPSILON = 1e-8
_FIRST, _SECOND = "first", "second"  # moments


def train_head(
    features: Features,
    labels: Integers,
    classes: int,
    settings: TrainingSettings,
    reference: Weights | None = None,
    start: Checkpoint | None = None,
    watch: Watch | None = None,
) -> Iterator[Checkpoint]:
    """Train a head, yielding the checkpoints to keep, the last at the end.

    The same samples in the same order give the same weights; training resumed from a checkpoint gives the same result
    as training without interruption.

    Args:
        features: The features of the samples.
        labels: The class of each, from 0.
        classes: The number of classes.
        settings: How to train.
        reference: The weights that scores point to, or whose losses are subtracted; for `mimic` and `rho`.
        start: The checkpoint to resume from.
        watch: Called with the weight of each sample.

    Raises:
        ScoreError: There is nothing to train on, a checkpoint belongs to another model, or training diverged.
    """
    schedule = schedule_of(len(labels), settings, reference)
    require_labels(labels, classes)
    training = _Training(features, labels, classes, settings, reference)
    if start is not None:
        training.restore(start)
    yield from stepped(training, schedule, start, watch)


def head_gradient(weights: Weights, features: Features, labels: Integers, parameters: Sequence[str]) -> Weights:
    """The gradient of the mean loss of samples by the parameters that globs choose."""
    kind = kind_of(features)
    made = products(features, np.asarray(weights[WEIGHT], kind))
    errors = np.empty_like(made)
    residuals(made, np.asarray(weights[BIAS], kind), labels, errors, *np.empty((2, len(labels))))
    errors /= len(labels)
    if isinstance(features, Sparse):
        spread = np.zeros((features.width, made.shape[1]), kind)
        _spread(features.indices, features.values, features.offsets, errors, spread)
        found = {WEIGHT: np.ascontiguousarray(spread.T), BIAS: errors.sum(0)}
    else:
        found = {WEIGHT: errors.T @ features, BIAS: errors.sum(0)}
    return {name: found[name] for name in chosen_parameters(NAMES, parameters)}


class _Training:
    """The state of a training. Weights of sparse features are stored with all classes of a feature together."""

    def __init__(
        self, features: Features, labels: Integers, classes: int, settings: TrainingSettings, reference: Weights | None
    ) -> None:
        self._features, self._labels, self._settings, self.steps = features, labels, settings, 0
        self._sparse, self._kind = isinstance(features, Sparse), kind_of(features)
        self._shapes = head_shapes(classes, width_of(features))
        self._counted = counted(settings.parameters)
        fresh = initial_head(classes, width_of(features), settings.seed)
        self._weight, self._bias = self._laid(fresh[WEIGHT]), fresh[BIAS].astype(self._kind)
        self._moments = {
            (name, moment): np.zeros_like(value)
            for name, value in ((WEIGHT, self._weight), (BIAS, self._bias))
            for moment in (_FIRST, _SECOND)
        }
        self._towards = self._towards_bias = self._logits = np.zeros((0, 0), self._kind)
        if reference is not None:
            require_weights(reference, self._shapes, "the reference")
        if settings.method == "mimic" and reference is not None:
            self._towards, self._towards_bias = self._laid(reference[WEIGHT]), reference[BIAS].astype(self._kind)
            self._logits = products(features, np.asarray(reference[WEIGHT], self._kind))
        if settings.method == "rho" and reference is not None:
            self._reference_losses = head_losses(reference, features, labels)
        if settings.method == "grand":
            self._squares = squared_norms(features) if self._counted.weight else np.zeros(len(labels))

    @np.errstate(over="ignore", invalid="ignore")  # divergence is detected before a checkpoint is kept
    def advance(self, which: Integers) -> Floats:
        """Take one step; returns the weight of each sample."""
        batch, labels = rows_of(self._features, which), self._labels[which]
        made = self._products(batch)
        errors = np.empty_like(made)
        losses, squares = np.empty((2, len(which)))
        residuals(made, self._bias, labels, errors, losses, squares)
        weighed = in_batch(self._settings.method, self._values(which, made, errors, losses, squares),
                           self._settings.temperature)  # fmt: skip
        plain = np.full(len(which), 1 / len(which))
        self.steps += 1
        of_weight = errors * (weighed if self._counted.weight else plain)[:, None].astype(self._kind)
        of_bias = errors * (weighed if self._counted.bias else plain)[:, None].astype(self._kind)
        self._move(WEIGHT, self._weight, self._gradient(batch, of_weight))
        self._move(BIAS, self._bias, of_bias.sum(0))
        return weighed

    def _values(self, which: Integers, made: Real, errors: Real, losses: Floats, squares: Floats) -> Floats:
        method, counts = self._settings.method, self._counted
        if method == "grand":
            return np.sqrt(squares * (self._squares[which] + counts.bias))
        if method == "rho":
            return losses - self._reference_losses[which]
        if method == "uniform":
            return losses
        gains, length = np.zeros(len(which)), 0.0
        if counts.weight:
            gains -= np.einsum("ij,ij->i", errors, self._logits[which] - made)
            away = (self._towards - self._weight).reshape(-1)
            length += float(np.dot(away, away))
        if counts.bias:
            away = self._towards_bias - self._bias
            gains -= errors @ away
            length += float(np.dot(away, away))
        return gains / np.sqrt(length) if length > 0 else gains

    def _products(self, batch: Features) -> Real:
        if not isinstance(batch, Sparse):
            found: Real = batch @ self._weight.T
            return found
        found = np.empty((len(batch), len(self._bias)), self._kind)
        sparse_products(batch.indices, batch.values, batch.offsets, self._weight, found)
        return found

    def _gradient(self, batch: Features, errors: Real) -> Real:
        if not isinstance(batch, Sparse):
            found: Real = errors.T @ batch
            return found
        found = np.zeros_like(self._weight)
        _spread(batch.indices, batch.values, batch.offsets, errors, found)
        return found

    def _move(self, name: str, value: Real, gradient: Real) -> None:
        kind, settings = self._kind.type, self._settings
        corrected = [1 - beta**self.steps for beta in _BETAS]
        adamw(
            value.reshape(-1), gradient.reshape(-1),
            self._moments[name, _FIRST].reshape(-1), self._moments[name, _SECOND].reshape(-1),
            kind(1 - settings.learning_rate * settings.weight_decay), kind(settings.learning_rate / corrected[0]),
            kind(np.sqrt(corrected[1])), kind(1 - _BETAS[0]), kind(_BETAS[1]), kind(1 - _BETAS[1]), kind(_EPSILON),
        )  # fmt: skip

    def _laid(self, weight: Real) -> Real:
        """A copy of a head's weight in this layout, or back."""
        return np.array(weight.T if self._sparse else weight, self._kind, order="C")

    def checkpoint(self) -> Checkpoint:
        """The full state of training."""
        state = {
            f"{name}.{moment}": self._laid(value) if name == WEIGHT else value.copy()
            for (name, moment), value in self._moments.items()
        }
        return Checkpoint(self.steps, {WEIGHT: self._laid(self._weight), BIAS: self._bias.copy()}, state)

    def restore(self, start: Checkpoint) -> None:
        """Resume from a checkpoint; ScoreError if it belongs to another model."""
        require_weights(start.weights, self._shapes, "the checkpoint")
        self.steps = start.step
        self._weight, self._bias = self._laid(start.weights[WEIGHT]), np.array(start.weights[BIAS], self._kind)
        if not (start.state or start.step):
            return  # a beginning
        shapes = {f"{name}.{moment}": self._shapes[name] for name, moment in self._moments}
        require_weights(start.state, shapes, "the checkpoint's state")
        for name, moment in self._moments:
            kept = start.state[f"{name}.{moment}"]
            self._moments[name, moment] = self._laid(kept) if name == WEIGHT else np.array(kept, self._kind)


@arithmetic
def adamw(value, gradient, first, second, kept, rate, root, one_less, beta, beta_less, epsilon):  # type: ignore[no-untyped-def]
    """One step of AdamW, in PyTorch's order of operations."""
    for at in range(len(value)):
        slope = gradient[at]
        first[at] += one_less * (slope - first[at])
        second[at] = beta * second[at] + beta_less * slope * slope
        value[at] = value[at] * kept - rate * (first[at] / (np.sqrt(second[at]) / root + epsilon))


@arithmetic
def _spread(indices, values, offsets, errors, found):  # type: ignore[no-untyped-def]
    """Add each row's features to the gradient of a table."""
    for row in range(len(offsets) - 1):
        for place in range(offsets[row], offsets[row + 1]):
            at, value = indices[place], values[place]
            for one in range(errors.shape[1]):
                found[at, one] += value * errors[row, one]
