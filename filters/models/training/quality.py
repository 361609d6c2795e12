"""Train a fastText classifier of text quality from wanted and unwanted texts, as DCLM did.

One thread and fixed seeds: the same texts and settings give the same bytes, whatever the order of the texts.
"""

import os
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.card import ModelCard, card_path, file_sha256
from winnow.filters.models.fasttext_files import FastText, fasttext_library, load_fasttext
from winnow.filters.models.training.config import TrainingConfig
from winnow.filters.models.training.examples import Examples, TextSplit
from winnow.filters.models.training.metrics import Evaluation, evaluate_scores

DECIMALS = 4


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A written model, and its evaluation on the held-out texts."""

    card: ModelCard
    chosen: TextSplit
    overall: Evaluation
    by_language: tuple[tuple[str, Evaluation], ...]  # the largest first


def train_quality(examples: Examples, config: TrainingConfig, output: Path, scratch: Path) -> TrainedModel:
    """Train a model, evaluate it, and write it with its card.

    Args:
        examples: The texts, already in the config's normalisation.
        config: The settings.
        output: The path of the model; quantised if it ends in `.ftz`. Its card has the same name with `.json`.
        scratch: A folder for temporary files.
    """
    chosen = examples.choose(config.seed, config.held_out, equal=config.balance == "equal")
    lines = scratch / "training"
    _write_training(examples, chosen.training, config, lines)
    unfinished = scratch / f"model{output.suffix}"
    _fit(lines, config, quantised=output.suffix == ".ftz", target=unfinished)
    model, header = load_fasttext(str(unfinished))  # evaluate the written model
    scores = _scores(model, examples, chosen.held_out, config.positive)
    truth = examples.is_positive(chosen.held_out)
    overall = evaluate_scores(scores, truth)
    by_language = _by_language(scores, truth, examples.languages(chosen.held_out))
    card = ModelCard(
        sha256=file_sha256(str(unfinished)),
        normalisation=config.normalisation,
        positive=config.positive,
        labels=header.labels,
        training=asdict(config) | {"texts": {"positive": asdict(chosen.positive), "negative": asdict(chosen.negative)}},
        held_out={"all": overall.to_json(), "by_language": {name: found.to_json() for name, found in by_language}},
        versions={name: version(name) for name in (*packages_distributions()["fasttext_pybind"], "winnow")},
    )
    _publish(unfinished, output, card)
    return TrainedModel(card, chosen, overall, by_language)


def _write_training(examples: Examples, numbers: NDArray[np.int64], config: TrainingConfig, target: Path) -> None:
    sides = iter(examples.is_positive(numbers).tolist())
    with open(target, "w", encoding="utf-8", newline="\n") as stream:
        for group in examples.lines(numbers):
            for line in group:
                stream.write(f"{config.positive if next(sides) else config.negative} {line}")


def _fit(lines: Path, config: TrainingConfig, *, quantised: bool, target: Path) -> None:
    library = fasttext_library()
    settings = library.args()
    for name, value in {
        "input": str(lines),
        "output": "",
        "saveOutput": False,
        "model": library.model_name.supervised,
        "loss": library.loss_name.softmax,
        "lr": config.learning_rate,
        "epoch": config.epochs,
        "dim": config.dimension,
        "wordNgrams": config.word_ngrams,
        "minn": config.min_subword,
        "maxn": config.max_subword,
        "minCount": config.min_count,
        "minCountLabel": 0,
        "bucket": config.buckets if config.word_ngrams > 1 or config.max_subword else 0,
        "label": "__label__",
        "thread": 1,  # several would race for the weights, and runs would differ
        "seed": config.seed % (1 << 31),
        "verbose": 0,
    }.items():
        setattr(settings, name, value)
    model = library.fasttext()
    library.train(model, settings)
    if quantised:
        # input, qout, cutoff, retrain, epoch, lr, thread, verbose, dsub, qnorm
        model.quantize(str(lines), False, config.cutoff, True, config.epochs, config.learning_rate, 1, 0, 2, True)
    model.saveModel(str(target))


def _scores(model: FastText, examples: Examples, numbers: NDArray[np.int64], positive: str) -> NDArray[np.float64]:
    scores: list[float] = []
    for group in examples.lines(numbers):
        for labels, values in zip(*model.multilinePredict(group, -1, 0.0, "strict"), strict=True):
            value = float(values[labels.index(positive)]) if positive in labels else 0.0
            scores.append(min(max(round(value, DECIMALS), 0.0), 1.0))
    return np.array(scores, np.float64)


def _by_language(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], languages: list[str]
) -> tuple[tuple[str, Evaluation], ...]:
    names, place, counts = np.unique(np.array(languages), return_inverse=True, return_counts=True)
    order = np.lexsort((np.arange(len(names)), -counts))
    return tuple((str(names[at]), evaluate_scores(scores[place == at], truth[place == at])) for at in order)


def _publish(unfinished: Path, output: Path, card: ModelCard) -> None:
    """Publish the model, then its card: a card that does not fit its model is refused, a model without one is not."""
    Path(card_path(str(output))).unlink(missing_ok=True)
    partial = output.with_name(f".{output.name}.unfinished")
    partial.write_bytes(unfinished.read_bytes())
    os.replace(partial, output)
    partial.write_bytes(card.to_json())
    os.replace(partial, card_path(str(output)))
