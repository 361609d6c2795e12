"""The parser of the command line: no flag is guessed, and a mistake in what was typed is one line."""

import argparse
from typing import Any, NoReturn

from winnow.schemas.places import suggestion

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
