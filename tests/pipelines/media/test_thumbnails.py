"""Thumbnails: small, of pixels alone, limited in number and bytes; unsafe pictures are shown as a few blocks."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.faults.winnow import ended, run_here
from winnow.pipelines.media.thumbnails import (
    BLURRED,
    TOO_MANY,
    ItemPlace,
    ThumbnailLimits,
    Thumbnails,
    hidden_behind_blocks,
    picture_source,
    unsafe_items,
)
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_store_at
from winnow.runners.report.pictures import picture
from winnow.schemas.recipe import load_recipe

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*"], class: public}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In this order: a picture with metadata, a cut one, one that lies on its side, a page, a wide one."""
    whole = tmp_path_factory.mktemp("thumbnails")
    pictures = whole / "pictures"
    pictures.mkdir()
    noise = np.random.default_rng(7).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[270] = "a secret description"
    Image.fromarray(noise).save(pictures / "a.jpg", exif=exif)
    (pictures / "b.jpg").write_bytes((pictures / "a.jpg").read_bytes()[:9000])
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(noise).save(pictures / "c.jpg", exif=exif)
    (pictures / "d.txt").write_text("A page without a picture.")
    Image.fromarray(noise[:1]).save(pictures / "e.png")
    (whole / "recipe.yaml").write_text(RECIPE)
    ended(run_here(whole, "ingest", "recipe.yaml"))
    return whole


def thumbnails(folder: Path) -> tuple[Thumbnails, str]:
    store = open_store_at(folder / "store")
    generation = store.require_latest()
    (shard,) = store.manifest(generation, layout.SAMPLES)
    return Thumbnails(store, generation, picture_source(load_recipe(folder / "recipe.yaml"))), shard.shard


def test_each_item_has_a_small_upright_picture_of_pixels_alone_or_a_reason(folder: Path) -> None:
    made, shard = thumbnails(folder)
    wanted = [ItemPlace(shard, row, 0) for row in (4, 2, 1, 0, 3)] + [ItemPlace(shard, 0, 1)]
    found = made.of(wanted)
    assert list(found) == wanted
    sizes = {place.row: (one.status, one.width, one.height) for place, one in found.items() if place.item == 0}
    assert sizes == {
        4: ("ok", 160, 1),
        2: ("ok", 120, 160),
        1: ("truncated", 0, 0),
        0: ("ok", 160, 120),
        3: ("no_such_item", 0, 0),
    }
    assert found[wanted[-1]].status == "no_such_item"
    shown = found[wanted[3]]
    decoded = Image.open(io.BytesIO(shown.jpeg))
    assert (decoded.size, decoded.getexif(), shown.facts["width"]) == ((160, 120), {}, 400)
    assert "secret" not in shown.jpeg.decode("latin-1")
    assert len(picture(shown, "<b>").replace("&lt;b&gt;", "")) < 4 / 3 * len(shown.jpeg) + 120
    assert "<b>" not in picture(shown, "<b>")
    assert "truncated" in picture(found[wanted[2]], "")


def test_neither_number_nor_bytes_exceed_the_limits(folder: Path) -> None:
    made, shard = thumbnails(folder)
    wanted = [ItemPlace(shard, row, 0) for row in (2, 0, 4)]
    few = replace(made, limits=ThumbnailLimits(max_pictures=1)).of(wanted)
    assert [one.status for one in few.values()] == ["ok", TOO_MANY, TOO_MANY]
    assert few[wanted[1]].facts["width"] == 400
    small = len(made.of(wanted)[wanted[0]].jpeg)
    bytes_limited = replace(made, limits=ThumbnailLimits(max_bytes=small)).of(wanted)
    assert [one.status for one in bytes_limited.values()] == ["ok", TOO_MANY, TOO_MANY]


def test_blocks_leave_nothing_but_a_few_colours() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (90, 160, 3), dtype=np.uint8)
    blocks = hidden_behind_blocks(noise)
    assert blocks.shape == noise.shape
    assert len(np.unique(blocks.reshape(-1, 3), axis=0)) <= BLURRED * BLURRED
    assert hidden_behind_blocks(noise[:1, :1]).shape == (1, 1, 3)


def test_a_picture_without_a_score_is_not_seen_and_the_highest_score_counts() -> None:
    measured = pa.table({"neutral": [[0.9], [0.9] * 3, None], "porn": [[0.1], [0.1, None, 0.1], None]})
    measured = measured.append_column("sexy", pa.array([[0.2], [0.1, 0.1, 0.21], None]))
    assert unsafe_items(measured, [1, 3, 2], 0.2) == [set(), {1, 2}, {0, 1}]
    assert unsafe_items(measured, [2, 3, 0], 0.2) == [{1}, {1, 2}, set()]
    assert unsafe_items(measured.select(["neutral"]), [1, 1, 0], 0.2) == [{0}, {0}, set()]


def test_the_worst_frame_of_a_video_counts() -> None:
    measured = pa.table({"score": [[[0.1, 0.9]], [[0.1]]], "score_worst": [[0.9], [0.1]], "porn_worst": [[0.1], [0.1]]})
    assert unsafe_items(measured, [1, 1], 0.2) == [{0}, set()]
    assert unsafe_items(measured, [2, 1], 0.2) == [{0, 1}, set()]


def test_pictures_of_a_lost_disk_are_not_shown_and_no_failure(folder: Path) -> None:
    (folder / "pictures").rename(folder / "elsewhere")
    try:
        made, shard = thumbnails(folder)
        found = made.of([ItemPlace(shard, row, 0) for row in (0, 4)])
    finally:
        (folder / "elsewhere").rename(folder / "pictures")
    assert [one.status for one in found.values()] == ["unavailable", "unavailable"]
