"""`winnow card`: write a dataset card in Markdown."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import bound_recipe, open_console, store_of
from winnow.runners.commands.parser import recipe_argument

if TYPE_CHECKING:
    from winnow.runners.commands.parser import Commands


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("card", help="write a dataset card in Markdown: kept samples and detector coverage")
    recipe_argument(parser)
    parser.add_argument("--output", metavar="FILE", help="file to write (default: stdout)")


def run(options: argparse.Namespace) -> int:
    """Write the card."""
    from winnow.runners.report.cards.store import card
    from winnow.runners.terminal.rules import require_writable

    recipe = bound_recipe(options.recipe)
    store = store_of(recipe)
    if options.output is None:
        sys.stdout.write(card(recipe, store))
        return 0
    target = Path(options.output)
    require_writable("--output", target)
    target.write_text(card(recipe, store), encoding="utf-8")
    open_console().print(f"card  {target}", soft_wrap=True)
    return 0
