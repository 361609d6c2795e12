"""`winnow train-quality`: trains a text classifier from wanted and unwanted texts, and evaluates it.

Heads over embeddings are `head_training`'s.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from winnow.filters.models.fasttext_files import load_fasttext
from winnow.filters.models.normalisation import one_line
from winnow.filters.models.training.config import TrainingConfig
from winnow.filters.models.training.examples import Examples
from winnow.filters.models.training.metrics import AtThreshold, Evaluation
from winnow.filters.models.training.quality import TrainedModel
from winnow.filters.models.training.quality import train_quality as train
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.query.label_tables import read_labels
from winnow.pipelines.query.training_texts import Losses, Text, names_files, texts_of_files, texts_of_store
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.stages.head_training import (
    SCORE,
    SHOWN_LANGUAGES,
    labelled_texts,
    require_ranges,
    require_sides,
    train_head,
    write_prompts,
)
from winnow.runners.tables.table import Column, Table, Value, each, heads, table
from winnow.runners.tables.units import COUNT, WORDS
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import shown
from winnow.schemas.recipe import Recipe, load_recipe

_MEASURES = ("precision", "recall", "F1")
THRESHOLDS: tuple[Column[AtThreshold], ...] = (
    Column("kept from", WORDS, lambda one: f"{one.threshold:.2f}"),
    Column("kept", COUNT, lambda one: one.kept),
    Column("precision", SCORE, lambda one: one.precision),
    Column("recall", SCORE, lambda one: one.recall),
    Column("F1", SCORE, lambda one: one.f1),
)
_PREFIX = "__label__"


def train_quality(options: argparse.Namespace) -> int:
    """Train and save a model, and print its results on held-out texts."""
    if options.write_prompts is not None:
        return write_prompts(options)
    if options.output is None:
        raise WinnowError("--output is missing; expected the file to write, such as quality.ftz")
    if options.method != "dclm":
        return train_head(options)
    config = _config(options)
    require_sides(options)
    output = Path(options.output)
    if output.suffix not in (".ftz", ".bin"):
        raise WinnowError(f"--output {shown(options.output)}: expected a name that ends in .ftz (quantised) or .bin")
    if not output.parent.is_dir():
        raise WinnowError(
            f"--output {shown(options.output)}: the folder {output.parent} does not exist; create it first"
        )
    recipe = load_recipe(options.recipe) if options.recipe else None
    store = open_store(open_location(recipe.located(recipe.store.path))) if recipe else None
    console = TerminalConsole()
    losses = Losses()
    with (
        temporary_folder("train") as scratch,
        Examples(Path(scratch), config.normalisation, config.max_characters) as examples,
    ):
        if options.positives is None:
            labels = read_labels(options.labels, options.label_column, "probability")
            for (text, language), side in labelled_texts(options, labels):
                examples.add(text, positive=side, language=language)
        else:
            for side, value in ((True, options.positives), (False, options.negatives)):
                found = _texts(value, recipe, store, options.column, losses)
                for text, language in _in_language(found, options.language_model):
                    examples.add(text, positive=side, language=language)
        trained = train(examples, config, output, Path(scratch))
    print_trained(trained, losses, console)
    console.print(f"model   {output}")
    console.print(f"next    annotate: [{{text.classifier: {{model: {output}}}}}]")
    return 0


def _config(options: argparse.Namespace) -> TrainingConfig:
    defaults = TrainingConfig()
    config = TrainingConfig(
        positive=options.positive_label,
        negative=options.negative_label,
        normalisation=options.normalisation,
        balance=options.balance,
        held_out=options.held_out,
        seed=options.seed,
        learning_rate=defaults.learning_rate if options.learning_rate is None else options.learning_rate,
        epochs=defaults.epochs if options.epochs is None else options.epochs,
        dimension=options.dimension,
        word_ngrams=options.word_ngrams,
        buckets=options.buckets,
        cutoff=options.cutoff,
    )
    require_ranges(
        config,
        held_out=(0.001, 0.9),
        seed=(0, (1 << 31) - 1),
        learning_rate=(1e-6, 10),
        epochs=(1, 1000),
        dimension=(1, 1000),
        word_ngrams=(1, 5),
        buckets=(1, 100_000_000),
        cutoff=(1, 100_000_000),
    )
    for label in (config.positive, config.negative):
        if not label.startswith(_PREFIX) or label == _PREFIX or any(mark.isspace() or mark == "\0" for mark in label):
            raise WinnowError(f"label {shown(label)}: expected {_PREFIX} and a name without spaces")
    if config.positive == config.negative:
        raise WinnowError(f"both sides have the label {config.positive}")
    return config


def _texts(value: str, recipe: Recipe | None, store: Store | None, column: str, losses: Losses) -> Iterator[Text]:
    if names_files(value):
        return texts_of_files(value, column, losses)
    if recipe is None or store is None:
        raise RecipeError(
            f"{shown(value)}: not a pattern of file names (*.jsonl, *.parquet, *.txt); a rule needs RECIPE, whose "
            f"store it reads"
        )
    return texts_of_store(store, recipe.text, value, losses)


def _in_language(texts: Iterator[Text], model: str | None) -> Iterator[Text]:
    """Identify the language of texts that do not state it."""
    if model is None:
        yield from texts
        return
    loaded, _ = load_fasttext(model)
    line = one_line("lines")
    for text, language in texts:
        if language is not None:
            yield text, language
            continue
        labels, _ = loaded.multilinePredict([line(text)], 1, 0.0, "strict")
        yield text, labels[0][0].removeprefix(_PREFIX) if labels[0] else None


def print_trained(trained: TrainedModel, losses: Losses, console: Console) -> None:
    """Print the counts, the thresholds, and one line per language."""
    lost = Table("Records without text", heads("reason", ("records", COUNT)), sorted(losses.reasons.items()))
    names = ("given", "empty", "repeated", "both_sides", "unbalanced", "training", "held_out")
    sides = (("positive", trained.chosen.positive), ("negative", trained.chosen.negative))
    counts = [(side, *(getattr(of, name) for name in names)) for side, of in sides]
    texts = Table("Texts", heads("side", *each(COUNT, *(name.replace("_", " ") for name in names))), counts)
    at = table(f"Held out: AUC {SCORE.written(trained.overall.auc)}", THRESHOLDS, trained.overall.at)
    languages = [_language(name, found) for name, found in trained.by_language[:SHOWN_LANGUAGES]]
    if rest := len(trained.by_language) - len(languages):
        languages.append((f"({rest} more: see the model's card)", *("",) * 6))
    of_language = heads("language", *each(COUNT, "positive", "negative"), *each(SCORE, "AUC", *_MEASURES))
    print_tables(console, lost, texts, at, Table("Held out, kept from 0.5, by language", of_language, languages))


def _language(name: str, found: Evaluation) -> tuple[Value, ...]:
    half = next(row for row in found.at if row.threshold == 0.5)
    return name, found.positives, found.negatives, found.auc, half.precision, half.recall, half.f1
