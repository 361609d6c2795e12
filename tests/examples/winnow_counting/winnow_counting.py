"""`winnow count-files`: a command of a third party, which counts the files below a folder."""

import argparse
from pathlib import Path

from winnow.runners.commands.command import Command


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder")


def run(options: argparse.Namespace) -> int:
    """Count them; the exit status is 3 if there are none."""
    count = sum(1 for file in options.folder.rglob("*") if file.is_file())
    print(f"{count} files")
    return 0 if count else 3


COMMAND = Command("count the files below a folder", arguments, run, group="counting")
