"""What the key of a source's rows depends on."""

from pathlib import Path

import pytest

from winnow.pipelines.binding.sources import bind_source
from winnow.pipelines.ingest.records import ReadLimits
from winnow.schemas.recipe import recipe_from_text

SOURCE = 'root: crawl, files: ["*.jsonl"], class: web'


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)


def key(source: str, limits: ReadLimits = ReadLimits(), name: str = "crawl") -> str:  # noqa: B008
    recipe = recipe_from_text(f"version: 1\nstore: {{path: s}}\nsources:\n  {name}: {{{source}}}\n")
    return bind_source(recipe, recipe.source(name)).key(limits)


def test_where_the_files_lie_is_not_in_it() -> None:
    assert key(SOURCE.replace("root: crawl", "root: there").replace('["', '["x*", "')) == key(SOURCE)
    assert key(f"{SOURCE}, accept_status: [203, 200, 203]") == key(SOURCE)


@pytest.mark.parametrize(
    "more",
    [
        "licence: CC0-1.0",
        "format: warc",
        "accept_status: [200]",
        "format: jsonl, key: id",
        "format: jsonl, columns: {text: body}",
        "format: jsonl, columns: {url: null}",
        "format: jsonl, columns: {fetched_at: time}",
    ],
)
def test_whatever_changes_rows_is_in_it(more: str) -> None:
    assert key(f"{SOURCE}, {more}") != key(SOURCE)


def test_so_are_the_class_the_name_and_the_limits() -> None:
    assert key(SOURCE.replace("class: web", "class: public")) != key(SOURCE)
    assert key(SOURCE, name="other") != key(SOURCE)
    assert key(SOURCE, ReadLimits(max_body_bytes=1)) != key(SOURCE)
