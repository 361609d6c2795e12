"""Every view answers, or says in a line what to do, on stores that have not all that it shows."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.inputs.loopback_s3 import BUCKET, serving
from tests.made_once import made_once
from tests.runners.inspect.asking import Asker, opened, opened_at, served, write_books
from winnow.runners.commands.main import main
from winnow.runners.inspect.view import views

pytestmark = pytest.mark.processes

QUERY: dict[str, dict[str, Any]] = {
    "sql": {"query": "SELECT count(*) FROM samples"},
    "simulate": {"changes": [{"reason": "short", "remove": True}]},
}
"""What is asked of views that need something."""
BY_RECIPE = ("diff", "labels", "mixture", "families", "patch", "simulate")
ROWS = ("funnel", "linked", "samples", "shards", "sql", "store", "words")
"""Views that have something to show as soon as rows are read."""


def said_by_all(page: Asker) -> dict[str, Any]:
    """What each view says; none may fail, and what says no must say why."""
    said = {name: page.view(name, **QUERY.get(name, {})) for name in views()}
    for name, one in said.items():
        assert one["ok"] or (one["kind"] in ("unavailable", "asked", "error") and one["why"]), (name, one)
        assert "--debug" not in one.get("why", ""), (name, one)  # an error that nobody has thought of
    return said


def make_ingested(folder: Path) -> None:
    write_books(folder)
    assert main(["ingest", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in the middle of a run: records and no layers."""
    return made_once(tmp_path_factory, "inspected_ingested", make_ingested)


def shown(said: dict[str, Any]) -> set[str]:
    return {name for name, one in said.items() if one["ok"]}


def test_of_a_store_in_the_middle_of_a_run_rows_are_shown(ingested: Path) -> None:
    with served(opened(ingested / "recipe.yaml")) as page:
        said = said_by_all(page)
    assert set(ROWS) <= shown(said)
    assert "winnow annotate" in said["simulate"]["why"]


def test_of_a_store_without_a_recipe_what_needs_one_says_so(books: Path) -> None:
    with served(opened(books / "store")) as page:
        said = said_by_all(page)
    assert set(ROWS) <= shown(said)
    assert shown(said).isdisjoint(BY_RECIPE)


def test_of_a_store_of_no_rows_every_view_says_something(tmp_path: Path) -> None:
    write_books(tmp_path, rows=0)
    assert main(["run", str(tmp_path / "recipe.yaml"), "--workers", "1", "--quiet"]) in (0, 1)
    with served(opened(tmp_path / "recipe.yaml")) as page:
        said = said_by_all(page)
    assert {"store", "words"} <= shown(said)


def test_before_the_first_rows_every_view_names_the_command(tmp_path: Path) -> None:
    make_ingested(tmp_path)
    for record in (tmp_path / "store" / "generations").iterdir():
        record.unlink()
    with served(opened(tmp_path / "recipe.yaml")) as page:
        said = said_by_all(page)
    said_why = [one["why"] for one in said.values() if not one["ok"] and one["kind"] != "asked"]
    assert len(said_why) > 10
    assert all("winnow ingest" in why for why in said_why)


def test_of_a_store_in_a_bucket_all_is_shown_that_is_of_one_on_a_disk(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(opened(books / "store")) as page:
        on_disk = said_by_all(page)
    with serving(books) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with served(opened_at(f"s3://{BUCKET}/store")) as page:
            assert shown(said_by_all(page)) == shown(on_disk)
