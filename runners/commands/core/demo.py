"""`winnow demo`: generate the bundled crawl in a folder, and run the demo recipe on it."""

import argparse
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.opening import bound_recipe, open_console, open_engine
from winnow.runners.commands.parser import engine_arguments
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.runners.commands.parser import Commands
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.recipe_run import RecipeRun

RECIPE, LAW = "demo.yaml", "demo-law.json"
MARK = ".winnow-demo"  # marks a folder as the demo's own, so that it never writes to another


def add(commands: "Commands") -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("demo", help="run all stages on the bundled crawl, and write a report")
    parser.add_argument(
        "--into", default="demo-output", metavar="FOLDER", help="folder to work in (default: %(default)s)"
    )
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the demo, and print where the results are."""
    from winnow.runners.terminal.run_summary import print_run_summary

    console = open_console()
    engine = open_engine(options)
    recipe, whole = run_demo(Path(options.into), engine, console)
    print_run_summary(recipe, whole, engine, console)
    return 0


def run_demo(folder: Path, engine: "Engine", console: "Console") -> "tuple[BoundRecipe, RecipeRun]":
    """Run the demo recipe on a few hundred pages. A second run finds all work done."""
    from winnow.runners.demo import make_crawl
    from winnow.runners.stages.recipe_run import run_recipe

    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise WinnowError(f"{folder}: not empty, and not a folder of the demo; choose another with --into")
    if not (folder / RECIPE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        make_crawl(folder)
        for name in (LAW, RECIPE):
            raw = resources.files("winnow.recipes").joinpath(name).read_bytes()
            (folder / name).write_bytes(raw)
        console.print(f"crawl   {folder} (generated locally)", soft_wrap=True)
    recipe = bound_recipe(folder / RECIPE)
    return recipe, run_recipe(recipe, engine, console)
