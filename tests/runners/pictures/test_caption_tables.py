"""Captions in a table beside a folder of pictures: which picture has which, and what becomes of every row."""

from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.messages import assert_told
from tests.runners.test_annotate import table

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3}
sources:
  photos: {root: photos, files: ["**/*.png", "**/metadata.*"], class: public, format: image_folder%s}
annotate: [caption.length]
"""
CSV = b"""file_name,text,licence
a.png,"A cat, asleep",CC0
a.png,Again a cat,
sub/b.png,Ein Hund,CC-BY
own/c.png,A house,
missing.png,Nothing,
../outside.png,Elsewhere,
a.png,"bad \xff byte",
,No name,
"""


def picture(path: Path, grey: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (8, 8), grey).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for grey, name in enumerate(("a", "unnamed", "sub/b", "own/c")):
        picture(tmp_path / "photos" / f"{name}.png", grey)
    picture(tmp_path / "outside.png", 9)
    (tmp_path / "photos" / "metadata.csv").write_bytes(CSV)
    (tmp_path / "photos" / "a.txt").write_text("A cat, asleep")
    rows = [
        '{"file_name": "c.png", "caption": "Une maison"}',
        '{"file_name": "../a.png", "caption": "Above"}',
        '{"x": 1}',
    ]
    (tmp_path / "photos" / "own" / "metadata.jsonl").write_text("\n".join(rows))
    (tmp_path / "recipe.yaml").write_text(RECIPE % "")
    return tmp_path


def captions(folder: Path) -> dict[str, list[tuple[str, str, str | None]]]:
    rows = table(folder, "samples").to_pylist()
    return {
        row["source"]["path"]: [(one["text"], one["origin"], one["language"]) for one in row["captions"]]
        for row in rows
    }


def test_each_picture_has_the_captions_of_its_rows_and_each_row_is_accounted_for(folder: Path) -> None:
    told = ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert captions(folder) == {
        "a.png": [("A cat, asleep", "txt", None), ("Again a cat", "metadata.csv", None)],
        "own/c.png": [("Une maison", "metadata.jsonl", None), ("A house", "metadata.csv", None)],
        "sub/b.png": [("Ein Hund", "metadata.csv", None)],
        "unnamed.png": [],
    }
    metadata = dict(zip(captions(folder), table(folder, "samples")["metadata"].to_pylist(), strict=True))
    assert metadata["sub/b.png"] == '{"metadata.csv":{"licence":"CC-BY"}}'
    assert "dropped 6 (described 5, not_content 1)  quarantined 6 (" in told
    for reason in ("missing_media 5", "bad_utf8 1"):
        assert reason in told
    assert_clean(folder)


@pytest.mark.processes
def test_one_worker_and_two_give_the_same_store(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    first = tree_hash(folder)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "2"))
    assert tree_hash(folder) == first
    again = folder / "again"
    again.mkdir()
    (folder / "photos").rename(again / "photos")
    (again / "recipe.yaml").write_text(RECIPE % "")
    ended(run_here(again, "run", "recipe.yaml", "--workers", "2"))
    assert tree_hash(again) == first


def test_columns_of_other_names_and_languages(folder: Path) -> None:
    (folder / "photos" / "metadata.csv").unlink()
    (folder / "photos" / "metadata.tsv").write_text("image\ttitle\tlang\nunnamed.png\tEn katt\tsv\n")
    columns = ", columns: {media: image, captions: title, language: lang}"
    (folder / "recipe.yaml").write_text(RECIPE % columns)
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    assert captions(folder)["unnamed.png"] == [("En katt", "metadata.tsv", "sv")]
    assert_clean(folder)


def test_a_table_that_is_too_large_is_one_line_that_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.pipelines.ingest.caption_tables.TABLE_BYTES", 100)
    told = ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"), 1)
    assert "photos/metadata.csv: " in told
    assert_told(told, "'files'", "'columns: {media: file_name, captions: text}'")
