"""Plans of exports whose media no source has."""

import io
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.faults.winnow import run_here
from tests.messages import assert_told

RECIPE = """
version: 1
store: {path: store}
sources: {a: {root: in, files: ["*"], class: web}}
mix: {unit: samples}
export: [{webdataset: {path: out, media: image}}]
"""
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


def write(folder: Path, samples: int, *more: tuple[str, bytes], recipe: str = RECIPE) -> None:
    (folder / "in").mkdir()
    (folder / "recipe.yaml").write_text(recipe)
    with tarfile.open(folder / "in" / "a.tar", "w") as archive:
        for name, body in (*((f"{number:04}.txt", b"A text.") for number in range(samples)), *more):
            header = tarfile.TarInfo(name)
            header.size = len(body)
            archive.addfile(header, io.BytesIO(body))


@pytest.mark.parametrize("command", ["plan", "run"])
def test_an_export_whose_media_no_record_has_is_refused_before_anything_is_measured(
    tmp_path: Path, command: str
) -> None:
    write(tmp_path, 3, ("0003.pdf", b"%PDF-1.4\n%\xe2\xe3\n" + b"x" * 50))
    done = run_here(tmp_path, command, "recipe.yaml")
    assert done.status == 1
    assert_told(
        done.err.splitlines()[-1],
        *("recipe.yaml:6", "export[0].webdataset", "image/*", "4 records", "3 without media", "1 application/pdf"),
        whole=True,
    )
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_of_a_sample_it_is_a_note_and_one_picture_is_enough(tmp_path: Path) -> None:
    write(tmp_path, 300)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 0, done.err
    assert_told(done.out, "256 records")
    (tmp_path / "in" / "z.png").write_bytes(PNG)
    assert "that were looked at" not in run_here(tmp_path, "plan", "recipe.yaml").out


def drawn(seed: int, kind: str) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(coarse).resize((64, 64), Image.Resampling.BICUBIC).save(out, kind)
    return out.getvalue()


def pairs(kinds: tuple[str, str], count: int, alone: int) -> list[tuple[str, bytes]]:
    """Members of samples with two pictures each, and of samples with one, of both kinds by turns."""
    members = [(f"{at:04}.{kind}", drawn(at, kind)) for at in range(count) for kind in kinds]
    return [*members, *((f"{at:04}.{kinds[at % 2]}", drawn(at, kinds[at % 2])) for at in range(count, count + alone))]


@pytest.mark.parametrize("media", ["image", "png"])
@pytest.mark.parametrize("form", ["webdataset", "mds", "parquet"])
def test_two_media_a_sample_are_refused_with_a_condition_that_works(media: str, form: str, tmp_path: Path) -> None:
    recipe = RECIPE.replace("webdataset", form).replace("media: image", f"media: {media}")
    write(tmp_path, 0, *pairs(("png", "jpeg"), 7, 4), recipe=recipe)
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 1
    said = done.err.splitlines()[-1]
    assert "7 of " in said
    assert_told(said, "image/jpeg", "image/png")
    (where,) = re.findall(r'where: "([^"]+)"', said)
    (tmp_path / "recipe.yaml").write_text(recipe.replace("unit: samples", f'unit: samples, where: "{where}"'))
    done = run_here(tmp_path, "run", "recipe.yaml", "--workers", "1")
    assert done.status == 0, done.err
    assert f"train {4 if media == 'image' else 2} samples" in done.out


def test_a_few_samples_of_two_media_are_a_note(tmp_path: Path) -> None:
    write(tmp_path, 0, *pairs(("png", "jpeg"), 2, 9))
    done = run_here(tmp_path, "plan", "recipe.yaml")
    assert done.status == 0, done.err
    assert "2 of 11 records" in " ".join(done.out.split())


def test_what_the_recipe_chooses_itself_is_not_refused(tmp_path: Path) -> None:
    recipe = RECIPE.replace("unit: samples", "unit: samples, where: \"samples.mime = 'image/jpeg'\"")
    write(tmp_path, 0, *pairs(("png", "jpeg"), 7, 0), recipe=recipe)
    assert run_here(tmp_path, "plan", "recipe.yaml").status == 0
