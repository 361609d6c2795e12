"""What a source of a recipe says that is not for its format is refused where the recipe is bound, by line."""

import pytest

from winnow.pipelines.binding.sources import bind_source, bind_sources
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("format: wrc", "sources.a.format: expected one of auto, arc, arrow, clips, csv, html, image_folder, jsonl, "),
        ("format: warc, key: id", "sources.a: 'key' is only for formats with columns, such as jsonl, csv, parquet and"),
        ("format: html, columns: {text: t}", "sources.a: 'columns' is only for formats with columns, such as jsonl, "),
        ("format: webdataset, key: id", "sources.a: 'key' is not for webdataset: the files' names are the keys"),
        ("format: video_folder, key: id", "sources.a: 'key' is not for video_folder: the files' names are the keys"),
        ("format: webdataset, columns: {media: m}", "sources.a: 'columns.media' is not for webdataset: all members "),
        ("columns: {captions: c}", "sources.a: 'columns.captions' needs 'columns.media', the column that holds or "),
        ("format: csv, columns: {media: m, language: l}", "sources.a: 'columns.language' needs 'columns.captions', "),
        ("clips: {}", "sources.a: 'clips' and 'format: clips' belong together: write clips: {} for the defaults"),
        ("format: clips", "sources.a: 'clips' and 'format: clips' belong together: write clips: {} for the defaults"),
        ("format: clips, clips: {}", "sources.a: 'files' of clips names one source of the recipe that 'root' names"),
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
    assert str(alone.value).startswith(f"r.yaml:4: {message}")


def test_media_folders_take_the_keys_of_what_lies_beside_files() -> None:
    source = "{root: ., files: [x], class: web, format: image_folder, columns: {captions: c, language: l}}"
    recipe = recipe_from_text(f"version: 1\nstore: {{path: s}}\nsources:\n  a: {source}\n", "r.yaml")
    assert bind_source(recipe, recipe.source("a")).columns.captions == "c"
