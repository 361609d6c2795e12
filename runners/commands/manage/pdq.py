"""`winnow pdq`: write the PDQ hashes of pictures to a list, for the operator image.contamination."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import open_console

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "pdq",
        help="write the PDQ hashes of a folder's pictures to a list, for the operator image.contamination",
        epilog="Given a recipe or a store, the hashes of its layer image.pdq are written: so pictures in tars, tables "
        "and archives can be listed.",
    )
    parser.add_argument("place", metavar="FOLDER|RECIPE|STORE", help="a folder with pictures, a recipe or a store")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="list to write, one hash per line")


def run(options: argparse.Namespace) -> int:
    """Write the list; the exit status is 3 if there is no picture to list."""
    from winnow.runners.stages.lists.hashes import write_hash_list

    return write_hash_list(options.place, options.output, open_console())
