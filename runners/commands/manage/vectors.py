"""`winnow vectors`: write the vectors of pictures to a list, for the operator image.contamination."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FOLDER|RECIPE|STORE", help="a folder with pictures, a recipe or a store")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="list to write, in safetensors")
    parser.add_argument("--preset", default="copies@sscd", help="preset whose encoder measures the folder's pictures")
    parser.add_argument("--layer", default="image.embedding", help="the layer of the store that has the vectors")


def run(options: argparse.Namespace) -> int:
    """Write the list; the exit status is 3 if there is no picture to list."""
    from winnow.runners.stages.lists.vectors import write_vector_list

    return write_vector_list(options.place, options.output, options.preset, options.layer, open_console())


COMMAND = Command(
    "write the vectors of a folder's pictures to a list, for the operator image.contamination",
    arguments,
    run,
    place=5,
    epilog="Given a recipe or a store, the vectors of its layer image.embedding are written: so pictures in tars, "
    "tables and archives, and other encoders, can be listed.",
)
