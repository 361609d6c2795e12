"""The options of `winnow robots`; loads nothing, as help must come at once."""

import argparse


def add_robots(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "robots", help="the robots.txt and tdmrep.json that a store holds, as a file for the operator url.robots"
    )
    parser.add_argument("place", metavar="RECIPE|STORE", help="a recipe file, or a store's folder")
    parser.add_argument("--output", required=True, metavar="FILE", help="JSON lines; gzip where it ends with .gz")
