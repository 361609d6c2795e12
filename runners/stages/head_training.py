"""`winnow train-quality --method`: trains a quality head over a store's embeddings, and writes prompts for labels."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pyarrow as pa
from pyarrow import csv, parquet
from rich.console import Console

from winnow.filters.models.training.grades import PROMPT_CHARACTERS, RUBRIC, TEXT_MARK, prompt
from winnow.filters.models.training.heads import (
    PARTS,
    HeadTraining,
    LanguageFigures,
    TrainedHead,
    with_settings,
    write_head,
)
from winnow.filters.text.head import HeadConfig
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.query import labelled_rows
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.label_tables import ANSWER, Labels, read_labels
from winnow.pipelines.query.labelled_rows import Labeller, Places, RuleLabels, TableLabels, labelled_vectors
from winnow.pipelines.query.training_texts import Text, names_files
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.tables.table import Column, Table, Value, each, heads, table
from winnow.runners.tables.units import COUNT, WORDS, Unit
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import shown
from winnow.schemas.recipe import load_recipe

SCORE = Unit(lambda one: f"{one:.3f}", absent="-")
SHOWN_LANGUAGES = 20

_FIGURES: tuple[Column[LanguageFigures], ...] = (
    Column("language", WORDS, lambda one: one.language),
    Column("texts", COUNT, lambda one: one.texts),
    Column("wanted", COUNT, lambda one: one.separation.positives),
    Column("AUC", SCORE, lambda one: one.separation.auc),
    Column("precision", SCORE, lambda one: one.separation.at[0].precision),
    Column("recall", SCORE, lambda one: one.separation.at[0].recall),
    Column("F1", SCORE, lambda one: one.separation.at[0].f1),
    Column("R²", SCORE, lambda one: None if one.grades is None else one.grades.r2),
    Column("error", SCORE, lambda one: None if one.grades is None else one.grades.error),
    Column("calibration", WORDS, lambda one: "own" if one.own_curve else "shared"),
)


def train_head(options: argparse.Namespace) -> int:
    """Train a head on labelled rows of the recipe's store, and print its figures on held-out ones."""
    config = _config(options)
    require_sides(options, answers=config.answer == "grade")
    output = _output(options.output, (".safetensors",), "a head")
    recipe = _recipe(options)
    places = _places(recipe)
    if options.embedding not in places.generation.layers:
        raise RecipeError(
            f"{options.recipe}: the store has no layer {shown(options.embedding)}; add it to `annotate`, and run "
            f"winnow annotate {options.recipe}"
        )
    labels = _labels(options, config)
    labeller: Labeller
    labeller = RuleLabels(options.positives, options.negatives) if labels is None else TableLabels(labels, places.texts)
    examples, left_out = labelled_vectors(places, labeller, options.embedding, options.most, config.seed)
    layer = places.generation.layers[options.embedding]
    models = [one.model for one in recipe.operators if one.layer == options.embedding]
    embedding = {"layer": options.embedding, "keys": dict(layer.keys)} | ({"model": models[0]} if models else {})
    trained = write_head(options.method, examples, config, embedding, output)
    if labels is not None:
        left_out = dict(labels.left_out) | left_out | {"of several grades, the mean": labels.several}
    console = TerminalConsole()
    _print(console, trained, left_out, config)
    name = re.sub(r"[^a-z0-9]+", "_", output.stem.lower()).strip("_")
    name = name if name[:1].isalpha() else f"head_{name}"
    console.print(f"head   {output}")
    vectors = "" if options.embedding == HeadConfig().embedding else f", embedding: {options.embedding}"
    said = f"annotate: [{{text.head: {{heads: {{{name}: {{file: {output}}}}}{vectors}}}}}]"
    console.print(f"next   {said}")
    return 0


def _print(console: Console, trained: TrainedHead, left_out: dict[str, int], config: HeadTraining) -> None:
    lost = sorted((reason, count) for reason, count in (left_out | {"unbalanced": trained.unbalanced}).items() if count)
    kinds = tuple(trained.counts[PARTS[0]])
    counted: list[tuple[Value, ...]] = [
        (part.replace("_", " "), *(trained.counts[part][kind] for kind in kinds)) for part in PARTS
    ]
    figures = table(
        f"Held out, wanted from {config.threshold:g}",
        _FIGURES,
        [trained.overall, *trained.by_language[:SHOWN_LANGUAGES]],
    )
    if config.answer == "probability":
        figures = figures.without("R²", "error")
    print_tables(
        console,
        Table("Labels left out or merged", heads("reason", ("labels", COUNT)), lost),
        Table("Labelled texts", heads("", *each(COUNT, *kinds)), counted),
        figures,
    )
    if len(trained.by_language) > SHOWN_LANGUAGES:
        rest = len(trained.by_language) - SHOWN_LANGUAGES
        console.print(f"{rest} more languages: see the head's card")


def labelled_texts(options: argparse.Namespace, labels: Labels) -> Iterator[tuple[Text, bool]]:
    """The labelled texts with their languages, and whether they are wanted: from the tables, or the recipe's store."""
    if labels.key == "text":
        for text, label in zip(labels.texts, labels.values.tolist(), strict=True):
            yield (text, None), label > 0
        return
    places = _places(_recipe(options))
    yield from labelled_rows.labelled_texts(places, TableLabels(labels, places.texts))


def write_prompts(options: argparse.Namespace) -> int:
    """Write a table of prompts about rows of the recipe's store."""
    output = _output(options.write_prompts, (".jsonl", ".csv", ".parquet"), "a table of prompts", "--write-prompts")
    rubric = RUBRIC if options.rubric is None else _rubric(options.rubric)
    if options.prompts < 1:
        raise WinnowError(f"--prompts {options.prompts}: expected 1 or more")
    found = labelled_rows.texts_to_label(
        _places(_recipe(options)), options.where, options.prompts, PROMPT_CHARACTERS, options.seed
    )
    rows = [(name.hex(), language or "", prompt(rubric, text, language or "")) for name, (text, language) in found]
    if not rows:
        raise WinnowError("no row has a text to ask about; see --where")
    columns = dict(zip(("id", "language", "prompt"), (list(one) for one in zip(*rows, strict=True)), strict=True))
    made = pa.table(columns)
    partial = output.with_name(f".{output.name}.unfinished")
    if output.suffix == ".parquet":
        parquet.write_table(made, partial)
    elif output.suffix == ".csv":
        csv.write_csv(made, partial)
    else:
        partial.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in made.to_pylist()))
    partial.replace(output)
    console = TerminalConsole()
    console.print(f"{len(rows):,} prompts in {len(set(columns['language'])):,} languages   {output}")
    console.print(
        f"next   ask a model, write a table of id and answer, and run: winnow train-quality {options.recipe} "
        "--method fineweb-edu --answers TABLE --output edu.safetensors",
    )
    return 0


def require_sides(options: argparse.Namespace, *, answers: bool = False) -> None:
    """Check that labels come from one place. `answers`: whether a language model's are among the choices."""
    given = [name for name in ("positives", "negatives", "labels", "answers") if getattr(options, name) is not None]
    if "answers" in given and not answers:
        raise WinnowError(f"--answers: grades are for --method fineweb-edu or jql, not {options.method}")
    if answers and set(given) & {"positives", "negatives"}:
        raise WinnowError(f"--{given[0]}: {options.method} wants grades; expected --labels or --answers")
    if given not in (["positives", "negatives"], ["labels"], ["answers"]):
        choices = "--labels or --answers" if answers else "--positives and --negatives, or --labels"
        raise WinnowError(f"train-quality: expected {choices}; found {', '.join(given) or 'neither'}")


def require_ranges(config: object, **ranges: tuple[float, float]) -> None:
    """Check that settings are within ranges."""
    for name, (low, high) in ranges.items():
        value = getattr(config, name)
        if not low <= value <= high:
            raise WinnowError(f"--{name.replace('_', '-')} {value}: expected {low:_} to {high:_}")


def _config(options: argparse.Namespace) -> HeadTraining:
    config = with_settings(
        options.method,
        hidden=options.hidden,
        threshold=options.threshold,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        held_out=options.held_out,
        seed=options.seed,
        equal=options.balance == "equal",
    )
    require_ranges(
        config,
        hidden=(0, 16_384),
        threshold=(0.001, 5 if config.answer == "grade" else 1),
        epochs=(1, 1000),
        learning_rate=(1e-6, 10),
        held_out=(0.001, 0.9),
        seed=(0, (1 << 31) - 1),
    )
    require_ranges(options, most=(1, 10_000_000))
    return config


def _labels(options: argparse.Namespace, config: HeadTraining) -> Labels | None:
    if options.answers is not None:
        return read_labels(options.answers, ANSWER, config.answer)
    if options.labels is not None:
        return read_labels(options.labels, options.label_column, config.answer)
    for value in (options.positives, options.negatives):
        if names_files(value):
            raise WinnowError(
                f"{shown(value)}: files have no embedding; write a rule on the recipe's store, or --labels with the "
                "texts of its samples"
            )
    return None


def _recipe(options: argparse.Namespace) -> BoundRecipe:
    if options.recipe is None:
        raise RecipeError("train-quality: RECIPE is missing; expected the recipe whose store has the labelled texts")
    return bind(load_recipe(options.recipe))


def _places(recipe: BoundRecipe) -> Places:
    store = open_store(open_location(recipe.config.located(recipe.config.store.path)))
    return Places(store, require_latest_for(recipe, store), recipe.config.text)


def _output(value: str, endings: Sequence[str], what: str, flag: str = "--output") -> Path:
    output = Path(value)
    if output.suffix not in endings:
        raise WinnowError(f"{flag} {shown(value)}: {what} has a name that ends in {' or '.join(endings)}")
    if not output.parent.is_dir():
        raise WinnowError(f"{flag} {shown(value)}: the folder {output.parent} does not exist; create it first")
    return output


def _rubric(path: str) -> str:
    try:
        rubric = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WinnowError(
            f"--rubric {path}: {getattr(error, 'strerror', None) or error}; expected a text in UTF-8"
        ) from None
    if TEXT_MARK not in rubric:
        raise WinnowError(f"--rubric {path}: does not say where the text goes; write {TEXT_MARK} there")
    return rubric
