"""`winnow safety-parity [DATA…]`: measure and show."""

import argparse
import sys
from itertools import islice

from rich.console import Console

from winnow.runners.document_progress import DocumentProgress
from winnow.runners.parity.documents import Columns, read_documents
from winnow.runners.safety.known import bundled, own
from winnow.runners.safety.measuring import joined, measured
from winnow.runners.safety.planting import all_planters
from winnow.runners.safety.show import as_json, print_findings
from winnow.schemas.errors import WinnowError

PRESET = "safety"


def run_safety_parity(options: argparse.Namespace, console: Console) -> int:
    """0 when something was measured; how much a rule may cost a language is for people to judge."""
    for name, least in (("planted", 0), ("examples", 0)):
        if getattr(options, name) < least:
            raise WinnowError(f"--{name} {getattr(options, name)}: expected {least} or more")
    if options.limit is not None and options.limit < 1:
        raise WinnowError(f"--limit {options.limit}: expected 1 or more")
    preset = joined(options.preset or [PRESET])
    columns = Columns(options.text, options.id, options.language)
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
