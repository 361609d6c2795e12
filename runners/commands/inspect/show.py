"""`winnow show`: show one sample: its measurements, the rules' decision, and its text as it would be exported.

With `--reason`, `--language` or `--source` it lists some samples instead.
"""

import argparse

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console
from winnow.schemas.errors import WinnowError

CHARACTERS = 4000
LISTED = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file")
    parser.add_argument("id", nargs="?", metavar="ID", help="the sample's id in hexadecimal, or the start of it")
    parser.add_argument("--url", metavar="URL", help="find the sample by its URL")
    parser.add_argument("--reason", metavar="REASON", default="", help="list some samples that this rule drops")
    parser.add_argument("--language", metavar="CODE", default="", help="list some samples in this language")
    parser.add_argument("--source", metavar="NAME", default="", help="list some samples of this source")
    parser.add_argument("--raw", action="store_true", help="show the text as read, and mark what edits would change")
    parser.add_argument(
        "--characters",
        type=int,
        default=CHARACTERS,
        metavar="N",
        help="characters of the text to show; 0 for all (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the whole text")


def run(options: argparse.Namespace) -> int:
    """Show one sample."""
    from winnow.pipelines.rules.near_thresholds import EVERY, SampleFilter
    from winnow.runners.stages.samples.listed import run_list
    from winnow.runners.stages.samples.sample import run_show

    among = SampleFilter(options.language, options.source, options.reason)
    if among == EVERY:
        return run_show(options, open_console())
    if options.id is not None or options.url is not None:
        raise WinnowError(
            "show: expected one sample, by its id or --url, or --reason, --language and --source, not both"
        )
    return run_list(options.recipe, among, LISTED, open_console(), as_json=options.json)


COMMAND = Command(
    "show one sample: its measurements, the rules' decision, and its edited text",
    arguments,
    run,
    place=8,
    slow_start=True,
)
