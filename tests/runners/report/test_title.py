"""A report's heading tells it apart from other reports."""

from pathlib import Path

import pytest

from winnow.runners.stages.reports.writing import report_title


@pytest.mark.parametrize(
    ("recipe", "title"),
    [
        ("fineweb-2.yaml", "fineweb-2"),
        ("museum/recipe.yaml", "museum"),
        ("museum/recipe-pictures.yaml", "museum, pictures"),
        ("recipe.yaml", "here"),
    ],
)
def test_a_recipe_of_the_usual_name_takes_that_of_its_folder(
    recipe: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert report_title("any/store", recipe) == title


@pytest.mark.parametrize(
    ("store", "title"),
    [
        ("/data/museum/store", "museum"),
        ("/data/museum/winnow-data/texts/store", "museum"),
        ("/data/crawl-2026", "crawl-2026"),
        ("s3://bucket/store", "bucket"),
        ("/store", "store"),
    ],
)
def test_a_store_of_the_usual_name_takes_that_of_its_project(store: str, title: str) -> None:
    assert report_title(store) == title
