"""The parser of the command line: no flag is guessed, and a mistake in what was typed is one line."""

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from winnow.schemas.problems import suggestion

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

PIPELINES = frozenset({"run", "ingest", "annotate", "dedupe", "score", "demo", "mix", "export"})
"""The commands whose flags after '--' go to Beam."""

SLICED = ("ingest", "annotate", "score")
"""The commands that know `--tasks`."""


class CommandParser(argparse.ArgumentParser):
    """A parser of winnow's, or of one of its commands."""

    def __init__(self, **named: Any) -> None:
        self.flags: list[str] = []
        super().__init__(**named, allow_abbrev=False)
        self.set_defaults(parser=self)  # of the innermost command: what refuses what is left over

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """As argparse does it; flags are remembered, to name the nearest of a misspelt one."""
        self.flags += [name for name in names if name.startswith("--")]
        return super().add_argument(*names, **settings)

    def error(self, message: str) -> NoReturn:
        """End with one line, where argparse would show the whole usage."""
        self.exit(2, f"winnow: {message}; '{self.prog} --help' says more\n")

    def refuse(self, command: str, rest: list[str]) -> NoReturn:
        """End with what a command was given and does not know."""
        flag = next((one.partition("=")[0] for one in rest if one.startswith("-")), None)
        if flag is None:
            self.error(f"{self.prog}: nothing is known of {rest[0]!r}, which comes after all that is expected")
        if flag == "--tasks":
            self.error(f"winnow {command} has no slices; --tasks is for {', '.join(SLICED)}")
        more = "; flags of Beam's come after '--'" if command in PIPELINES else ""
        self.error(f"{self.prog} has no flag {flag}{suggestion(flag, self.flags)}{more}")


def recipe_argument(parser: argparse.ArgumentParser, text: str = "a recipe file") -> None:
    """The recipe that a command works on."""
    parser.add_argument("recipe", metavar="RECIPE", help=text)


def place_argument(parser: argparse.ArgumentParser) -> None:
    """A recipe, whose store is meant, or a store alone."""
    parser.add_argument("place", metavar="RECIPE|STORE", help="a recipe file, or a store's folder")


def slice_argument(parser: argparse.ArgumentParser) -> None:
    """`--tasks`, for schedulers without Beam."""
    parser.add_argument(
        "--tasks", metavar="K/N", help="run slice K of N of the tasks and publish nothing; see docs/howto/slurm.md"
    )


def engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Where a command's pipelines run, and on how many workers."""
    parser.add_argument(
        "--runner",
        default="local",
        metavar="NAME",
        help="local (default), portable, spark, flink, dataflow or prism; see docs/howto/engines.md",
    )
    parser.add_argument("--workers", default="0", metavar="N", help="worker processes (default: one per core)")
