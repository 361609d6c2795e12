"""`winnow train-quality`: train a classifier of texts, or a head over their embeddings, from labels."""

import argparse

from winnow.runners.commands.command import Command


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from winnow.filters.models.training.config import TrainingConfig

    defaults = TrainingConfig()
    what = "files (*.jsonl, *.parquet, *.txt, compressed or not) or, with a recipe, a rule on its store"
    parser.add_argument("recipe", metavar="RECIPE", nargs="?", help="a recipe, whose store has the labelled texts")
    parser.add_argument(
        "--method",
        choices=("dclm", "fineweb-edu", "jql", "fineweb2-hq"),
        default="dclm",
        help="dclm: a fastText classifier (default); the others are heads over embeddings: grades from 0 to 5 by a "
        "linear layer (fineweb-edu) or a hidden one (jql), or wanted and unwanted texts (fineweb2-hq)",
    )
    parser.add_argument("--positives", metavar="GLOB|RULE", help=f"wanted texts: {what}")
    parser.add_argument("--negatives", metavar="GLOB|RULE", help="unwanted texts, likewise")
    tables = "tables (*.jsonl, *.csv, *.parquet) with a column id, key or text"
    parser.add_argument("--labels", metavar="GLOB", help=f"in place of both: {tables}, and a label")
    parser.add_argument("--label-column", default="label", metavar="NAME", help="(default: label)")
    parser.add_argument("--answers", metavar="GLOB", help=f"{tables}, and a language model's answer")
    parser.add_argument(
        "--output",
        metavar="MODEL",
        help="file to write: MODEL.ftz (quantised) or MODEL.bin, for heads MODEL.safetensors",
    )
    parser.add_argument(
        "--write-prompts",
        metavar="FILE",
        help="train nothing: write a table (.jsonl, .csv, .parquet) of prompts that ask a language model for grades",
    )
    parser.add_argument("--rubric", metavar="FILE", help="a prompt of your own, with {text} where the text goes")
    parser.add_argument("--where", metavar="RULE", help="which rows prompts are about (default: all)")
    parser.add_argument(
        "--prompts", type=int, default=200, metavar="N", help="prompts for each language (default: 200)"
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
        ("dimension", int, "fastText's dim"),
        ("word_ngrams", int, "fastText's wordNgrams"),
        ("buckets", int, "fastText's bucket"),
        ("cutoff", int, "words and n-grams that a quantised model keeps"),
    ):
        default = getattr(defaults, name)
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=kind, default=default, metavar="N", help=f"{text} (default: {default})")
    for flag, kind, text in (
        ("--epochs", int, f"passes over the texts (default: {defaults.epochs}, heads 20)"),
        (
            "--learning-rate",
            float,
            f"fastText's lr, or AdamW's (default: {defaults.learning_rate}; heads 0.01 if linear, else 0.001)",
        ),
        ("--hidden", int, "heads: numbers in the hidden layer, 0 for none (default: the method's)"),
        ("--threshold", float, "heads: the answer from which a text is wanted (default: 3, fineweb2-hq 0.5)"),
    ):
        parser.add_argument(flag, type=kind, metavar="N", help=text)
    parser.add_argument(
        "--most", type=int, default=100_000, metavar="N", help="heads: labels used of each side (default: 100000)"
    )
    parser.add_argument(
        "--embedding", default="text.embedding", metavar="LAYER", help="heads: the vectors (default: text.embedding)"
    )


def run(options: argparse.Namespace) -> int:
    """Train a classifier or a head, and print its quality."""
    from winnow.pipelines.processes.identity import limit_threads

    limit_threads()  # before numpy is loaded: sums in several threads may differ in their last digits
    from winnow.runners.stages.quality_training import train_quality

    return train_quality(options)


COMMAND = Command("train a classifier of texts, or a quality head over embeddings", arguments, run, place=3)
