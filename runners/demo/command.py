"""`winnow demo`: make the bundled crawl in a folder, and run the demo recipe on it."""

from importlib import resources
from pathlib import Path

from rich.console import Console

from winnow.runners.demo import make_crawl
from winnow.runners.engines import Engine
from winnow.runners.whole import Whole, run_whole
from winnow.schemas.errors import WinnowError
from winnow.schemas.recipe import Recipe, load_recipe

RECIPE, LAW = "demo.yaml", "demo-law.json"
MARK = ".winnow-demo"  # in a folder that the demo made, so that it never works in one that it did not


def run_demo(folder: Path, engine: Engine, console: Console) -> tuple[Recipe, Whole]:
    """The whole product on a few hundred pages. A second run finds everything done."""
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise WinnowError(f"{folder}: not empty, and not made by the demo; choose another folder with --into")
    if not (folder / RECIPE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        make_crawl(folder)
        for name in (LAW, RECIPE):
            raw = resources.files("winnow.recipes").joinpath(name).read_bytes()
            (folder / name).write_bytes(raw)
        console.print(f"crawl   {folder} (made; nothing was fetched)", soft_wrap=True)
    recipe_file = load_recipe(folder / RECIPE)
    return recipe_file, run_whole(recipe_file, engine, console)
