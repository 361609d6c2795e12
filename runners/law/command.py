"""`winnow law PART`: finds the module of a subcommand. Beam is not needed for any of them, and not loaded."""

import argparse
import importlib
from collections.abc import Callable

import numpy as np
from rich.console import Console


def law(options: argparse.Namespace) -> int:
    """Run one subcommand; returns the process's exit status."""
    module = importlib.import_module(f"winnow.runners.law.{options.part}")
    run: Callable[[argparse.Namespace, Console], int] = module.run
    with np.errstate(all="ignore"):  # what has no number is refused where it is said; a library's warning says nothing
        return run(options, Console())
