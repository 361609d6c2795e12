"""What a task on pictures gets of videos: keyframes in squares, the middle one first, or a status that says why not."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from tests.filters.video.films import Film, av
from winnow.filters.image.models.framing import Framing, framed
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.media.score_inputs import Images, Inputs
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe
from winnow.schemas.recipe.score import VideoFrames

SIDE = 16
RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  files: {root: files, files: ["*"], class: public}
"""
FILM = Film(container="mp4", codec="mpeg4", frames=30, gop=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of three keyframes, one of a single frame, one that is cut, a picture, and a text."""
    folder = tmp_path_factory.mktemp("frames")
    (folder / "files").mkdir()
    picture = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 10, 30)).save(picture, "PNG")
    contents = {
        "film.mp4": FILM.encoded(),
        "single.mp4": Film(container="mp4", codec="mpeg4", frames=1).encoded(),
        "cut.mp4": FILM.encoded()[:2000],
        "picture.png": picture.getvalue(),
        "text.txt": b"no picture",
    }
    for name, content in contents.items():
        (folder / "files" / name).write_bytes(content)
    (folder / "recipe.yaml").write_text(RECIPE)
    ingest(bind(load_recipe(folder / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    return folder


def looked_at(folder: Path, frames: VideoFrames | None, max_rows: int = 256) -> dict[str, tuple[list[Any], Any, int]]:
    """Of each file: what the passes show, the status, and how much of it is new."""
    inputs = Inputs(picture_source(load_recipe(folder / "recipe.yaml")), frames=frames)
    store = open_store_at(folder / "store")
    found: dict[str, tuple[list[Any], Any, int]] = {}
    for shard in store.manifest(store.require_latest(), "samples"):
        for batch in store.batches(shard, ["source", "media"]):
            names = [one["path"] for one in batch["source"].to_pylist()]
            images: Images
            for images in inputs.images(batch["media"], "files", SIDE, max_rows):
                for at, name in enumerate(names[images.rows]):
                    shown = [one[at].as_py() for one in images.passes]
                    found[name] = shown, images.statuses[at], int(images.counts[at])
    return found


def keyframes() -> list[bytes]:
    with av.open(io.BytesIO(FILM.encoded())) as film:
        film.streams.video[0].codec_context.skip_frame = "NONKEY"
        pixels = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    return [framed(one, Framing(SIDE, "stretch")).tobytes() for one in pixels]


def test_keyframes_come_in_passes_with_the_middle_one_first_and_a_picture_in_all(folder: Path) -> None:
    found = looked_at(folder, VideoFrames(max_frames=4))
    first, middle, last = keyframes()
    shown, status, new = found["film.mp4"]
    assert (status, new) == (None, 3)
    assert shown[0] == shown[3]  # again
    for mine, theirs in zip(shown, (middle, last, first), strict=False):
        apart = np.frombuffer(mine, "u1").astype(int) - np.frombuffer(theirs, "u1").astype(int)
        assert np.abs(apart).mean() < 3  # colours by another converter
    single, status, new = found["single.mp4"]
    assert (len(set(single)), status, new) == (1, None, 1)
    picture, status, new = found["picture.png"]
    assert (len(set(picture)), status, new) == (1, None, 1)
    assert picture[0][:3] == bytes((200, 10, 30))
    assert found["cut.mp4"] == ([None] * 4, "damaged", 1)
    assert found["text.txt"] == ([None] * 4, None, 1)


def test_frames_do_not_depend_on_which_rows_are_read_together(folder: Path) -> None:
    frames = VideoFrames(max_frames=2, every_seconds=0.2)
    assert looked_at(folder, frames, 1) == looked_at(folder, frames)
    assert looked_at(folder, frames)["film.mp4"][2] == 2


def test_without_frames_a_video_has_no_picture(folder: Path) -> None:
    found = looked_at(folder, None)
    assert found["film.mp4"] == ([None], None, 1)
    assert found["picture.png"][1:] == (None, 1)


def test_a_video_that_is_gone_says_so(folder: Path) -> None:
    film = folder / "files/single.mp4"
    film.rename(folder / "files/elsewhere")
    try:
        assert looked_at(folder, VideoFrames())["single.mp4"][1] == "image_missing"
    finally:
        (folder / "files/elsewhere").rename(film)
