"""`winnow demo --fetch`: the demo's pages, asked for as a crawler does, have the texts of the archives' captures."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.fetch.facts import fetched_source
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.forgetting.fetched import purge_fetched
from winnow.pipelines.forgetting.requests import parse_selector, selectors_of
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.location import open_location, open_store_at
from winnow.runners.commands.core.demo import ADDRESSES, FETCHED_RECIPE, RECIPE, copy_recipes, page_texts
from winnow.runners.demo import make_crawl
from winnow.runners.demo.serving import addresses, hosts, serving
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.fetching import Wanted, fetch
from winnow.runners.stages.store_stages import ingest
from winnow.runners.terminal.console import TerminalConsole
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

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


@pytest.fixture(scope="module")
def fetched(folder: Path) -> BoundRecipe:
    recipe = of_crawl(folder / FETCHED_RECIPE)
    with serving() as served:
        fetch(recipe, Engine(), QUIET, Wanted(look_up=served, tls=served.tls))
    return recipe


def test_pages_that_are_fetched_have_the_texts_of_the_archives(folder: Path, fetched: BoundRecipe) -> None:
    archived = of_crawl(folder / RECIPE)
    ingest(archived, Engine(workers=1), QUIET)
    ingest(fetched, Engine(workers=1), QUIET)
    captured, found = page_texts(archived), page_texts(fetched)
    assert found == {address: captured[address] for address in found}
    log = fetched_source(open_location(f"{fetched.store_address}/fetched/crawl"), "crawl")
    assert log.addresses == len(addresses())
    assert len(found) > 300


def test_a_purge_empties_all_records_of_a_forgotten_page(fetched: BoundRecipe) -> None:
    place = Path(fetched.store_address) / "fetched/crawl"
    log = read_log(open_location(str(place))).to_pylist()
    gone, kept = [row for row in log if row["reason"] == "ok"][:2]
    store = open_store_at(fetched.store_address)
    put_tombstone(store.objects, selectors_of([parse_selector("url", gone["url"])]).tombstone(""))

    def records(row: dict[str, Any]) -> int:
        return sum(gzip.decompress(file.read_bytes()).count(row["url"].encode()) for file in place.glob("warc/*"))

    assert (records(gone) > 2, records(kept) > 2) == (True, True)  # a request, a response and metadata
    before = records(kept)
    assert purge_fetched(store) == 1
    assert (records(gone), records(kept)) == (0, before)
    assert gone["url"] not in {row["url"] for row in read_log(open_location(str(place))).to_pylist()}
    assert purge_fetched(store) == 0
