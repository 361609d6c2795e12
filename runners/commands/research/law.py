"""`winnow law`: fit the scaling law of language families, and derive sampling shares from it."""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands

_PLOT = "as an SVG file"
_SIZE = "a count: 85000000, 1.2e9, 85M or 20B (B is 10^9)"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's subcommands."""
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    for add in (add_fit, add_ratios, add_compare, add_show, add_published, add_probe):
        add(parts)


def run(options: argparse.Namespace) -> int:
    """Run one subcommand: the module of the same name in `runners/stages/law/`. None of them needs Beam."""
    import numpy as np
    from rich.console import Console

    module = import_module(f"winnow.runners.stages.law.{options.part}")
    body: Callable[[argparse.Namespace, Console], int] = module.run
    with np.errstate(all="ignore"):  # inputs without a number are rejected where they are read
        return body(options, open_console())


def add_fit(parts: "Commands") -> None:
    """Add `winnow law fit`."""
    fit = parts.add_parser("fit", help="fit the law to training runs, with intervals and tests of its assumptions")
    fit.add_argument(
        "runs",
        nargs="+",
        metavar="RUNS.csv",
        help="tables with family, N, D, p, loss, seed and optionally run; - is stdin",
    )
    fit.add_argument("--mode", choices=("full", "gamma"), default="full", help="gamma: fit only the exponent of p")
    fit.add_argument(
        "--method",
        choices=("joint", "two-stage"),
        type=lambda text: text.replace("_", "-"),  # a law's file writes it with an underscore
        default="joint",
        help="how to estimate the law (default: %(default)s)",
    )
    fit.add_argument(
        "--resamples", type=int, default=1000, metavar="N", help="bootstrap resamples (default: %(default)s)"
    )
    fit.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the bootstrap and the tests (default: 0)"
    )
    fit.add_argument(
        "--min-seeds",
        type=int,
        default=1,
        metavar="N",
        help="seeds required per family (default: %(default)s; one seed is warned of)",
    )
    fit.add_argument("--output", metavar="LAW.json", help="write the law to this file")
    fit.add_argument("--plot", metavar="FILE.svg", help=f"plot losses against p with the fitted law, {_PLOT}")
    fit.add_argument("--json", action="store_true", help="print one JSON object")


def add_ratios(parts: "Commands") -> None:
    """Add `winnow law ratios`."""
    ratios = parts.add_parser("ratios", help="the family shares with the lowest loss, with intervals")
    _law(ratios)
    ratios.add_argument(
        "--weights",
        default="normalised",
        metavar="W",
        help="the weight of each family's loss: normalised (relative to its loss at p = 1; default), uniform, or a CSV "
        "file with family, weight",
    )
    _sizes(ratios, "tokens of the whole mixture")
    ratios.add_argument("--tokens", metavar="FILE.csv", help="available tokens (family, tokens), for --fallback")
    ratios.add_argument(
        "--with", nargs="+", default=[], dest="others", metavar="FAMILY", help="families to add that the law lacks"
    )
    ratios.add_argument(
        "--fallback",
        choices=("unimax", "proportional"),
        default="unimax",
        help="how to set the share of added families (default: %(default)s; equal shares without --tokens)",
    )
    ratios.add_argument("--plot", metavar="FILE.svg", help=f"plot shares with intervals, by weighting, {_PLOT}")
    ratios.add_argument("--csv", metavar="FILE", help="write family, share, low, high, method to this file")
    ratios.add_argument("--json", action="store_true", help="print one JSON object")


def add_compare(parts: "Commands") -> None:
    """Add `winnow law compare`."""
    compare = parts.add_parser(
        "compare", help="compare proportional, temperature, UniMax and the law on the same tokens"
    )
    _law(compare)
    compare.add_argument("--tokens", required=True, metavar="FILE.csv", help="available tokens (family, tokens)")
    _sizes(compare, "tokens to train on (default: everything once)")
    compare.add_argument(
        "--weights", default="normalised", metavar="W", help="weights for the law, as in winnow law ratios"
    )
    compare.add_argument(
        "--temperature", type=float, default=3.3, metavar="T", help="sampling temperature (default: %(default)s)"
    )
    compare.add_argument("--unimax-epochs", type=float, metavar="E", help="cap on repeats for UniMax (default: 4)")
    compare.add_argument("--max-epochs", type=float, metavar="E", help="cap on repeats for every method")
    compare.add_argument(
        "--fallback",
        choices=("unimax", "proportional", "temperature"),
        default="unimax",
        help="method for families that the law lacks (default: %(default)s)",
    )
    compare.add_argument("--json", action="store_true", help="print one JSON object")


def add_show(parts: "Commands") -> None:
    """Add `winnow law show`."""
    show = parts.add_parser("show", help="show a law file: parameters, ranges, quality of fit, origin")
    _law(show)
    show.add_argument("--json", action="store_true", help="print one JSON object, without the bootstrap draws")


def add_published(parts: "Commands") -> None:
    """Add `winnow law published`."""
    published = parts.add_parser("published", help="show which of the paper's numbers can be reproduced")
    published.add_argument("--json", action="store_true", help="print one JSON object")


def add_probe(parts: "Commands") -> None:
    """Add `winnow law probe`."""
    probe = parts.add_parser(
        "probe",
        help="train small language models over sizes, lengths and mixtures, and write their losses as a table of runs",
        epilog="Needs winnow[torch]. If interrupted, run the same command again to continue.",
    )
    probe.add_argument(
        "place",
        metavar="RECIPE|STORE|FOLDER",
        help="a recipe (its kept samples, by family), a store, or a folder with one FAMILY.txt per family, documents "
        "separated by empty lines",
    )
    probe.add_argument("--output", required=True, metavar="RUNS.csv", help="write the table of runs to this file")
    probe.add_argument(
        "--grid", metavar="GRID.yaml", help="sizes, lengths, mixtures, seeds (default: one small model, gamma alone)"
    )
    probe.add_argument(
        "--work", metavar="FOLDER", help="folder for packed texts, checkpoints and finished runs (default: RUNS.work)"
    )
    probe.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where to train (default: %(default)s)")
    probe.add_argument("--threads", type=int, default=1, metavar="N", help="PyTorch threads on the CPU (default: 1)")
    probe.add_argument(
        "--checkpoint-steps", type=int, default=500, metavar="N", help="steps between checkpoints (default: 500)"
    )
    probe.add_argument("--partial", action="store_true", help="write the finished runs; train nothing")


def _law(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("law", metavar="LAW.json", help="a law written by winnow law fit")


def _sizes(parser: argparse.ArgumentParser, d: str) -> None:
    parser.add_argument("--n", metavar="N", help=f"model size in the law's unit; {_SIZE}")
    parser.add_argument("--d", metavar="D", help=f"{d}; {_SIZE}")


COMMAND = Command(
    "fit the scaling law of language families, and derive sampling shares from it", arguments, run, place=2
)
