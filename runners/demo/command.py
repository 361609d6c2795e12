"""`winnow demo`: make the bundled crawl in a folder, and run the demo recipe on it."""

from importlib import resources
from pathlib import Path

from rich.console import Console

from winnow.runners.demo import make_crawl
from winnow.runners.engines import Engine
from winnow.runners.stages import Outcome, run_all
from winnow.schemas.errors import WinnowError
from winnow.schemas.recipe import Recipe, load_recipe

RECIPE = "demo.yaml"
MARK = ".winnow-demo"  # in a folder that the demo made, so that it never works in one that it did not


def run_demo(folder: Path, engine: Engine, console: Console) -> tuple[Recipe, Outcome]:
    """The whole product on a few hundred pages. A second run finds everything done."""
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise WinnowError(f"{folder}: not empty, and not made by the demo; choose another folder with --into")
    if not (folder / RECIPE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        make_crawl(folder)
        recipe = resources.files("winnow.recipes").joinpath(RECIPE).read_text(encoding="utf-8")
        (folder / RECIPE).write_text(recipe, encoding="utf-8")
        console.print(f"crawl   {folder} (made; nothing was fetched)", soft_wrap=True)
    recipe_file = load_recipe(folder / RECIPE)
    return recipe_file, run_all(recipe_file, engine, console)
