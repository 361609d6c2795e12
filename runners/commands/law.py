"""`winnow law`: the scaling law of language families: fit it, and what it says to sample."""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands

_PLOT = "draw into this SVG file"
_SIZE = "a count: 85000000, 1.2e9, 85M or 20B (B is 10^9)"


def add(commands: "Commands") -> None:
    """The command, its subcommands and their arguments."""
    law = commands.add_parser("law", help="the scaling law of language families: fit it, and what it says to sample")
    parts = law.add_subparsers(dest="part", required=True, metavar="PART")
    for add in (add_fit, add_ratios, add_compare, add_show, add_published, add_probe):
        add(parts)


def run(options: argparse.Namespace) -> int:
    """Run one subcommand, which is the module of its name in `runners/law/`; none of them needs Beam."""
    import numpy as np
    from rich.console import Console

    module = import_module(f"winnow.runners.law.{options.part}")
    body: Callable[[argparse.Namespace, Console], int] = module.run
    with np.errstate(all="ignore"):  # what has no number is refused where it is read; a library's warning says nothing
        return body(options, Console())


def add_fit(parts: "Commands") -> None:
    """`winnow law fit`."""
    fit = parts.add_parser("fit", help="fit the law to training runs, with intervals and tests of what it assumes")
    fit.add_argument(
        "runs", nargs="+", metavar="RUNS.csv", help="tables of family, N, D, p, loss, seed and maybe run; - is stdin"
    )
    fit.add_argument("--mode", choices=("full", "gamma"), default="full", help="gamma: the exponent of p alone")
    fit.add_argument(
        "--method",
        choices=("joint", "two-stage"),
        type=lambda text: text.replace("_", "-"),  # a law's file writes it with an underscore
        default="joint",
        help="which estimates the law takes (%(default)s)",
    )
    fit.add_argument("--resamples", type=int, default=1000, metavar="N", help="of the bootstrap (default: %(default)s)")
    fit.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap and tests (default: 0)")
    fit.add_argument(
        "--min-seeds", type=int, default=2, metavar="N", help="seeds that a family must have (default: %(default)s)"
    )
    fit.add_argument("--output", metavar="LAW.json", help="write the law into this file")
    fit.add_argument("--plot", metavar="FILE.svg", help=f"losses against p, and the law through them: {_PLOT}")
    fit.add_argument("--json", action="store_true", help="print one JSON object")


def add_ratios(parts: "Commands") -> None:
    """`winnow law ratios`."""
    ratios = parts.add_parser("ratios", help="the shares of families of least loss, and how certain they are")
    _law(ratios)
    ratios.add_argument(
        "--weights",
        default="normalised",
        metavar="W",
        help="what losses count: normalised (each in units of its own at p = 1; default), uniform, or a CSV file of "
        "family, weight",
    )
    _sizes(ratios, "D, tokens of the whole mixture")
    ratios.add_argument("--tokens", metavar="FILE.csv", help="family, tokens: what there is, for --fallback")
    ratios.add_argument(
        "--with", nargs="+", default=[], dest="others", metavar="FAMILY", help="families that the law lacks"
    )
    ratios.add_argument(
        "--fallback",
        choices=("unimax", "proportional"),
        default="unimax",
        help="what gives them their share (default: %(default)s; without --tokens, an equal one)",
    )
    ratios.add_argument("--plot", metavar="FILE.svg", help=f"shares with their intervals, by weighting: {_PLOT}")
    ratios.add_argument("--csv", metavar="FILE", help="write family, share, low, high, method into this file")
    ratios.add_argument("--json", action="store_true", help="print one JSON object")


def add_compare(parts: "Commands") -> None:
    """`winnow law compare`."""
    compare = parts.add_parser("compare", help="proportional, temperature, UniMax and the law on the same tokens")
    _law(compare)
    compare.add_argument("--tokens", required=True, metavar="FILE.csv", help="family, tokens: what there is")
    _sizes(compare, "tokens to train on (default: everything once)")
    compare.add_argument("--weights", default="normalised", metavar="W", help="of the law, as for winnow law ratios")
    compare.add_argument("--temperature", type=float, default=3.3, metavar="T", help="(default: %(default)s)")
    compare.add_argument("--unimax-epochs", type=float, metavar="E", help="UniMax's cap on repeats (default: 4)")
    compare.add_argument("--max-epochs", type=float, metavar="E", help="a cap on repeats for every method")
    compare.add_argument(
        "--fallback",
        choices=("unimax", "proportional", "temperature"),
        default="unimax",
        help="for families that the law lacks (default: %(default)s)",
    )
    compare.add_argument("--json", action="store_true", help="print one JSON object")


def add_show(parts: "Commands") -> None:
    """`winnow law show`."""
    show = parts.add_parser("show", help="a law file for a person: parameters, ranges, quality, where it comes from")
    _law(show)
    show.add_argument("--json", action="store_true", help="print one JSON object, without the bootstrap's draws")


def add_published(parts: "Commands") -> None:
    """`winnow law published`."""
    published = parts.add_parser("published", help="which of the paper's numbers can be computed again, and which not")
    published.add_argument("--json", action="store_true", help="print one JSON object")


def add_probe(parts: "Commands") -> None:
    """`winnow law probe`."""
    probe = parts.add_parser(
        "probe",
        help="train small language models over sizes, lengths and mixtures, and write their losses as runs",
        epilog="Needs winnow[torch]. Stopped at any time, the same command goes on from where it was.",
    )
    probe.add_argument(
        "place",
        metavar="RECIPE|STORE|FOLDER",
        help="a recipe (its kept samples, by family), a store, or a folder with one text file FAMILY.txt a family, "
        "documents parted by empty lines",
    )
    probe.add_argument("--output", required=True, metavar="RUNS.csv", help="where the table of runs goes")
    probe.add_argument(
        "--grid", metavar="GRID.yaml", help="sizes, lengths, mixtures, seeds (default: one small model, gamma alone)"
    )
    probe.add_argument(
        "--work", metavar="FOLDER", help="packed texts, checkpoints, finished runs (default: RUNS.work beside RUNS.csv)"
    )
    probe.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(default: %(default)s)")
    probe.add_argument("--threads", type=int, default=1, metavar="N", help="of PyTorch, on the CPU (default: 1)")
    probe.add_argument(
        "--checkpoint-steps", type=int, default=500, metavar="N", help="steps between checkpoints (default: 500)"
    )
    probe.add_argument("--partial", action="store_true", help="train nothing; write the runs that are finished")


def _law(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("law", metavar="LAW.json", help="what winnow law fit wrote")


def _sizes(parser: argparse.ArgumentParser, d: str) -> None:
    parser.add_argument("--n", metavar="N", help=f"the model's size, in the law's unit: {_SIZE}")
    parser.add_argument("--d", metavar="D", help=f"{d}: {_SIZE}")
