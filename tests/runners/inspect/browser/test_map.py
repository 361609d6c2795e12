"""What is selected on the map is in the address, and filters all other pages wherever that is opened."""

from pathlib import Path

import pytest

from tests.runners.inspect.asking import opened, served
from tests.runners.inspect.browser.looking import needs_page, watching
from winnow.runners.inspect.serving.page_files import page_files

pytestmark = [pytest.mark.page, needs_page]


def test_a_part_of_the_map_is_kept_in_the_address(embedded: Path) -> None:
    with served(opened(embedded / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        seen.open("map")
        tab = seen.tab
        tab.wait_for_selector("canvas")
        box = tab.locator("canvas").bounding_box()
        tab.mouse.move(box["x"] + 2, box["y"] + 2)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=4)
        tab.mouse.up()
        tab.wait_for_selector("h2:has-text('selected')")
        selected = int(tab.inner_text("h2:has-text('selected')").split()[0])
        assert 0 < selected < 150
        address = tab.url
        tab.goto("about:blank")
        tab.goto(address)
        tab.wait_for_selector("h2:has-text('selected')")
        assert int(tab.inner_text("h2:has-text('selected')").split()[0]) == selected
        tab.click("text=read all")
        tab.wait_for_selector(f"[aria-label=Samples] h2:has-text('{selected} samples')")
        assert "a part by text.embedding" in tab.inner_text("[aria-label='Chosen rows']")
        tab.click("nav >> text=Explore")
        tab.wait_for_selector(f"[role=status]:has-text('{selected} rows')")
        tab.click("[aria-label='Take back map']")
        tab.wait_for_selector("[role=status]:has-text('150 rows')")
        assert "map=" not in tab.url
        tab.go_back()
        tab.wait_for_selector(f"[role=status]:has-text('{selected} rows')")
        assert (seen.complaints, seen.foreign) == ([], [])


def test_a_map_of_no_rows_says_so(embedded: Path) -> None:
    with served(opened(embedded / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        seen.open("map?kept=no&domain=none.example")
        seen.tab.wait_for_selector("text=No samples are left by what is chosen.")
        assert seen.tab.locator("canvas").count() == 0
        assert (seen.complaints, seen.foreign) == ([], [])
