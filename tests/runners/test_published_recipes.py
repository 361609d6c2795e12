"""The published pipelines as recipes: each is whole, has a page, and runs on the bundled crawl."""

import re
import shutil
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.demo import make_crawl
from winnow.schemas.recipe import load_recipe

ROOT = Path(__file__).parents[2]
NAMES = ("c4", "dclm-like", "dolma", "fineweb", "fineweb-2", "gopher", "refinedweb")


@pytest.mark.parametrize("name", NAMES)
def test_each_is_whole_and_has_a_page(name: str) -> None:
    bound = bind(load_recipe(ROOT / "recipes" / f"{name}.yaml", env={}))
    _ = bound.rules, bound.edits, bound.captions
    assert bound.mixture.config.outputs
    assert bound.config.export
    page = (ROOT / "docs" / "recipes" / f"{name}.md").read_text("utf-8")
    assert "**The same**" in page
    assert "**What differs**" in page


def test_the_index_of_the_pages_names_every_recipe() -> None:
    index = (ROOT / "docs" / "recipes" / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| \[`([\w-]+)`\]", index, re.MULTILINE)) == sorted((*NAMES, "technical"))


@pytest.mark.parametrize("name", NAMES)
def test_thresholds_on_pages_are_those_of_the_recipe(name: str) -> None:
    """Numbers of the recipe's own that a page must say."""
    recipe = (ROOT / "recipes" / f"{name}.yaml").read_text("utf-8")
    page = (ROOT / "docs" / "recipes" / f"{name}.md").read_text("utf-8")
    for number in re.findall(r"(?:score <|characters >|min_similarity:) ([\d._]+)", recipe):
        assert number.replace("_", ",") in page


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One archive of the bundled crawl, and its books."""
    whole, folder = tmp_path_factory.mktemp("whole") / "crawl", tmp_path_factory.mktemp("published")
    make_crawl(whole)
    (folder / "crawl").mkdir()
    shutil.copy(whole / "crawl" / "part-00000.warc.gz", folder / "crawl")
    shutil.copytree(whole / "books", folder / "books")
    return folder


@pytest.mark.large
@pytest.mark.parametrize("name", NAMES)
def test_each_runs_on_the_bundled_crawl(crawl: Path, name: str) -> None:
    shutil.copy(ROOT / "recipes" / f"{name}.yaml", crawl)
    done = ended(run_here(crawl, "run", f"{name}.yaml"))
    assert re.search(r"^plan .*: train [1-9]", done, re.MULTILINE)
    assert list((crawl / name / "parquet").rglob("*.parquet"))
    ended(run_here(crawl, "audit", f"{name}.yaml"))
