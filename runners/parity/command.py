"""`winnow parity PRESET DATA…`: compare, show, and say by the exit status whether both are the same."""

import argparse
import sys

from rich.console import Console

from winnow.filters.presets import find_preset
from winnow.runners.document_progress import DocumentProgress
from winnow.runners.parity.adapters import find_adapter
from winnow.runners.parity.compare import compare
from winnow.runners.parity.documents import Columns, read_documents
from winnow.runners.parity.environments import find_python
from winnow.runners.parity.show import as_json, left_out, print_comparison
from winnow.runners.quantities import grouped
from winnow.schemas.errors import WinnowError


def run_parity(options: argparse.Namespace, console: Console) -> int:
    """0 when both sides say the same of every document, 1 when not."""
    if options.limit is not None and options.limit < 1:
        raise WinnowError(f"--limit {options.limit}: expected 1 or more")
    preset = find_preset(options.preset)
    adapter = find_adapter(preset.name)
    python = find_python(adapter.peer, options.peer_python)
    columns = Columns(options.text, options.id, options.language)
    found = compare(preset, adapter, python, read_documents(options.data, columns, options.limit), DocumentProgress())
    if found.documents == 0:
        raise WinnowError(
            f"{', '.join(options.data)}: no document has a text in the column {options.text!r}; nothing was compared"
        )
    if found.documents == found.left_out.total():
        raise WinnowError(f"none of {grouped(found.documents)} documents can be judged by both sides{left_out(found)}")
    if options.json:
        sys.stdout.write(as_json(found, adapter).decode() + "\n")
    else:
        print_comparison(found, adapter, console)
    return 0 if found.equal else 1
