"""Copies of videos by the embeddings of their frames, from the command line: also edits that change every hash."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.filters.image.networks import loaded, photograph
from tests.filters.video.drawn import scene
from tests.runners.pictures.test_picture_duplicates import clusters, rows
from tests.runners.videos.test_video_duplicates import RATE, write

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("faiss", reason="needs the extra `embeddings`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  films: {root: ../films, files: ["**/*"], class: public}
dedupe: {vpdq: {}, video_embedding: {}}
mix: {unit: samples}
"""
SECONDS = 5
Pixels = NDArray[np.uint8]
EDITS = ("original", "later", "mirrored", "cropped", "half")


def pan(picture: Pixels) -> list[Pixels]:
    """A camera that moves over a picture."""
    wide = np.asarray(Image.fromarray(picture).resize((320, 240)))
    places = np.linspace(0, 1, SECONDS * RATE)
    return [wide[round(24 * at) : round(24 * at) + 216, round(32 * at) : round(32 * at) + 288] for at in places]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    loaded("image.embedding")  # skips where its model is missing
    whole = tmp_path_factory.mktemp("embedded-videos")
    made: dict[str, list[Pixels]] = {}
    made["astronaut-original.mp4"] = pan(photograph("astronaut"))
    down, right = np.mgrid[:240, :320]
    rings = np.where(np.hypot(down - 110, right - 150) % 40 < 20, 220, 40)
    squares = np.where((down // 24 + right // 24) % 2, 250, 90)
    for number, picture in enumerate((rings[..., None] * [1, 0.2, 0.1], squares[..., None] * [0.1, 0.6, 0.9]), 1):
        made[f"stranger-{number}.mp4"] = pan(picture.astype(np.uint8))
    made["stranger-3.mp4"] = pan(scene(3))
    frames = made["astronaut-original.mp4"]
    made["astronaut-later.mp4"] = frames[RATE // 2 :]
    made["astronaut-mirrored.mkv"] = [one[:, ::-1] for one in frames]
    made["astronaut-cropped.mp4"] = [one[10:-10, 12:-12] for one in frames]
    made["astronaut-half.webm"] = frames[::2]
    listed = list(made.items())
    random.Random(3).shuffle(listed)
    for number, (name, pictures) in enumerate(listed):
        path = whole / "films" / f"{number % 3}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        codec, rate = ("libvpx-vp9", RATE // 2) if name.endswith("webm") else ("mpeg4", RATE)
        write(path, pictures, codec, rate=rate)
    (whole / "films" / "page.html").write_text("<p>No video.</p>")
    return whole


def searched(films: Path, name: str, shard_rows: int, workers: int) -> tuple[Path, str]:
    folder = films / name
    folder.mkdir()
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    return folder, ended(run_here(folder, "run", "recipe.yaml", "--workers", str(workers)))


@pytest.fixture(scope="module")
def once(films: Path) -> tuple[Path, str]:
    return searched(films, "one-worker", 4, 1)


def test_edited_copies_are_one_cluster_and_strangers_are_in_none(once: tuple[Path, str]) -> None:
    folder, said = once
    (copies,) = clusters(folder, "video_embedding")
    assert {Path(one).stem for one in copies} == {f"astronaut-{edit}" for edit in EDITS}
    found = {Path(name).name: row for name, row in rows(folder, "video_embedding").items()}
    mirrored = found["astronaut-mirrored.mkv"]
    assert (mirrored["size"], mirrored["vectors"]) == (5, 5)
    assert 0.97 <= mirrored["similarity"] < 1
    assert (found["stranger-2.mp4"]["status"], found["page.html"]["status"]) == ("unmatched", "no_video")
    assert "similar pairs of sampled embeddings of videos share a cell (recall 1.000)" in said
    by_hashes = {Path(one).stem for cluster in clusters(folder, "vpdq") for one in cluster}
    assert "astronaut-mirrored" not in by_hashes
    assert "duplicate_video_embedding" in ended(run_here(folder, "plan", "recipe.yaml"))
    shown = ended(run_here(folder, "duplicates", "recipe.yaml", "--kind", "video_embedding"))
    assert re.search(r"^video_embedding +videos +\d+ +\d+ +1 +5 ", shown, re.MULTILINE), shown
    assert_clean(folder)


@pytest.mark.large
def test_shards_and_workers_change_no_value(films: Path, once: tuple[Path, str]) -> None:
    other, _ = searched(films, "two-workers", 4, 2)
    assert tree_hash(other) == tree_hash(once[0])
    all_in_one, _ = searched(films, "one-shard", 64, 2)
    assert rows(all_in_one, "video_embedding") == rows(once[0], "video_embedding")
