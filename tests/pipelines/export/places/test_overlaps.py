"""Where exports may not be written, said with the line of the recipe before anything is read."""

from pathlib import Path

import pytest

from tests.messages import assert_refused
from tests.pipelines.export.drawn_stores import tree
from tests.pipelines.export.made_exports import ONE, make, without_marks
from winnow.pipelines.export.places.existing import absolute_folder, unfinished_folder
from winnow.pipelines.export.stage import bind_exports
from winnow.schemas.errors import ExportError, RecipeError
from winnow.schemas.recipe import load_recipe


def bind(folder: Path, *entries: str, files: str = '["*.jsonl"]', root: str = "pages") -> int:
    """How many exports a recipe with these entries has."""
    recipe = folder / "recipe.yaml"
    lines = "".join(f"  - {entry}\n" for entry in entries)
    recipe.write_text(
        f"version: 1\nstore: {{path: store}}\nsources:\n  crawl: {{root: {root}, files: {files}, class: web}}\n"
        f"mix: {{}}\nexport:\n{lines}"
    )
    return len(bind_exports(load_recipe(recipe)))


@pytest.mark.parametrize("other", ["./out/hf", "out/../out/hf", "link/hf", "{absolute}/out/hf"])
def test_one_folder_in_two_spellings(tmp_path: Path, other: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with assert_refused(RecipeError, "recipe.yaml:8", "export[1].jsonl.path", "line 7"):
        bind(tmp_path, "parquet: {path: out/hf}", f"jsonl: {{path: {other.format(absolute=tmp_path)}}}")


@pytest.mark.parametrize(("one", "other"), [("out", "out/hf"), ("out/hf", "out")])
def test_one_folder_in_another(tmp_path: Path, one: str, other: str) -> None:
    with assert_refused(RecipeError, "own folder"):
        bind(tmp_path, f"parquet: {{path: {one}}}", f"jsonl: {{path: {other}}}")


@pytest.mark.parametrize("path", ["store", "store/out", "store/../store/out", "."])
def test_the_stores_folder(tmp_path: Path, path: str) -> None:
    with assert_refused(RecipeError, "overlaps the store"):
        bind(tmp_path, f"parquet: {{path: {path}}}")


@pytest.mark.parametrize("path", ["../out", "../../out/hf", "sub/../../out", "{absolute}/out"])
def test_a_folder_outside_that_of_the_recipe(tmp_path: Path, path: str) -> None:
    recipe = tmp_path / "projects/one"
    recipe.mkdir(parents=True)
    assert bind(recipe, f"parquet: {{path: {path.format(absolute=tmp_path)}}}") == 1


def test_a_parent_is_that_of_where_a_link_leads(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe"
    (tmp_path / "disk/sub").mkdir(parents=True)
    recipe.mkdir()
    (recipe / "link").symlink_to(tmp_path / "disk/sub")
    (recipe / "own").symlink_to(recipe / "store/sub")
    assert absolute_folder(recipe / "link/../out") == tmp_path / "disk/out"
    assert unfinished_folder(recipe / "link/../out") == tmp_path / "disk/.out.winnow-unfinished"
    assert make(recipe / "link/../out", "one", ONE)
    assert without_marks(tree(tmp_path / "disk/out")) == ONE
    assert not (recipe / "out").exists()
    with assert_refused(RecipeError, "overlaps the store"):
        bind(recipe, "parquet: {path: own/../out}")


def test_only_links_before_the_last_parent_are_followed(tmp_path: Path) -> None:
    """The folder itself, and those that it is in, keep their names: whether one of them is a link is asked later."""
    (tmp_path / "disk/sub/more").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk/sub")
    (tmp_path / "disk/out").symlink_to(tmp_path)
    assert absolute_folder(tmp_path / "link/../out") == tmp_path / "disk/out"
    assert absolute_folder(tmp_path / "link/../out/link") == tmp_path / "disk/out/link"
    assert absolute_folder(tmp_path / "link/more/../../out/link") == tmp_path / "disk/out/link"
    assert absolute_folder(tmp_path / "link/../out/..") == tmp_path.parent
    assert absolute_folder(tmp_path / "link") == tmp_path / "link"
    with assert_refused(ExportError, "out:", "folder itself"):
        make(tmp_path / "link/../out", "one", ONE)


def test_addresses(tmp_path: Path) -> None:
    assert bind(tmp_path, "parquet: {path: s3://bucket/out}", "jsonl: {path: gs://bucket/out}") == 2
    with assert_refused(RecipeError, "'ftp://bucket/out'", "valid export"):
        bind(tmp_path, "parquet: {path: ftp://bucket/out}")
    with assert_refused(RecipeError, "own folder"):
        bind(tmp_path, "parquet: {path: s3://bucket/out}", "jsonl: {path: s3://bucket/out/more}")


@pytest.mark.parametrize(
    ("files", "path", "found"),
    [
        ('["**/*.parquet"]', "out", True),
        ('["*/*/*.parquet"]', "out", True),  # out/data/train-….parquet
        ('["*/*.parquet"]', "out", True),
        ('["**"]', "out", True),
        ('["o?t/**"]', "out", True),
        ('["**/*.md"]', "out", True),  # the card
        ('["*.parquet"]', "out", False),  # in the root alone
        ('["crawl/**/*.parquet"]', "out", False),
        ('["**/*.warc.gz"]', "out", False),  # no name that the format gives
        ('["**/*.parquet"]', "../beside", False),
    ],
)
def test_where_a_source_would_read_it_at_the_next_ingest(tmp_path: Path, files: str, path: str, found: bool) -> None:
    (tmp_path / "here").mkdir()
    entry = f"parquet: {{path: {path}}}"
    if not found:
        assert bind(tmp_path / "here", entry, files=files, root=".") == 1
        return
    with assert_refused(RecipeError, "'crawl'", "next ingest"):
        bind(tmp_path / "here", entry, files=files, root=".")


def test_folders_side_by_side(tmp_path: Path) -> None:
    assert bind(tmp_path, "parquet: {path: out/hf}", "jsonl: {path: out/hf2}", "mds: {path: store2}") == 3
