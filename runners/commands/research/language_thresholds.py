"""`winnow language-thresholds`: learn from texts in known languages which scores of a model are to be believed."""

import argparse

from winnow.runners.commands.command import Command


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from winnow.filters.language.thresholds.learning_config import LearningConfig

    defaults = LearningConfig()

    parser.add_argument(
        "texts", metavar="GLOB", help="files (*.jsonl, *.parquet, compressed or not) with the columns text and language"
    )
    parser.add_argument("--output", required=True, metavar="FILE.csv", help="the table to write")
    parser.add_argument("--column", default="text", help="text column of the files (default: text)")
    parser.add_argument("--model", help="as in text.language (default: its default)")
    parser.add_argument("--normalise", choices=("line", "openlid"), default="line", help="as in text.language")
    parser.add_argument(
        "--macrolanguages",
        action="store_true",
        help="members of a macrolanguage count as one, for rules on macrolanguage_score",
    )
    parser.add_argument(
        "--beta",
        type=float,
        default=defaults.beta,
        metavar="N",
        help=f"weight of recall against precision (default: {defaults.beta})",
    )
    parser.add_argument(
        "--least-kept",
        type=float,
        default=defaults.least_kept,
        metavar="SHARE",
        help=f"of a language's texts that the model finds, what is kept at least (default: {defaults.least_kept})",
    )
    parser.add_argument(
        "--least-texts",
        type=int,
        default=defaults.least_texts,
        metavar="N",
        help=f"languages with fewer texts get no threshold (default: {defaults.least_texts})",
    )


def run(options: argparse.Namespace) -> int:
    """Write the table, and print its languages."""
    from winnow.runners.stages.language_thresholds import language_thresholds

    return language_thresholds(options)


COMMAND = Command("learn thresholds by language from texts in known languages", arguments, run, place=4)
