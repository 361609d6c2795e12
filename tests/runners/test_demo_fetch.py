"""`winnow demo --fetch`: the demo's pages, asked for as a crawler does, have the texts of the archives' captures."""

from dataclasses import replace
from pathlib import Path

import pytest

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.fetch.facts import fetched_source
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.core.demo import ADDRESSES, FETCHED_RECIPE, RECIPE, copy_recipes, page_texts
from winnow.runners.demo import make_crawl
from winnow.runners.demo.serving import addresses, hosts, serving
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.fetching import Wanted, fetch
from winnow.runners.stages.store_stages import ingest
from winnow.runners.terminal.console import TerminalConsole
from winnow.schemas.recipe import load_recipe

QUIET = TerminalConsole(quiet=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("demo") / "made"
    make_crawl(made)
    copy_recipes(made, RECIPE, FETCHED_RECIPE)
    (made / ADDRESSES).write_text("\n".join(addresses()))
    return made


def of_crawl(file: Path) -> BoundRecipe:
    """The part of a recipe that reads the crawl."""
    written = load_recipe(file)
    allowed = replace(written.fetch, allow_hosts=tuple(hosts()))
    return bind(
        replace(written, sources=(written.source("crawl"),), annotate=(), keep=(), eligible=(), dedupe=None, score=(),
                edits=(), mix=None, export=(), fetch=allowed)
    )  # fmt: skip


def test_pages_that_are_fetched_have_the_texts_of_the_archives(folder: Path) -> None:
    archived, fetched = of_crawl(folder / RECIPE), of_crawl(folder / FETCHED_RECIPE)
    ingest(archived, Engine(workers=1), QUIET)
    with serving() as served:
        fetch(fetched, Engine(), QUIET, Wanted(look_up=served, tls=served.tls))
    ingest(fetched, Engine(workers=1), QUIET)
    captured, found = page_texts(archived), page_texts(fetched)
    assert found == {address: captured[address] for address in found}
    log = fetched_source(open_location(f"{fetched.store_address}/fetched/crawl"), "crawl")
    assert log.addresses == len(addresses())
    assert len(found) > 300
