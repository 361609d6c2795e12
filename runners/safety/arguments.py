"""What `winnow safety-parity` understands on the command line."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_safety_parity(commands: "Commands") -> None:
    """Add the command to the parser's others."""
    parser = commands.add_parser(
        "safety-parity",
        help="what safety rules drop of clean texts in each language, and what they find of what is planted",
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="*",
        help="clean texts: Parquet or JSON lines with columns of texts and languages, or a store "
        "(default: those that come with winnow)",
    )
    parser.add_argument(
        "--preset",
        action="append",
        metavar="NAME",
        help="whose rules; may be given several times (default: safety)",
    )
    parser.add_argument(
        "--planted",
        type=int,
        default=8,
        metavar="N",
        help="plant in the first N texts of each language (default: %(default)s)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N documents")
    parser.add_argument(
        "--examples", type=int, default=0, metavar="N", help="name N clean texts of each language that each rule drops"
    )
    parser.add_argument(
        "--naive",
        action="store_true",
        help="beside it, what filters would drop that take any listed word for a reason, or its letters anywhere",
    )
    parser.add_argument("--text", default="text", metavar="COLUMN", help="the column of texts (default: %(default)s)")
    parser.add_argument("--id", default="id", metavar="COLUMN", help="the column of names (default: %(default)s)")
    parser.add_argument(
        "--language", default="language", metavar="COLUMN", help="the column of languages (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
