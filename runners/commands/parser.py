"""The command-line parser: abbreviated flags are rejected, and each error is one line."""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from winnow.schemas.problems import suggestion

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_TIME = re.compile(r"[0-9]+[a-z]?")
_HELP_CELLS = 14  # of the names of commands in the help


class CommandParser(argparse.ArgumentParser):
    """The parser of winnow or of one of its commands."""

    def __init__(self, **named: Any) -> None:
        self.flags: list[str] = []
        super().__init__(**named, allow_abbrev=False)
        self.set_defaults(parser=self)  # the innermost command's parser reports unexpected arguments

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an argument, and remember its flags for suggestions."""
        self.flags += [name for name in names if name.startswith("--")]
        return super().add_argument(*names, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what follows `--wait` is its time only if it looks like one: `--wait RECIPE` has none."""
        given = sys.argv[1:] if args is None else list(args)
        after = [*given, ""][1:]
        given = [
            "--wait=" if one == "--wait" and _TIME.fullmatch(then) is None else one
            for one, then in zip(given, after, strict=True)
        ]
        return super().parse_known_args(given, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command in winnow's own words, as argparse's differ between versions of Python."""
        if action.choices is None or value in action.choices:
            return
        known = list(action.choices)
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"no command {value!r}{suggestion(value, known)}")
        choices = ", ".join(map(repr, known))
        raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {choices})")

    def error(self, message: str) -> NoReturn:
        """Exit with a one-line message, without argparse's usage text."""
        self.exit(2, f"winnow: {message}; see '{self.prog} --help'\n")

    def refuse(self, command: str, rest: list[str], *, beam: bool, sliced: Callable[[], Iterable[str]]) -> NoReturn:
        """Exit with a message about the first unexpected argument in `rest`.

        `beam`: whether the command's flags after '--' go to Beam. `sliced`: finds the commands that accept `--tasks`.
        """
        flag = next((one.partition("=")[0] for one in rest if one.startswith("-")), None)
        if flag is None:
            self.error(f"{self.prog}: unexpected argument {rest[0]!r}")
        if flag == "--tasks":
            self.error(f"winnow {command} does not take --tasks; only {', '.join(sliced())} do")
        more = "; write Beam's flags after '--'" if beam else ""
        self.error(f"{self.prog} has no flag {flag}{suggestion(flag, self.flags)}{more}")


def describe_commands(commands: "Commands") -> None:
    """Begin the help of each command, and of its parts, with its line in the list of commands."""
    summaries = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    for name, command in commands.choices.items():
        summary = summaries.get(name, "")
        command.description = command.description or f"{summary[:1].upper()}{summary[1:]}{'.' if summary else ''}"
        for action in command._actions:
            if isinstance(action, argparse._SubParsersAction):
                describe_commands(action)


def group_commands(parser: argparse.ArgumentParser, commands: "Commands", groups: Mapping[str, Iterable[str]]) -> None:
    """List the commands in the help of a parser by groups."""
    summaries = {choice.dest: choice.help or "" for choice in commands._choices_actions}
    lines = [parser.description or "", ""]
    for group, names in groups.items():
        lines.append(f"{group}:")
        for name in names:
            first, *rest = textwrap.wrap(summaries[name], 80 - _HELP_CELLS - 2)
            lines.append(f"  {name:<{_HELP_CELLS}}{first}")
            lines += [f"  {'':<{_HELP_CELLS}}{line}" for line in rest]
        lines.append("")
    lines.append("Flags after '--' go to Beam. See 'winnow COMMAND --help' for its arguments.")
    commands.help = argparse.SUPPRESS  # the list without groups
    parser.usage = "winnow [-h] [--version] [--debug] COMMAND ..."
    parser.description = "\n".join(lines)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


def recipe_argument(parser: argparse.ArgumentParser, text: str = "a recipe file") -> None:
    """Add the recipe argument."""
    parser.add_argument("recipe", metavar="RECIPE", help=text)


def place_argument(parser: argparse.ArgumentParser) -> None:
    """Add an argument that is a recipe or a store."""
    parser.add_argument("place", metavar="RECIPE|STORE", help="a recipe file or a store folder")


def slice_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--tasks`, for schedulers without Beam."""
    parser.add_argument(
        "--tasks", metavar="K/N", help="run slice K of N of the tasks without publishing; see docs/howto/slurm.md"
    )


def wait_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--wait`, for commands that hold a store until they end."""
    parser.add_argument(
        "--wait",
        nargs="?",
        const="",
        metavar="TIME",
        help="if another process holds the store, wait until it ends, at most for a TIME such as 90s, 30m or 2h",
    )


def notes_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--notes`, for commands that plan a mixture."""
    parser.add_argument("--notes", action="store_true", help="print all notes on the scaling law, not only the first")


def engine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--runner`, `--workers` and `--wait`."""
    runner_arguments(parser)
    wait_argument(parser)


def runner_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--runner` and `--workers`, for commands that hold no store."""
    parser.add_argument(
        "--runner",
        default="local",
        metavar="NAME",
        help="local (default), portable, spark, flink, dataflow or prism; see docs/howto/engines.md",
    )
    parser.add_argument("--workers", metavar="N", help="worker processes (default: one per core)")
    output_arguments(parser)


def output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet` and `--log-file`."""
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--log-file", metavar="FILE", help="add what is printed, and what libraries warn of, to this file, with times"
    )
