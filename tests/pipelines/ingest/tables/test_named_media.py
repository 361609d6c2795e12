"""Rows of a table that name images: what becomes of them, proved from the files by the audit."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.messages import assert_refused, assert_told_each
from tests.pipelines.export.test_media import png
from winnow.pipelines.audit.generation import audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import bind_source, bind_sources
from winnow.pipelines.media.references import MediaFinder, media_sources
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.recipe import Recipe, load_recipe

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  set: {root: set, files: ["one.jsonl"], class: web, columns: {media: image, captions: says}}
"""
TABLE = RECIPE.replace('"one.jsonl"', '"*.parquet"')


def recipe_of(folder: Path, text: str = RECIPE) -> Recipe:
    (folder / "recipe.yaml").write_text(text)
    return load_recipe(folder / "recipe.yaml")


def ingested(recipe: Recipe) -> Outcome:
    return ingest(bind(recipe), Engine("local", 1), Console(quiet=True))


def rows(outcome: Outcome, layer: str = "samples") -> list[dict[str, object]]:
    manifest = outcome.store.manifest(outcome.generation, layer)
    return [row for one in manifest for row in pq.read_table(Path(outcome.store.root) / one.object).to_pylist()]


def test_images_that_lines_name_are_rows_and_what_is_none_is_quarantined(tmp_path: Path) -> None:
    (tmp_path / "set/images").mkdir(parents=True)
    (tmp_path / "set/images/a.png").write_bytes(png(1))
    (tmp_path / "set/images/empty.png").touch()
    (tmp_path / "set/images/text.png").write_text("No picture, but words.")
    names = ["images/a.png", "images/gone.png", "images/empty.png", "images/text.png", "images", "../recipe.yaml", None]
    lines = [{"image": name, "says": f"caption {place}"} for place, name in enumerate(names)]
    lines[-1]["text"] = "A text."
    (tmp_path / "set/one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = recipe_of(tmp_path)
    outcome = ingested(recipe)
    image, text = rows(outcome)
    assert (image["modality"], image["mime"], image["text"]) == ("image", "image/png", None)
    assert image["captions"] == [{"text": "caption 0", "origin": "source", "language": None}]
    assert (text["modality"], text["text"], text["captions"], text["media"]) == ("text", "A text.", [], [])
    (commit,) = outcome.store.tasks(outcome.generation)
    assert commit.quarantined_by_reason == {"missing_media": 5}
    assert commit.quarantine is not None
    details = pq.read_table(Path(outcome.store.root) / commit.quarantine.path)["detail"].to_pylist()
    assert_told_each(
        details,
        "images/gone.png",
        "images/empty.png: empty",
        "images/text.png is text/plain",
        "images: Is a directory",
        ("'image'", "'../recipe.yaml'"),
    )
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []
    medium = image["media"][0]  # type: ignore[index]
    found = MediaFinder(media_sources(recipe), "set").find(medium)
    assert isinstance(found, dict)
    assert found["bytes"] == png(1)


def test_a_table_may_lack_texts_where_it_names_images_but_not_the_names(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.png").write_bytes(png(1))
    pq.write_table(pa.table({"image": ["a.png"], "says": [["one", "two"]]}), tmp_path / "set/a.parquet")
    (row,) = rows(ingested(recipe_of(tmp_path, TABLE)))
    assert [one["text"] for one in row["captions"]] == ["one", "two"]  # type: ignore[attr-defined]
    wrong = recipe_of(tmp_path, TABLE.replace("path: store", "path: other").replace("media: image", "media: file"))
    with assert_refused(SourceError, "a.parquet", "'file'"):
        ingested(wrong)


def test_captions_without_media_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"'columns\.captions' needs 'columns\.media', the column"):
        bind_sources(recipe_of(tmp_path, RECIPE.replace("media: image, ", "")))


def test_a_source_without_media_has_the_key_that_it_had(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    plain = recipe_of(tmp_path, RECIPE.replace(", columns: {media: image, captions: says}", ""))
    source = bind_source(plain, plain.source("set"))
    limits = media_sources(plain).limits
    assert "media" not in source._columns()
    with_media = bind_source(recipe := recipe_of(tmp_path), recipe.source("set"))
    assert source.key(limits) != with_media.key(limits)
