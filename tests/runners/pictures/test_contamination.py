"""Pictures of an evaluation set are found in a crawl after resizing and recompressing, and dropped by a rule."""

from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.image.networks import loaded, photograph
from tests.runners.pictures.test_picture_duplicates import scene
from tests.runners.test_annotate import table
from winnow.filters.duplicates.vectors.listed_vectors import parse_vector_list
from winnow.filters.image.models.sscd import FRAMING

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
ImageOps = pytest.importorskip("PIL.ImageOps", reason="needs the extra `image`")

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


OF_VECTORS = RECIPE.replace(
    "[image.pdq, {image.contamination: {list: eval.txt}}]",
    "[{image.embedding: {preset: copies@sscd}}, {image.contamination: {list: eval.safetensors, by: embedding}}]",
).replace("list_min(image.contamination.distance) <= 31", "list_max(image.contamination.similarity) >= 0.6")


def test_copies_that_were_cut_or_mirrored_are_found_by_vectors(tmp_path: Path) -> None:
    loaded("image.embedding", model="sscd.distilled", dimensions=512, framing=FRAMING)
    for name in ("eval", "crawl"):
        (tmp_path / name).mkdir()
    whole = Image.fromarray(photograph("astronaut"))
    half = whole.width // 2
    corners = [(left, top, left + half, top + half) for left in (0, half) for top in (0, half)]
    for number, corner in enumerate(corners):  # four pictures, each a stranger to the others
        original = whole.crop(corner).resize((300, 300), Image.Resampling.BICUBIC)
        original.save(tmp_path / "eval" / f"{number}.png")
        original.resize((150, 150)).save(tmp_path / "crawl" / f"{number}-copy.jpg", quality=50)
        original.crop((15, 15, 285, 285)).save(tmp_path / "crawl" / f"{number}-cut.jpg", quality=70)
        ImageOps.mirror(original).save(tmp_path / "crawl" / f"{number}-mirrored.jpg")
        scene(number).save(tmp_path / "crawl" / f"{number}-stranger.jpg")
    (tmp_path / "eval" / "notes.txt").write_text("no picture")
    (tmp_path / "eval" / "cut.png").write_bytes((tmp_path / "eval" / "0.png").read_bytes()[:900])
    (tmp_path / "recipe.yaml").write_text(OF_VECTORS)
    said = ended(run_here(tmp_path, "vectors", "eval", "--output", "eval.safetensors"))
    for line in ("4 vectors of pictures", "left out: 1 no picture", "left out: 1 truncated"):
        assert line in said
    assert "12 of 16 samples dropped" in ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    names = [place["path"] for place in table(tmp_path, "samples")["source"].to_pylist()]
    found = [one[0] for one in table(tmp_path, "image.contamination")["matched"].to_pylist()]
    expected = {f"{number}-{way}.jpg": f"{number}.png" for number in range(4) for way in ("copy", "cut", "mirrored")}
    assert dict(zip(names, found, strict=True)) == {**dict.fromkeys(names), **expected}
    ended(run_here(tmp_path, "vectors", "recipe.yaml", "--output", "own.safetensors"))
    own = parse_vector_list((tmp_path / "own.safetensors").read_bytes(), "own")
    assert (own.dimensions, len(own.names)) == (512, 16)


def test_what_has_no_vectors_is_one_line(folder: Path) -> None:
    for place, preset, status in (("nowhere", "copies@sscd", 1), ("eval", "gopher@datatrove", 1), ("eval", "other", 1)):
        failed = run_here(folder, "vectors", place, "--preset", preset, "--output", "own.safetensors")
        assert failed.status == status
        assert "Traceback" not in failed.err
        assert len(failed.err.strip().splitlines()) == 1
