"""What `winnow parity` understands on the command line."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parity(commands: "Commands") -> None:
    """Add the command to the parser's others."""
    parser = commands.add_parser(
        "parity", help="a preset beside the peer's own code that it follows, document by document"
    )
    parser.add_argument("preset", metavar="PRESET", help="a preset, such as gopher@datatrove")
    parser.add_argument(
        "data", metavar="DATA", nargs="+", help="Parquet or JSON lines with a column of texts, or a store"
    )
    parser.add_argument("--peer-python", metavar="PATH", help="the Python that has the peer (default: look for it)")
    parser.add_argument("--limit", type=int, metavar="N", help="compare the first N documents")
    parser.add_argument("--text", default="text", metavar="COLUMN", help="the column of texts (default: %(default)s)")
    parser.add_argument("--id", default="id", metavar="COLUMN", help="the column of names (default: %(default)s)")
    parser.add_argument(
        "--language", default="language", metavar="COLUMN", help="the column of languages (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
