"""Every page can be used by keys and by readers of screens: axe finds nothing serious, in both themes and widths."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.runners.inspect.asking import Asker, opened, served
from tests.runners.inspect.browser.looking import needs_page, watching
from tests.runners.inspect.browser.walked_store import make_walked
from winnow.runners.inspect.serving.page_build import WEB, installed
from winnow.runners.inspect.serving.page_files import page_files

pytestmark = [pytest.mark.page, needs_page]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script, which is among the packages that the page's own tests use."""
    packages = installed(WEB, tmp_path_factory.mktemp("packages")) / "node_modules"
    return (packages / "axe-core" / "axe.min.js").read_text("utf-8")


_CHANGE = '[{"reason":"gopher_below_alpha_threshold","list":"keep","cut":0,"value":0.5,"language":"kor_Hang"}]'
PLACES = (
    "overview",
    "rules?language=kor_Hang",
    f"rules?tray=open&changes={_CHANGE}",
    "rules?new=rule",
    "heatmap",
    "explore",
    "samples",
    "domains?site=large.example",
    "duplicates",
    "quarantine",
    "fetched",
    "shards",
    "diff",
    "sql?query=SELECT * FROM samples LIMIT 3",
    "labels",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = made_once(tmp_path_factory, "inspected_walks", make_walked)
    with served(opened(folder / "recipe.yaml"), page_files()) as asker:
        yield asker


@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (800, "light"), (1400, "light"), (1400, "dark")])
def test_axe_finds_nothing_serious_and_nothing_lies_beyond_the_window(
    page: Asker, axe: str, width: int, theme: str
) -> None:
    assert looked_at(page, axe, PLACES, width, theme) == ([], [])


@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (800, "dark"), (1400, "light")])
def test_so_it_does_of_pictures_and_of_a_map(photos: Path, embedded: Path, axe: str, width: int, theme: str) -> None:
    with served(opened(photos / "recipe.yaml"), page_files()) as asker:
        places = ("samples?as=pictures", "duplicates?size=2", "overview?unit=pixels")
        assert looked_at(asker, axe, places, width, theme) == ([], [])
    with served(opened(embedded / "recipe.yaml"), page_files()) as asker:
        part = '{"layer":"text.embedding","box":[-1,0,-1,1]}'
        assert looked_at(asker, axe, (f"map?map={part}", f"samples?map={part}"), width, theme) == ([], [])


def looked_at(
    page: Asker, axe: str, places: Sequence[str], width: int, theme: str
) -> tuple[list[tuple[object, ...]], list[str]]:
    """What axe finds serious in some places, and which of them are wider than the window."""
    found: list[tuple[object, ...]] = []
    beyond: list[str] = []
    with watching(page, width=width, theme=theme) as seen:
        for place in places:
            seen.open(place)
            seen.tab.locator("[aria-busy=true], main .dot").first.wait_for(state="detached")
            seen.tab.wait_for_timeout(500)  # what was paler while it loaded is dark again
            seen.tab.evaluate(axe)
            serious = seen.tab.evaluate(
                "axe.run().then(said => said.violations.filter(one => ['serious', 'critical'].includes(one.impact))"
                ".map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))]))"
            )
            found += [(place, *one) for one in serious]
            if seen.tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                beyond.append(place)
    return found, beyond
