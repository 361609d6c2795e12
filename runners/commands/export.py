"""`winnow export`: write the mixture in the formats that the recipe names."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console
from winnow.runners.commands.parser import engine_arguments

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """The command and its arguments."""
    parser = commands.add_parser(
        "export", help="write the mixture in the formats that the recipe names; existing exports are left unchanged"
    )
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix' and an 'export'")
    parser.add_argument(
        "--sample",
        default="100%",
        metavar="SHARE",
        help="export a share of the plan, such as 1%% (default: %(default)s)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="write over exports of another plan, and over those that are damaged or lack samples, once the new ones "
        "are whole",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="write nothing: read every export that the recipe names, and compare its files with their hashes",
    )
    parser.add_argument(
        "--id-list",
        metavar="FILE",
        help="write, alone, the ids that the stages give as a .npy: each once, sorted, as two numbers of 64 bits; "
        "validation is not in it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of text")
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Export, verify exports, or list the ids that would be exported."""
    from winnow.runners.stages.exports import run_export

    return run_export(options, open_console())
