"""The demo's real report in Chromium, at 400, 800 and 1400 pixels, light and dark: nothing overflows, nothing is faint.

The pictures stay in the folder `screenshots` of the test's own folder, or of `WINNOW_SCREENSHOTS`, to be looked at.
"""

import os
from pathlib import Path

import pytest

from tests.runners.example_store import EXAMPLES, SUMMARY
from tests.runners.facts.test_headline import MANY
from tests.runners.report.chromium import Theme, measured, needs_chromium, opened, pictured
from winnow.runners.commands.main import main
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.page import render_report

WIDTHS = (400, 800, 1400)
THEMES: tuple[Theme, ...] = ("light", "dark")
MOST_PIXELS = {400: 12_000, 800: 8_000, 1400: 8_000}
READABLE = 4.5  # WCAG 2 AA, for text of this size

pytestmark = [pytest.mark.large, needs_chromium]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert main(["demo", "--into", str(folder), "--quiet"]) == 0
    return (folder / "store" / "report.html").read_text()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("WINNOW_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("wide", WIDTHS)
def test_the_demo_fits(demo: str, wide: int, theme: Theme, screenshots: Path, tmp_path: Path) -> None:
    layout = measured(demo, wide, theme, tmp_path)
    assert layout.wide == wide
    assert layout.scroll <= wide
    assert layout.beyond == ()
    assert layout.broken == ()
    assert layout.tall <= MOST_PIXELS[wide]
    assert layout.contrast >= READABLE, layout.faintest
    picture = screenshots / f"report-{wide}-{theme}.png"
    pictured(demo, wide, layout.tall, theme, picture)
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize("wide", WIDTHS)
def test_the_demo_fits_when_all_is_unfolded(demo: str, wide: int, tmp_path: Path) -> None:
    layout = measured(opened(demo), wide, "light", tmp_path)
    assert layout.scroll <= wide
    assert layout.beyond == ()
    assert layout.contrast >= READABLE, layout.faintest
    # On a phone, a drawing scrolls in its own place, shaded where it goes on.
    assert [one for one in layout.cut if wide >= 800 or not one.startswith("svg ")] == []


@pytest.mark.parametrize("wide", WIDTHS)
def test_sixty_languages_and_forty_rules_fit(wide: int, tmp_path: Path) -> None:
    page = render_report(SUMMARY, Examples(rules=MANY))
    layout = measured(page, wide, "light", tmp_path)
    assert layout.beyond == ()
    assert layout.tall <= MOST_PIXELS[wide]
    unfolded = measured(opened(page), wide, "light", tmp_path)
    assert [one for one in unfolded.cut if one.startswith("table ")] == []


def test_hostile_names_push_nothing_aside(tmp_path: Path) -> None:
    page = opened(render_report(SUMMARY, EXAMPLES).replace("alert(1)", "a" * 300))
    for wide in WIDTHS:
        layout = measured(page, wide, "dark", tmp_path)
        assert layout.scroll <= wide
        assert layout.beyond == ()
