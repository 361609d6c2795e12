"""The arguments of `winnow law probe`, apart from what it imports."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


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
