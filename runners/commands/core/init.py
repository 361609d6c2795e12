"""`winnow init`: write a recipe for the files of a folder."""

import argparse
import shlex
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.stages.opening import open_console
from winnow.schemas.errors import RecipeError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "places", metavar="FOLDER", nargs="*", default=["."], help="folders, files or bucket addresses (default: here)"
    )
    parser.add_argument("--output", metavar="FILE", default="recipe.yaml", help="the recipe (default: recipe.yaml)")
    parser.add_argument("--replace", action="store_true", help="replace a recipe that exists")


def run(options: argparse.Namespace) -> int:
    """Look at the files, and write a recipe for each medium."""
    from winnow.runners.first_look.address_lists import address_file
    from winnow.runners.first_look.found_files import find_files
    from winnow.runners.first_look.proposal import Proposal, installing, lacking, propose
    from winnow.runners.first_look.recipe_text import recipe_text
    from winnow.runners.first_look.unread import irregular_notes, unread_notes
    from winnow.runners.tables.quantities import byte_size
    from winnow.runners.terminal.tables import print_line

    output = Path(options.output)
    if not output.parent.is_dir():
        raise RecipeError(f"{output.parent}: no such folder; make it first")
    if (listed := address_file(options.places)) is not None:
        proposal, notes = Proposal((listed.source,), (listed.told(),)), []
    else:
        found = find_files(options.places)
        proposal = propose(found)
        notes = [*unread_notes(found.unread), *irregular_notes(found.irregular)]
    notes = [*proposal.notes, *notes]
    files = {
        medium: output if number == 0 else output.with_name(f"{output.stem}-{medium}{output.suffix}")
        for number, medium in enumerate(proposal.by_medium)
    }
    taken = next((file for file in files.values() if file.exists()), None)
    if taken is not None and not options.replace:
        raise RecipeError(f"{taken} exists; --replace writes it anew, --output FILE writes another")
    for medium, sources in proposal.by_medium.items():
        name = medium if output.stem == "recipe" else f"{output.stem}-{medium}"  # another recipe has its own store
        files[medium].write_text(recipe_text(sources, output.parent, name, notes), encoding="utf-8")
    console = open_console()
    for source in proposal.sources:
        count = len(source.group.files)
        size = byte_size(source.group.bytes)
        print_line(console, f"source  {source.name}: {source.kind}, {count:,} file{'s'[: count != 1]}, {size}")
    for note in notes:
        print_line(console, f"note    {note}")
    if missing := lacking(proposal):
        print_line(console, f"needs   {installing(missing)}")
    for medium, file in files.items():
        print_line(console, f"recipe  {file}  ({medium})")
    commands = [f"winnow run {shlex.quote(str(file))}" for file in files.values()]
    if listed is not None:
        commands = [f"name a contact in {output}", f"winnow fetch {shlex.quote(str(output))} --plan", *commands]
    print_line(console, "next    " + "; ".join(commands))
    return 0


COMMAND = Command("write a commented recipe for the files of a folder", arguments, run, place=2, slow_start=True)
