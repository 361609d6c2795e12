"""`python -m benchmarks.safety_parity [DATA…]`: what safety rules drop of clean texts, and find of planted ones."""

import argparse
import sys
from collections.abc import Sequence
from itertools import islice

from rich.console import Console

from benchmarks.measuring.document_progress import DocumentProgress
from benchmarks.parity.documents import read_documents
from benchmarks.parity.options import columns_of, document_options, run_command
from benchmarks.safety_parity.known import bundled, own
from benchmarks.safety_parity.measuring import joined, measured
from benchmarks.safety_parity.planting import all_planters
from benchmarks.safety_parity.show import as_json, print_findings
from winnow.schemas.errors import WinnowError

PRESET = "safety"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; a mistake is one line and the status 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.safety_parity",
        description="Measure what safety rules drop of clean texts in each language, and find of what is planted.",
        allow_abbrev=False,
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
    parser.add_argument(
        "--examples", type=int, default=0, metavar="N", help="name N clean texts of each language that each rule drops"
    )
    parser.add_argument(
        "--naive",
        action="store_true",
        help="beside it, what filters would drop that take any listed word for a reason, or its letters anywhere",
    )
    document_options(parser, "read the first N documents")
    return run_command(parser, run_safety_parity, arguments)


def run_safety_parity(options: argparse.Namespace, console: Console) -> int:
    """0 when something was measured; how much a rule may cost a language is for people to judge."""
    for name, least in (("planted", 0), ("examples", 0)):
        if getattr(options, name) < least:
            raise WinnowError(f"--{name} {getattr(options, name)}: expected {least} or more")
    columns = columns_of(options)
    preset = joined(options.preset or [PRESET])
    clean = (
        own(read_documents(options.data, columns, options.limit)) if options.data else islice(bundled(), options.limit)
    )
    planting = all_planters()
    found = measured(
        preset, clean, planting, options.planted, options.examples, DocumentProgress(), naive=options.naive
    )
    if not found.clean:
        raise WinnowError(
            f"{', '.join(options.data)}: no document has a text in the column {options.text!r}; nothing was measured"
        )
    if options.json:
        sys.stdout.write(as_json(preset.name, found, planting.left_out).decode() + "\n")
    else:
        print_findings(preset.name, found, planting.left_out, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
