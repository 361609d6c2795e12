"""Pictures stand in a grid that is used by keys alone."""

from pathlib import Path

import pytest

from tests.runners.inspect.asking import opened, served
from tests.runners.inspect.browser.looking import needs_page, watching
from winnow.runners.inspect.serving.page_files import page_files

pytestmark = [pytest.mark.page, needs_page]


@pytest.mark.parametrize("width", [400, 1400])
def test_keys_lead_to_the_grid_through_it_and_to_a_sample(photos: Path, width: int) -> None:
    with served(opened(photos / "recipe.yaml"), page_files()) as page, watching(page, width=width) as seen:
        seen.open("samples")
        press, tab = seen.tab.keyboard.press, seen.tab
        press("v")
        tab.wait_for_selector("button[aria-pressed=true] >> text=Pictures")
        cells = tab.locator("[aria-label=Samples] a[data-choosable]")
        cells.nth(2).wait_for()
        tab.wait_for_load_state("networkidle")
        assert cells.count() == 3
        drawn = tab.locator("[aria-label=Samples] img")
        tab.wait_for_selector("text=not decodable")
        assert drawn.count() == 2  # the third cannot be decoded
        for at in range(2):
            for _ in range(200):  # the page's policy lets nothing be waited for by a script
                if drawn.nth(at).evaluate("one => one.naturalWidth"):
                    break
                tab.wait_for_timeout(50)
            assert drawn.nth(at).evaluate("one => one.naturalWidth") > 0
        cells.first.focus()
        press("ArrowRight")
        assert cells.nth(1).evaluate("one => one === document.activeElement")
        press("ArrowLeft")
        press("End")
        assert cells.nth(2).evaluate("one => one === document.activeElement")
        press("Home")
        press("ArrowDown")
        below = 2 if width == 400 else 0  # two stand beside each other, or all three, below which is nothing
        assert cells.nth(below).evaluate("one => one === document.activeElement")
        press("Enter")
        tab.wait_for_selector("aside[aria-label=Sample] article")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        press("Escape")
        tab.locator("aside[aria-label=Sample]").wait_for(state="detached")
        assert cells.count() == 3
        failed = [one for one in seen.complaints if "404" not in one]  # the picture that is none
        assert (failed, seen.foreign) == ([], [])
