"""Train a quality head from labelled vectors, calibrate it by language, and measure it on texts it has not seen.

A hash of each sample's id decides whether it is for training, for calibration or held out, and the order of training:
the same labels give the same bytes, whatever the order of the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.heads.curves import HIGHEST_GRADE, LOWEST_GRADE, Answer, Floats, fit_curves
from winnow.filters.models.heads.head import Head, HeadCard, head_bytes, read_head
from winnow.filters.models.training.metrics import Evaluation, GradeErrors, evaluate_scores, grade_errors
from winnow.filters.models.training.networks import NetworkSettings, VectorsWithLabels, train_network
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json, seeded_hash

Part = Literal["training", "calibration", "held_out"]
PARTS: Final[tuple[Part, ...]] = ("training", "calibration", "held_out")
_WHOLE = float(1 << 64)


@dataclass(frozen=True, slots=True)
class HeadTraining:
    """A published way to make a head. The encoder is that of the layer of vectors."""

    answer: Answer
    hidden: int  # numbers in the hidden layer; 0: a linear head
    threshold: float  # what is wanted, for the figures: from this answer on
    epochs: int = 20  # FineWeb-Edu
    learning_rate: float = 1e-3
    held_out: float = 0.1  # share of texts used for evaluation
    calibration: float = 0.2  # share of the others that chooses the epoch and calibrates
    seed: int = 0
    equal: bool = True  # as many unwanted as wanted texts; only for probabilities


METHODS: Mapping[str, HeadTraining] = {
    "fineweb-edu": HeadTraining("grade", hidden=0, threshold=3, learning_rate=0.01),  # linear, kept from grade 3
    "jql": HeadTraining("grade", hidden=1000, threshold=3),  # 2505.22232: a hidden layer of 1,000 with ReLU
    "fineweb2-hq": HeadTraining("probability", hidden=256, threshold=0.5),  # 2502.10361: a hidden layer of 256
}


@dataclass(frozen=True, slots=True)
class LabelledVectors:
    """Texts with their labels and vectors, in any order; ids are unique."""

    ids: Sequence[bytes]
    vectors: NDArray[np.float32]
    labels: Floats
    languages: Sequence[str]

    def chosen(self, which: NDArray[np.int64]) -> "LabelledVectors":
        """Some of them, in this order."""
        ids, languages = ([of[at] for at in which.tolist()] for of in (self.ids, self.languages))
        return LabelledVectors(ids, self.vectors[which], self.labels[which], languages)

    def for_network(self) -> VectorsWithLabels:
        """Without names."""
        return VectorsWithLabels(self.vectors, self.labels.astype(np.float32))


@dataclass(frozen=True, slots=True)
class LanguageFigures:
    """How good a head is on the held-out texts of one language, or of all."""

    language: str
    texts: int
    separation: Evaluation  # at the threshold: of texts labelled from it on, and others
    grades: GradeErrors | None
    own_curve: bool  # whether the language has its own calibration

    def to_json(self) -> Json:
        """The form on a head's card."""
        grades: Json = None if self.grades is None else {"r2": self.grades.r2, "error": self.grades.error}
        found: dict[str, Json] = {"texts": self.texts, "own_calibration": self.own_curve, "grades": grades}
        return found | {"separation": self.separation.to_json()}


@dataclass(frozen=True, slots=True)
class TrainedHead:
    """A written head, and its figures on held-out texts."""

    counts: Mapping[str, Mapping[str, int]]  # of texts, by part and side (or grade)
    unbalanced: int  # dropped to have as many of both sides
    overall: LanguageFigures
    by_language: tuple[LanguageFigures, ...]  # the largest first


def write_head(
    method: str, examples: LabelledVectors, config: HeadTraining, embedding: Mapping[str, Json], output: Path
) -> TrainedHead:
    """Train a head and write it.

    Args:
        method: Its name among `METHODS`, for the card.
        examples: The labelled texts.
        config: How to train.
        embedding: Which layer the vectors are from, for the card.
        output: The file to write.

    Raises:
        SourceError: There are too few labels, or all are the same.
    """
    chosen, unbalanced = _balanced(examples, config)
    parts = dict(_parts(chosen, config))
    counts: dict[str, dict[str, int]] = {part: _counts(parts[part].labels, config.answer) for part in PARTS}
    _require(parts)
    training, checking, held_out = (parts[part] for part in PARTS)
    settings = NetworkSettings(config.answer, config.hidden, config.epochs, config.learning_rate, config.seed)
    layers = train_network(training.for_network(), checking.for_network(), settings)
    bare = Head(layers, {}, None)
    curves = fit_curves(config.answer, bare.scores(checking.vectors), checking.labels, checking.languages)
    partial = output.with_name(f".{output.name}.unfinished")
    partial.write_bytes(head_bytes(Head(layers, curves, None)))
    figures = list(_figures(read_head(str(partial)), held_out, config))  # of the written head
    card = HeadCard(
        answer=config.answer,
        method=method,
        threshold=config.threshold,
        embedding=embedding,
        training=asdict(config) | {"texts": {part: dict(found) for part, found in counts.items()}},
        held_out={one.language: one.to_json() for one in figures},
        versions={name: version(name) for name in ("numpy", "winnow")},
    )
    partial.write_bytes(head_bytes(Head(layers, curves, card)))
    partial.replace(output)
    return TrainedHead(counts, unbalanced, figures[0], tuple(figures[1:]))


def _balanced(examples: LabelledVectors, config: HeadTraining) -> tuple[LabelledVectors, int]:
    """The examples in the order of their hashes, as many of each side if that is asked for."""
    hashes = [seeded_hash(config.seed, "head order", one) for one in examples.ids]
    order = np.array(sorted(range(len(hashes)), key=lambda at: (hashes[at], examples.ids[at])), np.int64)
    if config.answer == "grade":
        return examples.chosen(order), 0
    sides = [order[(examples.labels[order] > 0) == side] for side in (True, False)]
    least = min(map(len, sides))
    if not least:
        side = "wanted" if len(sides[0]) else "unwanted"
        raise SourceError(f"all {len(order):,} labelled texts are {side}; a head needs wanted and unwanted ones")
    if not config.equal:
        return examples.chosen(order), 0
    kept = np.isin(order, np.concatenate([side[:least] for side in sides]))
    return examples.chosen(order[kept]), int((~kept).sum())


def _parts(examples: LabelledVectors, config: HeadTraining) -> Iterator[tuple[Part, LabelledVectors]]:
    places = np.array([seeded_hash(config.seed, "held-out", one) / _WHOLE for one in examples.ids])
    border = config.held_out + (1 - config.held_out) * config.calibration
    yield "held_out", examples.chosen(np.flatnonzero(places < config.held_out))
    yield "calibration", examples.chosen(np.flatnonzero((places >= config.held_out) & (places < border)))
    yield "training", examples.chosen(np.flatnonzero(places >= border))


def _counts(labels: Floats, answer: Answer) -> dict[str, int]:
    if answer == "probability":
        return {"positive": int((labels > 0).sum()), "negative": int((labels <= 0).sum())}
    grades = range(round(LOWEST_GRADE), round(HIGHEST_GRADE) + 1)
    return {str(grade): int((np.floor(labels + 0.5) == grade).sum()) for grade in grades}


def _require(parts: Mapping[Part, LabelledVectors]) -> None:
    for part in PARTS:
        labels = parts[part].labels
        name = part.replace("_", "-")
        if not len(labels):
            raise SourceError(f"no labelled text is left as {name} examples; give more labels")
        if part != "held_out" and (labels == labels[0]).all():
            raise SourceError(
                f"all {len(labels):,} {name} examples have the label {labels[0]:g}; a head needs both wanted and "
                "unwanted texts, or several grades: give more labels"
            )


def _figures(head: Head, held_out: LabelledVectors, config: HeadTraining) -> Iterator[LanguageFigures]:
    """For all languages together (`all`), then for each, the largest first."""
    answers = head.answers(head.scores(held_out.vectors), held_out.languages)
    languages = np.array(held_out.languages)
    names, counts = np.unique(languages, return_counts=True)
    yield _figure("all", head, answers, held_out.labels, config)
    for at in np.lexsort((names, -counts)):
        own = languages == names[at]
        yield _figure(str(names[at]), head, answers[own], held_out.labels[own], config)


def _figure(language: str, head: Head, answers: Floats, labels: Floats, config: HeadTraining) -> LanguageFigures:
    separation = evaluate_scores(answers, labels >= config.threshold, [config.threshold])
    grades = grade_errors(answers, labels) if config.answer == "grade" else None
    return LanguageFigures(language, len(labels), separation, grades, language in head.curves)


def with_settings(method: str, **settings: object) -> HeadTraining:
    """A method with some settings of the user's; None keeps the method's own."""
    given = {name: value for name, value in settings.items() if value is not None}
    return replace(METHODS[method], **given)  # type: ignore[arg-type]  # checked where options are read
