"""Every page opens in a real browser without a complaint, and nothing of what was crawled runs in any of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.runners.inspect.asking import Asker, opened, served
from tests.runners.inspect.browser.looking import needs_page, watching
from tests.runners.inspect.hostile import make_hostile
from tests.runners.inspect.payloads import payloads
from winnow.runners.inspect.serving.page_build import WEB
from winnow.runners.inspect.serving.page_files import page_files

pytestmark = [pytest.mark.page, needs_page]

PAGES = re.findall(r'name: "(\w+)"', (WEB / "src" / "shell" / "pages.ts").read_text("utf-8"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = made_once(tmp_path_factory, "inspected_hostile", make_hostile)
    with served(opened(folder / "recipe.yaml"), page_files()) as page:
        yield page


def test_every_page_opens_without_a_complaint(books: Path) -> None:
    with served(opened(books / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        for name in PAGES:
            seen.open(name)
        assert len(PAGES) > 10
        assert (seen.complaints, seen.foreign) == ([], [])


def test_a_page_without_the_cookie_shows_nothing(books: Path) -> None:
    with served(opened(books / "recipe.yaml"), page_files()) as page, watching(page) as seen:
        seen.tab.context.clear_cookies()
        seen.tab.goto(f"http://127.0.0.1:{page.port}/")
        assert "open the whole address" in seen.tab.inner_text("body")


def test_nothing_that_was_crawled_runs_on_any_page(hostile: Asker) -> None:
    with watching(hostile) as seen:
        for name in PAGES:
            seen.open(name)
        assert (seen.ran, seen.foreign) == ([], [])
        assert [one for one in seen.complaints if "Content Security Policy" in one] == []


def test_nothing_runs_in_samples_however_many_are_read(hostile: Asker) -> None:
    rows = hostile.view("samples", size=100)["answer"]
    ids = [row["id"] for row in rows["rows"]]
    for number in range(1, 1 + rows["total"] // 100):
        ids += [row["id"] for row in hostile.view("samples", size=100, page=number)["answer"]["rows"]]
    assert len(ids) >= 300
    with watching(hostile) as seen:
        for sample in ids:
            seen.tab.goto(f"http://127.0.0.1:{hostile.port}/#/samples?sample={sample}")
            seen.tab.wait_for_load_state("networkidle")
        assert (seen.ran, seen.foreign) == ([], [])
        assert [one for one in seen.complaints if "Content Security Policy" in one] == []


def test_nothing_of_an_address_runs(hostile: Asker) -> None:
    with watching(hostile) as seen:
        for payload in payloads()[::7]:
            seen.tab.evaluate("place => { location.hash = place; }", f"#/samples?text={payload}&sample={payload}")
            seen.tab.wait_for_timeout(30)
        assert (seen.ran, seen.foreign) == ([], [])
