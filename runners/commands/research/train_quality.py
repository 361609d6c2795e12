"""`winnow train-quality`: train a fastText classifier of wanted texts from examples."""

import argparse

from winnow.runners.commands.command import Command


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from winnow.filters.models.training.config import TrainingConfig

    defaults = TrainingConfig()
    what = "files (*.jsonl, *.parquet, *.txt, compressed or not) or, with a recipe, a rule on its store"
    parser.add_argument("recipe", metavar="RECIPE", nargs="?", help="a recipe; rules select texts from its store")
    parser.add_argument("--positives", required=True, metavar="GLOB|RULE", help=f"wanted texts: {what}")
    parser.add_argument("--negatives", required=True, metavar="GLOB|RULE", help="unwanted texts, likewise")
    parser.add_argument(
        "--output", required=True, metavar="MODEL", help="file to write: MODEL.ftz (quantised) or MODEL.bin"
    )
    parser.add_argument("--column", default="text", help="text column of the files (default: text)")
    parser.add_argument(
        "--language-model", metavar="MODEL", help="a fastText language model, for the table by language"
    )
    parser.add_argument(
        "--balance", choices=("equal", "given"), default=defaults.balance, help="equal: as many positives as negatives"
    )
    parser.add_argument(
        "--normalisation",
        choices=("words", "lower", "tutorial"),
        default=defaults.normalisation,
        help="how to normalise texts",
    )
    parser.add_argument(
        "--positive-label",
        default=defaults.positive,
        metavar="LABEL",
        help=f"the model's label for wanted texts (default: {defaults.positive})",
    )
    parser.add_argument(
        "--negative-label",
        default=defaults.negative,
        metavar="LABEL",
        help=f"the model's label for unwanted texts (default: {defaults.negative})",
    )
    for name, kind, text in (
        ("held_out", float, "share of texts held out for evaluation"),
        ("seed", int, "random seed"),
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
    """Train a classifier, and print its quality."""
    from winnow.runners.stages.quality_training import train_quality

    return train_quality(options)


COMMAND = Command("train a fastText classifier from wanted and unwanted texts", arguments, run, place=3)
