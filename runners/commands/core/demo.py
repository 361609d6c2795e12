"""`winnow demo`: generate the bundled crawl, pictures and videos in a folder, and run a recipe on each."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments
from winnow.runners.stages.opening import begin, bound_recipe, open_engine
from winnow.schemas.errors import RecipeError, WinnowError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.finished_run import RecipeRun

RECIPE, LAW = "demo.yaml", "demo-law.json"
FETCHED_RECIPE, ADDRESSES = "demo-fetched.yaml", "addresses.txt"
PICTURES, PICTURE_RECIPE = "pictures", "demo-pictures.yaml"
FILMS, FILM_RECIPE, CLIP_RECIPE = "films", "demo-films.yaml", "demo-clips.yaml"
MARK = ".winnow-demo"  # marks a folder as the demo's own, so that it never writes to another


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--into", default="demo-output", metavar="FOLDER", help="folder to work in (default: %(default)s)"
    )
    parser.add_argument(
        "--fetch", action="store_true", help="serve the crawl's pages on this machine, and fetch them as a crawler does"
    )
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the demo, and print where the results are."""
    console = begin("demo", options.into)
    from winnow.runners.stages.run_summary import print_run_summary

    engine = open_engine(options)
    for recipe, whole in run_demo(Path(options.into), engine, console, is_fetched=options.fetch):
        print_run_summary(recipe, whole, engine, console)
    return 0


def run_demo(
    folder: Path, engine: "Engine", console: "Console", *, is_fetched: bool = False
) -> "Iterator[tuple[BoundRecipe, RecipeRun]]":
    """Run recipes on a few hundred pages, a few dozen pictures and three videos. A second run finds all work done.

    `is_fetched`: the pages are served on this machine and fetched, instead of being read from archives.
    """
    from winnow.runners.demo import make_crawl
    from winnow.runners.stages.recipe_run import run_recipe

    def ran(name: str) -> "tuple[BoundRecipe, RecipeRun]":
        recipe = bound_recipe(folder / name)
        return recipe, run_recipe(recipe, engine, console)

    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise WinnowError(f"{folder}: not empty, and not a folder of the demo; choose another with --into")
    if not (folder / RECIPE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        console.print(f"crawl   {folder} (generated locally)")
        make_crawl(folder)
        copy_recipes(folder, LAW, RECIPE)
    yield _run_fetched(folder, engine, console) if is_fetched else ran(RECIPE)
    if _draw_pictures(folder, console):
        yield ran(PICTURE_RECIPE)
    if _make_films(folder, console):
        for name in (FILM_RECIPE, CLIP_RECIPE):
            yield ran(name)


def _run_fetched(folder: Path, engine: "Engine", console: "Console") -> "tuple[BoundRecipe, RecipeRun]":
    """Run the demo's recipe on pages that this machine serves under the names of their hosts."""
    from winnow.pipelines.binding.bound_recipe import bind
    from winnow.runners.demo.serving import addresses, hosts, serving
    from winnow.runners.stages.fetching import Wanted
    from winnow.runners.stages.recipe_run import run_recipe
    from winnow.schemas.identity import fingerprint_of
    from winnow.schemas.recipe import load_recipe

    if not (folder / FETCHED_RECIPE).exists():
        (folder / ADDRESSES).write_text("".join(f"{one}\n" for one in addresses()), "utf-8")
        copy_recipes(folder, FETCHED_RECIPE)
    written = load_recipe(folder / FETCHED_RECIPE)
    recipe = bind(replace(written, fetch=replace(written.fetch, allow_hosts=tuple(hosts()))))
    with serving() as served:
        whole = run_recipe(recipe, engine, console, wanted=Wanted(look_up=served, tls=served.tls))
    texts = page_texts(recipe)
    tree = fingerprint_of(dict(sorted(texts.items())))
    console.print(f"texts   {len(texts):,} pages, tree {tree}: those of the archives' captures of them")
    return recipe, whole


def page_texts(recipe: "BoundRecipe") -> dict[str, str]:
    """The text of each page of the crawl, by the normal form of its address."""
    from winnow.filters.web.urls import canonical_url
    from winnow.runners.notebook.opened_store import open_store

    columns = ["samples.url", *(f"samples.source.{name}" for name in ("name", "path", "offset")), *recipe.config.text]
    rows = open_store(recipe.store_address, recipe.config).table(columns).to_arrow().to_pylist()
    texts: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (row["samples.source.path"], row["samples.source.offset"])):
        url = row["samples.url"]
        if url and row["samples.source.name"] == "crawl":  # which has some pages in two spellings of their address
            text = next((row[name] for name in recipe.config.text if row[name]), "")
            texts.setdefault(canonical_url(url) or url, text)
    return texts


def _draw_pictures(folder: Path, console: "Console") -> bool:
    """Draw the pictures; False, with a line that says what to install, where nothing can encode and decode them."""
    from winnow.filters.image.decode.stills import require_decoders
    from winnow.runners.demo.photos import make_photos

    try:
        require_decoders()
    except RecipeError as error:
        console.print(f"pictures  left out: {error}")
        return False
    if not (folder / PICTURE_RECIPE).exists():
        console.print(f"pictures  {folder / PICTURES} (drawn locally)")
        make_photos(folder / PICTURES)
        copy_recipes(folder, PICTURE_RECIPE)
    return True


def _make_films(folder: Path, console: "Console") -> bool:
    """Make the videos; False, with a line that says what to install, where nothing can encode and decode them."""
    from winnow.filters.extras import required_package
    from winnow.runners.demo.films import make_films

    try:
        required_package("making and watching videos", "av", "video")
    except RecipeError as error:
        console.print(f"videos  left out: {error}")
        return False
    if not (folder / CLIP_RECIPE).exists():
        console.print(f"videos  {folder / FILMS} (encoded locally)")
        make_films(folder / FILMS)
        copy_recipes(folder, FILM_RECIPE, CLIP_RECIPE)
    return True


def copy_recipes(folder: Path, *names: str) -> None:
    """Copy recipes of the package into the demo's folder."""
    from importlib import resources

    for name in names:
        (folder / name).write_bytes(resources.files("winnow.recipes").joinpath(name).read_bytes())


COMMAND = Command(
    "run all stages on the bundled crawl, pictures and videos, and write a report of each",
    arguments,
    run,
    place=1,
    beam=True,
)
