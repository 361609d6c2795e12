"""What people come for is a few clicks away: from a question to its answer, or to a saved recipe."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.made_once import made_once
from tests.runners.inspect.asking import opened, served
from tests.runners.inspect.browser.looking import Watched, needs_page, watching
from tests.runners.inspect.browser.walked_store import make_walked
from winnow.runners.commands.main import main
from winnow.runners.inspect.serving.page_files import page_files

pytestmark = [pytest.mark.page, needs_page]

LETTERS = "gopher_below_alpha_threshold"


@dataclass
class Walk:
    """One person's way through the page, whose clicks are counted; a drag is one."""

    seen: Watched
    clicks: int = 0

    @property
    def tab(self) -> Any:
        """Playwright's."""
        return self.seen.tab

    def click(self, what: str) -> None:
        """On the first that a selector finds, and wait for the answer."""
        self.tab.click(what)
        self.clicks += 1
        self.settle()

    def drag(self, what: str, to: float) -> None:
        """A slider's handle to a part of its width."""
        box = self.tab.locator(what).bounding_box()
        middle = box["y"] + box["height"] / 2
        at = float(self.tab.locator(what).evaluate("one => one.value / one.max"))
        self.tab.mouse.move(box["x"] + 8 + at * (box["width"] - 16), middle)
        self.tab.mouse.down()
        self.tab.mouse.move(box["x"] + 8 + to * (box["width"] - 16), middle, steps=6)
        self.tab.mouse.up()
        self.clicks += 1
        self.settle()

    def settle(self) -> None:
        """Nothing is loading: neither what is new, nor what is older than the question."""
        self.tab.wait_for_timeout(100)
        self.tab.locator("[aria-busy=true], main .dot").first.wait_for(state="detached")

    def text(self, what: str) -> str:
        """What is written there."""
        return str(self.tab.inner_text(what))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "inspected_walks", make_walked)


@pytest.fixture
def walk(store: Path) -> Iterator[Walk]:
    with served(opened(store / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        seen.open("overview")
        found = Walk(seen)
        found.settle()
        yield found
        assert (seen.complaints, seen.foreign) == ([], [])


def test_from_why_is_korean_so_small_to_a_saved_recipe(
    walk: Walk, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk.click("a:has-text('Korean')")
    assert LETTERS in walk.text("[aria-label=Rules] [aria-current=true]")  # the rule that drops most of it
    walk.drag("input[type=range]", 0.35)
    walk.tab.wait_for_selector(".tray .badge.exact")
    kept = _kept(walk)
    assert kept > 90
    walk.click("button:has-text('Recipe and diff')")
    assert "kor_Hang" in walk.text(".patch pre")
    walk.click("button:has-text('Save') >> nth=-1")
    saved = store / walk.text(".patch p[role=status] code").removeprefix("winnow plan ").split("/")[-1]
    assert walk.clicks <= 6
    capsys.readouterr()
    assert main(["plan", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]["kept"]["rows"] == kept


def test_from_which_site_dominates_to_what_of_it_is_dropped(walk: Walk) -> None:
    walk.click("nav >> text=Domains")
    assert "large.example" in walk.text("[aria-label=Sites] tbody tr:first-child")
    walk.click("[aria-label=Sites] tbody tr:first-child a")
    detail = walk.text("[aria-label='What of large.example is dropped']")
    assert "60 rows" in detail
    assert LETTERS in detail
    assert walk.clicks <= 3


def test_from_the_heatmap_to_what_a_rule_drops_in_arabic_at_its_edge(walk: Walk) -> None:
    walk.click("nav >> text=Heatmap")
    walk.click(f"td a[title*='{LETTERS} in arb_Arab']")
    values = [float(text.split("<")[0]) for text in walk.tab.locator("main li .value").all_inner_texts()]
    assert len(values) > 5
    assert values == sorted(values, reverse=True)  # from the line down
    assert walk.clicks <= 3


def test_from_duplicates_to_who_is_in_a_cluster_and_why_one_stays(walk: Walk) -> None:
    walk.click("nav >> text=Duplicates")
    walk.click("[aria-label=Clusters] li:nth-child(2) a")
    assert "equal to it in every preference" in walk.text("main")
    assert walk.tab.locator("main .stack .card header").count() == 3  # why, the one that stays, and its copy
    assert walk.clicks <= 3


def test_a_bar_of_the_sizes_of_clusters_lists_those_alone(walk: Walk) -> None:
    walk.click("nav >> text=Duplicates")
    bars = "[aria-label='Clusters by their number of rows'] button"
    assert walk.tab.locator(f"{bars}:enabled").count() == 1  # all are pairs
    walk.click(f"{bars}:enabled")
    assert "of 2 rows" in walk.text("[aria-label=Clusters] header")
    assert walk.tab.locator("[aria-label=Clusters] li").count() == 8
    assert "size=2" in walk.tab.url
    walk.tab.goto(walk.tab.url.replace("size=2", "size=5-9"))
    walk.settle()
    assert "No cluster of this size" in walk.text("[aria-label=Clusters]")


def test_rows_without_an_address_are_a_site_that_filters_all_pages(books: Path) -> None:
    with served(opened(books / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        seen.open("domains")
        walk = Walk(seen)
        walk.click("[aria-label=Sites] tbody tr:first-child a")
        assert "20 rows" in walk.text("[aria-label='What of (no address) is dropped']")
        walk.click("text=all its samples")
        assert "20 samples" in walk.text("[aria-label=Samples] header")
        assert "(no address)" in walk.text("[aria-label='Chosen rows']")
        assert (seen.complaints, seen.foreign) == ([], [])


def test_back_takes_a_step_back_and_an_address_shows_the_same(walk: Walk) -> None:
    walk.click("a:has-text('Korean')")
    walk.drag("input[type=range]", 0.35)
    address, kept = walk.tab.url, _kept(walk)
    walk.tab.go_back()
    walk.settle()
    assert walk.tab.locator(".tray").count() == 0
    walk.tab.goto("about:blank")
    walk.tab.goto(address)
    walk.tab.wait_for_selector(".tray .badge.exact")
    assert _kept(walk) == kept


def test_keys_alone_lead_to_a_sample_and_label_it(walk: Walk, store: Path) -> None:
    press = walk.tab.keyboard.press
    press("g")
    press("s")
    walk.tab.wait_for_selector("article")
    walk.settle()
    first = walk.tab.get_attribute("article", "aria-label")
    press("j")
    walk.tab.wait_for_selector(f"article:not([aria-label='{first}'])")
    walk.settle()
    press("+")
    walk.tab.wait_for_selector("button[aria-pressed=true] >> text=Good")
    press("/")
    assert walk.tab.evaluate("document.activeElement.dataset.search") == ""
    press("Escape")
    press("?")
    assert "label the sample good" in walk.text("dialog[open]")
    (store / "recipe.labels.jsonl").unlink()


def _kept(walk: Walk) -> int:
    """The kept rows after the changes, as the tray says."""
    return int(walk.text(".tray header b").split("→")[1].replace(",", ""))
