"""The arguments of `winnow engines`, apart from what it imports."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_engines(commands: "Commands") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("engines", help="what pipelines can run on, what each needs, and what of it is here")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="a line an engine, and how to get what is missing (the default)")
    for listed in (parser, listing):
        listed.add_argument("--json", action="store_true", help="print one JSON object")
    building = actions.add_parser("build", help="make an engine's job server now, rather than in the first run")
    building.add_argument("engine", choices=("spark", "flink"), metavar="ENGINE", help="spark or flink")
    building.add_argument(
        "--engine-version", metavar="V", help="the exact version of the cluster's Spark, such as 3.5.1 (default: 3.5.0)"
    )
