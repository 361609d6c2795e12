"""Linear probing under label noise, run by run, as the paper's code has it (arXiv 2501.06708).

Noise: so many labels, rounded down, each moved to another class. The reference is the same head trained plainly on the
clean labels, by another seed. What a run of Grad-Mimic leaves behind is each sample's weight in its batch, once an
epoch, and the heads at the ends of epochs; a rule turns either into votes, and votes say which samples are mislabelled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.mimic.embeddings import Embedded, Features
from benchmarks.mimic.images import Labels
from winnow.scoring.linear.head import BIAS, WEIGHT, HeadScorer
from winnow.scoring.linear.training import train_head
from winnow.scoring.protocol import Checkpoint, Floats, Method, TrainingSettings, Weights
from winnow.scoring.selection import (
    Aggregation,
    BinariseRule,
    KeepProbabilities,
    aggregate,
    binarise,
    kept_share,
    retained,
)
from winnow.scoring.selection.binarise import RuleName

Mask = NDArray[np.bool_]

MIMIC_LAYER: Final = (WEIGHT,)
"""The paper's: the head's weight without its bias."""
REFERENCE_SEED: Final = 123  # the paper's
RULES: Final[tuple[RuleName, ...]] = ("threshold", "kmeans", "gmm")
AGGREGATIONS: Final[tuple[Aggregation, ...]] = ("majority", "label_model")
Source = Literal["weights", "scores"]
"""What votes are drawn from: weights in batches, as the paper's code keeps them, or scores at the ends of epochs."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Labels of which some are wrong."""

    labels: Labels
    wrong: Mask


@dataclass(frozen=True, slots=True)
class Trace:
    """What a run says of its samples, an epoch a column."""

    weights: Floats
    batches: Labels  # the number of the batch that a sample was in
    scores: Floats


@dataclass(frozen=True, slots=True)
class Run:
    """A trained head: its accuracy on the clean test images, and its trace."""

    weights: Weights
    accuracy: float
    trace: Trace


@dataclass(frozen=True, slots=True)
class Detection:
    """How well a rule finds the mislabelled samples, and how good it takes the whole to be."""

    f1: float
    quality: float
    kept: KeepProbabilities


def noisy(labels: Labels, classes: int, share: float, seed: int) -> Noisy:
    """Labels with symmetric noise: `int(share * n)` of them are moved, always to another class."""
    draw = np.random.default_rng(seed)
    chosen = draw.permutation(len(labels))[: int(share * len(labels))]
    moved, wrong = labels.copy(), np.zeros(len(labels), np.bool_)
    moved[chosen] = (moved[chosen] + draw.integers(1, classes, len(chosen))) % classes
    wrong[chosen] = True
    return Noisy(moved, wrong)


def settings_of(method: Method, seed: int) -> TrainingSettings:
    """The paper's settings. Rho weighs losses, and so all gradients; the others weigh those of the mimic layer."""
    return TrainingSettings(method=method, seed=seed, parameters=("*",) if method == "rho" else MIMIC_LAYER)


def reference_of(of: Embedded, epochs: int = 5, first: int | None = None) -> Weights:
    """A head that is trained on the clean labels of all training images, or of the first so many."""
    settings = replace(settings_of("uniform", REFERENCE_SEED), epochs=epochs)
    *_, last = train_head(of.train[:first], of.train_labels[:first], of.classes, settings)
    return last.weights


def run(
    of: Embedded,
    labels: Labels,
    settings: TrainingSettings,
    reference: Weights,
    which: Mask | None = None,
    start: Checkpoint | None = None,
) -> Run:
    """Train on noisy labels, or on some of them, from a head of the settings' seed or from another start."""
    features, labels = (of.train, labels) if which is None else (of.train[which], labels[which])
    weights, batches = np.zeros((len(labels), settings.epochs)), np.zeros((len(labels), settings.epochs), np.int64)
    per_epoch = -(-len(labels) // settings.batch)

    def watch(step: int, chosen: Labels, weighed: Floats) -> None:
        weights[chosen, step // per_epoch] = weighed
        batches[chosen, step // per_epoch] = step

    settings = replace(settings, keep=settings.epochs)
    kept = list(train_head(features, labels, of.classes, settings, reference, start, watch))
    said = HeadScorer([checkpoint.weights for checkpoint in kept], reference, MIMIC_LAYER)(features, labels)
    last = kept[-1].weights
    scores = np.stack([scored.score for scored in said], axis=1)
    return Run(last, accuracy(last, of.test, of.test_labels), Trace(weights, batches, scores))


def accuracy(weights: Weights, features: Features, labels: Labels) -> float:
    """The share of images whose class is found, in percent."""
    return 100 * float((predicted(weights, features) == labels).mean())


def predicted(weights: Weights, features: Features) -> Labels:
    """The most likely class of each image."""
    found: Labels = (features @ weights[WEIGHT].T + weights[BIAS]).argmax(1)
    return found


def detect(trace: Trace, wrong: Mask, source: Source, rule: RuleName, how: Aggregation) -> Detection:
    """Turn a trace into samples that are held to be mislabelled."""
    values = trace.weights if source == "weights" else trace.scores
    if source == "weights" and rule == "threshold":
        # The rule takes a softmax over each batch, which gives weights back from their logarithms.
        values = np.log(np.maximum(trace.weights, np.finfo(np.float64).tiny))
    kept = aggregate(binarise(values, BinariseRule(rule), batches=trace.batches).kept, how)
    return Detection(f1(retained(kept) == 0, wrong), kept_share(kept.fit), kept)


def f1(held: Mask, wrong: Mask) -> float:
    """F1, in percent, of samples that are held to be mislabelled."""
    right = int((held & wrong).sum())
    return 200 * right / (int(held.sum()) + int(wrong.sum()))


def detections(trace: Trace, wrong: Mask) -> Mapping[tuple[Source, RuleName, Aggregation], Detection]:
    """Every rule by every aggregation."""
    sources: tuple[Source, ...] = ("weights", "scores")
    return {
        (source, rule, how): detect(trace, wrong, source, rule, how)
        for source in sources
        for rule in RULES
        for how in AGGREGATIONS
    }
