"""From pictures to exports by the command line: counted by pixels, faces blurred, and every sample in the books."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.filters.image.networks import loaded, photograph
from tests.messages import assert_told

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: pictures, files: ["*.png"], class: web}
annotate: [image.faces]
mix: {unit: pixels, budget: 170_000}
export:
  - webdataset: {path: plain, media: image}
  - webdataset:
      path: blurred
      media: image
      pictures: {resize: {mode: keep_ratio, side: 128}, encode: {format: png}, blur_faces: {min_score: 0.5}}
  - folder: {path: files}
"""


def members(folder: Path) -> dict[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {}
    for path in folder.glob("*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, suffix = member.name.partition(".")
                found.setdefault(key, {})[suffix] = tar.extractfile(member).read()  # type: ignore[union-attr]
    return found


def opened(raw: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    with Image.open(io.BytesIO(raw)) as picture:
        return np.asarray(picture.convert("RGB").resize((128, 128))).astype(np.int64)


def test_faces_are_blurred_where_they_were_found_and_the_books_balance(tmp_path: Path) -> None:
    loaded("image.faces")  # skips where its model is missing
    (tmp_path / "pictures").mkdir()
    face = photograph("astronaut")
    thing = face[200:, :300]  # without the face
    for name, pixels in (("face", face), ("thing", thing)):
        Image.fromarray(pixels).save(tmp_path / "pictures" / f"{name}.png")
    whole = (tmp_path / "pictures" / "thing.png").read_bytes()
    (tmp_path / "pictures" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    plain, blurred = members(tmp_path / "plain"), members(tmp_path / "blurred")
    assert len(plain) == 3
    assert len(blurred) == 2
    differences = {}
    for key, one in blurred.items():
        width = json.loads(one["json"])["original_width"]
        differences[width] = np.abs(opened(one["png"]) - opened(plain[key]["jpg"])).mean(axis=2)
    at_face = differences[face.shape[1]][20:60, 50:75]
    assert at_face.mean() > 15 > 5 > np.median(differences[face.shape[1]])
    assert differences[thing.shape[1]].mean() < 5
    manifest = json.loads((tmp_path / "blurred" / "winnow.json").read_text())
    assert manifest["unit"] == "pixels"
    assert [(one["reason"], one["file"], one["samples"]) for one in manifest["left_out"]] == [
        ("faces_unmeasured", "cut.png", 1)
    ]
    assert manifest["outputs"] == {"train": {"planned": 3, "samples": 2, "shards": 1}}
    assert len(list((tmp_path / "files" / "train" / "00000").glob("*.jpg"))) == 3
    assert_clean(tmp_path)


def test_blurring_needs_the_faces(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("annotate: [image.faces]\n", ""))
    said = ended(run_here(tmp_path, "export", "recipe.yaml"), 1)
    assert_told(said, "export[1].webdataset.pictures.blur_faces", "image.faces", "`annotate`")
