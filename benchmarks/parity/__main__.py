"""`python -m benchmarks.parity PRESET DATA…`: a preset beside the code that it follows, document by document."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.measuring.document_progress import DocumentProgress
from benchmarks.measuring.environments import ENVIRONMENTS, imports, installed_python, peer_python
from benchmarks.parity.adapters import find_adapter
from benchmarks.parity.compare import compare
from benchmarks.parity.documents import read_documents
from benchmarks.parity.options import columns_of, document_options, run_command
from benchmarks.parity.show import as_json, left_out, print_comparison
from winnow.filters.presets import find_preset
from winnow.runners.tables.quantities import grouped
from winnow.schemas.errors import WinnowError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; a mistake is one line and the status 1."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.parity",
        description="Compare a preset with the code that it follows, document by document.",
        allow_abbrev=False,
    )
    parser.add_argument("preset", metavar="PRESET", help="a preset, such as gopher@datatrove")
    parser.add_argument(
        "data", metavar="DATA", nargs="+", help="Parquet or JSON lines with a column of texts, or a store"
    )
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        help="the Python that has the peer (default: its own environment, made on first use)",
    )
    document_options(parser, "compare the first N documents")
    return run_command(parser, run_parity, arguments)


def run_parity(options: argparse.Namespace, console: Console) -> int:
    """0 when both sides say the same of every document, 1 when not."""
    columns = columns_of(options)
    preset = find_preset(options.preset)
    adapter = find_adapter(preset.name)
    python = find_python(adapter.peer, options.peer_python)
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


def find_python(peer: str, given: str | None) -> Path:
    """The Python that has the peer: the one given, else one that has it already, else one that is made for it."""
    if given is None:
        return installed_python(peer) or peer_python(peer)
    module = ENVIRONMENTS[peer].imports
    if not imports(Path(given), module):
        raise WinnowError(f"--peer-python {given}: cannot import {module}; without the option an environment is made")
    return Path(given)


if __name__ == "__main__":
    sys.exit(main())
