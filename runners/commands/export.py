"""`winnow export`: write the mixture in the recipe's formats."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console
from winnow.runners.commands.parser import engine_arguments

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "export", help="write the mixture in the recipe's formats; existing exports are left unchanged"
    )
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix' and an 'export'")
    parser.add_argument(
        "--sample",
        default="100%",
        metavar="SHARE",
        help="export this share of the plan, such as 1%% (default: %(default)s)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace exports that belong to another plan, are damaged or lack samples, once the new ones are complete",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="write nothing; read the recipe's exports and check their files against the recorded hashes",
    )
    parser.add_argument(
        "--id-list",
        metavar="FILE",
        help="write only the ids of the training samples, as a .npy file: unique, sorted, two 64-bit numbers each",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Export, verify exports, or list the ids that would be exported."""
    from winnow.runners.stages.exports import run_export

    return run_export(options, open_console())
