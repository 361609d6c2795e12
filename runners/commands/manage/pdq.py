"""`winnow pdq`: write the PDQ hashes of pictures to a list, for the operator image.contamination."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FOLDER|RECIPE|STORE", help="a folder with pictures, a recipe or a store")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="list to write, one hash per line")


def run(options: argparse.Namespace) -> int:
    """Write the list; the exit status is 3 if there is no picture to list."""
    from winnow.runners.stages.lists.hashes import write_hash_list

    return write_hash_list(options.place, options.output, open_console())


COMMAND = Command(
    "write the PDQ hashes of a folder's pictures to a list, for the operator image.contamination",
    arguments,
    run,
    place=4,
    epilog="Given a recipe or a store, the hashes of its layer image.pdq are written: so pictures in tars, tables "
    "and archives can be listed.",
)
