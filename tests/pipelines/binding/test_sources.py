"""What a source of a recipe says that is not for its format is refused where the recipe is bound, by line."""

from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.pipelines.binding.sources import bind_source, bind_sources
from winnow.pipelines.running.ledger.listings import list_source
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.recipe import recipe_from_text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("format: wrc", "sources.a.format … image_folder"),
        ("format: warc, key: id", "sources.a … 'key'"),
        ("format: html, columns: {text: t}", "sources.a … 'columns'"),
        ("format: webdataset, key: id", "sources.a … 'key'"),
        ("format: video_folder, key: id", "sources.a … 'key' … video_folder"),
        ("format: webdataset, columns: {media: m}", "sources.a … 'columns.media'"),
        ("columns: {captions: c}", "sources.a … 'columns.captions' … 'columns.media'"),
        ("format: csv, columns: {media: m, language: l}", "sources.a: 'columns.language' needs 'columns.captions', "),
        ("clips: {}", "sources.a … 'clips' … 'format: clips'"),
        ("format: clips", "sources.a … 'clips' … 'format: clips'"),
        ("format: clips, clips: {}", "sources.a … 'files' … 'root'"),
    ],
)
def test_what_is_not_for_a_format(source: str, message: str) -> None:
    recipe = recipe_from_text(
        f"version: 1\nstore: {{path: s}}\nsources:\n  a: {{root: r, files: [x, y], class: web, {source}}}\n", "r.yaml"
    )
    with pytest.raises(RecipeError) as all_at_once:
        bind_sources(recipe)
    with pytest.raises(RecipeError) as alone:
        bind_source(recipe, recipe.source("a"))
    assert str(alone.value) == str(all_at_once.value)
    assert_told(str(alone.value), "r.yaml:4", message)


def test_media_folders_take_the_keys_of_what_lies_beside_files() -> None:
    source = "{root: ., files: [x], class: web, format: image_folder, columns: {captions: c, language: l}}"
    recipe = recipe_from_text(f"version: 1\nstore: {{path: s}}\nsources:\n  a: {source}\n", "r.yaml")
    assert bind_source(recipe, recipe.source("a")).columns.captions == "c"


def test_a_source_that_is_fetched_is_in_the_store_whether_or_not_anything_is_there(tmp_path: Path) -> None:
    source = "{addresses: {file: news.txt}, class: web}"
    recipe = recipe_from_text(f"version: 1\nstore: {{path: s}}\nsources:\n  a: {source}\n", f"{tmp_path}/r.yaml")
    bound = bind_source(recipe, recipe.source("a"))
    assert (bound.objects.root, bound.fetched_by) == (f"{tmp_path}/s/fetched/a", f"winnow fetch {tmp_path}/r.yaml")
    with pytest.raises(SourceError) as caught:
        list_source("a", bound.objects, recipe.source("a").files, bound.named, bound.fetched_by)
    assert_told(str(caught.value), "r.yaml:4: sources.a", "nothing is fetched yet", f"winnow fetch {tmp_path}/r.yaml")
    bound.objects.put("log/list.parquet", b"")  # a fetch ran, and no address has a record
    with pytest.raises(SourceError) as caught:
        list_source("a", bound.objects, recipe.source("a").files, bound.named, bound.fetched_by)
    assert_told(str(caught.value), "no address gave a record", f"{tmp_path}/s/fetched/a/log", "winnow fetch")
