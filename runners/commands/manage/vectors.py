"""`winnow vectors`: write the vectors of pictures to a list, for image.contamination, or a map of any layer's."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FOLDER|RECIPE|STORE", help="a folder with pictures, a recipe or a store")
    written = parser.add_mutually_exclusive_group(required=True)
    written.add_argument("--output", type=Path, metavar="FILE", help="list to write, in safetensors")
    written.add_argument(
        "--atlas",
        type=Path,
        metavar="FILE",
        help="write a Parquet table that embedding-atlas reads instead: rows of the layer on a map, with neighbours",
    )
    parser.add_argument("--preset", default="copies@sscd", help="preset whose encoder measures the folder's pictures")
    parser.add_argument("--layer", default="image.embedding", help="the layer of the store that has the vectors")


def run(options: argparse.Namespace) -> int:
    """Write the list or the table; the exit status is 3 if it would be empty."""
    if options.atlas is not None:
        from winnow.runners.stages.lists.atlas import write_atlas

        return write_atlas(options.place, options.atlas, options.layer, open_console())
    from winnow.runners.stages.lists.vectors import write_vector_list

    return write_vector_list(options.place, options.output, options.preset, options.layer, open_console())


COMMAND = Command(
    "write the vectors of a folder's pictures to a list, for the operator image.contamination",
    arguments,
    run,
    place=5,
    epilog="Given a recipe or a store, the vectors of its layer image.embedding are written: so pictures in tars, "
    "tables and archives, and other encoders, can be listed. With --atlas, any layer of vectors is taken, such as "
    "text.embedding: at most 50,000 rows, spread over the store.",
)
