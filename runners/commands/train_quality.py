"""`winnow train-quality`: a classifier of texts that are wanted, trained on texts that you name."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser("train-quality", help="a fastText classifier from texts that are wanted and others")
    from winnow.filters.models.training.config import TrainingConfig

    defaults = TrainingConfig()
    what = "files (*.jsonl, *.parquet, *.txt, compressed or not) or, with a recipe, a rule over its store"
    parser.add_argument("recipe", metavar="RECIPE", nargs="?", help="a recipe, whose store the rules are about")
    parser.add_argument("--positives", required=True, metavar="GLOB|RULE", help=f"texts that are wanted: {what}")
    parser.add_argument("--negatives", required=True, metavar="GLOB|RULE", help="texts that are not, likewise")
    parser.add_argument("--output", required=True, metavar="MODEL", help="MODEL.ftz (quantised) or MODEL.bin")
    parser.add_argument("--column", default="text", help="the column of files that holds the text (default: text)")
    parser.add_argument(
        "--language-model", metavar="MODEL", help="a fastText model that tells languages, for the table"
    )
    parser.add_argument(
        "--balance", choices=("equal", "given"), default=defaults.balance, help="texts of the two sides"
    )
    parser.add_argument(
        "--normalisation", choices=("words", "lower", "tutorial"), default=defaults.normalisation, help="of texts"
    )
    parser.add_argument("--positive-label", default=defaults.positive, metavar="LABEL")
    parser.add_argument("--negative-label", default=defaults.negative, metavar="LABEL")
    for name, kind, text in (
        ("held_out", float, "share of texts to measure on"),
        ("seed", int, "of every choice"),
        ("epochs", int, "passes over the texts"),
        ("learning_rate", float, "fastText's lr"),
        ("dimension", int, "fastText's dim"),
        ("word_ngrams", int, "fastText's wordNgrams"),
        ("buckets", int, "fastText's bucket"),
        ("cutoff", int, "words and n-grams that a quantised model keeps"),
    ):
        default = getattr(defaults, name)
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, default=default, metavar="N", help=f"{text} (default: {default})")


def run(options: argparse.Namespace) -> int:
    """Train a classifier, and show how good it is."""
    from winnow.runners.stages.quality_training import train_quality

    return train_quality(options)
