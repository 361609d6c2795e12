"""Pictures of an evaluation set are found in a crawl after resizing and recompressing, and dropped by a rule."""

from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.runners.test_annotate import table
from tests.runners.test_picture_duplicates import scene

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: crawl, files: ["*"], class: public}
annotate: [image.pdq, {image.contamination: {list: eval.txt}}]
keep: [{drop: list_min(image.contamination.distance) <= 31, reason: contaminated, when_null: keep}]
"""
PLANTED = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("eval", "eval/more", "crawl"):
        (tmp_path / name).mkdir()
    for number in range(PLANTED):
        original = scene(number)
        original.save(tmp_path / ("eval/more" if number % 2 else "eval") / f"{number}.png")
        copy = original.resize((160 + 20 * number, 120 + 15 * number), Image.Resampling.BICUBIC)
        copy.save(tmp_path / "crawl" / f"{number}-copy.jpg", quality=50 + 5 * number)
        scene(100 + number).save(tmp_path / "crawl" / f"{number}-stranger.jpg")
    Image.new("RGB", (90, 90), "blue").save(tmp_path / "eval" / "flat.png")
    (tmp_path / "eval" / "notes.txt").write_text("no picture")
    (tmp_path / "eval" / "cut.png").write_bytes((tmp_path / "eval" / "0.png").read_bytes()[:900])
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_all_planted_copies_are_found_and_no_other_picture_is(folder: Path) -> None:
    said = ended(run_here(folder, "pdq", "eval", "--output", "eval.txt"))
    assert f"{PLANTED} hashes of pictures" in said
    for reason in ("1 flat", "1 no picture", "1 truncated"):
        assert f"left out: {reason}" in said
    plan = ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert f"{PLANTED} of {2 * PLANTED} samples dropped" in plan
    names = [place["path"] for place in table(folder, "samples")["source"].to_pylist()]
    found = dict(
        zip(names, (one[0] for one in table(folder, "image.contamination")["matched"].to_pylist()), strict=True)
    )
    expected = {f"{number}-copy.jpg": ("more/" if number % 2 else "") + f"{number}.png" for number in range(PLANTED)}
    assert found == {**dict.fromkeys(names), **expected}
    ended(run_here(folder, "pdq", "recipe.yaml", "--output", "own.txt"))
    assert len((folder / "own.txt").read_text().splitlines()) == 2 * PLANTED
    ended(run_here(folder, "pdq", "nowhere", "--output", "own.txt"), 1)
    (folder / "empty").mkdir()
    ended(run_here(folder, "pdq", "empty", "--output", "own.txt"), 3)
