"""Text in pictures, against rapidocr's own code."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.image.networks import loaded, peer, photograph
from tests.filters.image.test_quality import batch, noise
from winnow.filters.image.models.text_boxes import covered_by, text_boxes
from winnow.filters.image.text_area import TextAreaConfig, text_area

DETECT = """
import json, sys, cv2, numpy as np
from rapidocr import RapidOCR
settings = {"Det.limit_type": "max", "Det.limit_side_len": 640, "Global.log_level": "critical"}
detector = RapidOCR(params=settings)._load_det_model()
found = []
for name, pixels in sorted(np.load(sys.argv[1]).items()):
    boxes = detector(pixels[:, :, ::-1].copy()).boxes
    inside = np.zeros(pixels.shape[:2], np.uint8)
    for box in [] if boxes is None else boxes:
        cv2.fillPoly(inside, [box.astype(np.int32)], 1)
    found.append([0 if boxes is None else len(boxes), float(inside.mean())])
print(json.dumps(found))
"""
DECODE = """
import json, sys, cv2, numpy as np
from rapidocr.ch_ppocr_det.utils import DBPostProcess
read = DBPostProcess(thresh=0.3, box_thresh=0.5, unclip_ratio=1.6, use_dilation=True)
found = []
for _, likely in sorted(np.load(sys.argv[1]).items()):
    boxes, _ = read(likely[None, None], likely.shape)
    inside = np.zeros(likely.shape, np.uint8)
    for box in boxes:
        cv2.fillPoly(inside, [box.astype(np.int32)], 1)
    found.append([len(boxes), float(inside.mean())])
print(json.dumps(found))
"""


def page(turned: float = 0.0) -> NDArray[np.uint8]:
    """Two lines on white."""
    pillow = pytest.importorskip("PIL.Image", reason="needs the extra `image-models`")
    from PIL import ImageDraw, ImageFont

    picture = pillow.new("RGB", (640, 320), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((40, 60), "Harbour lights at dusk", font=ImageFont.load_default(44), fill="black")
    draw.text((40, 180), "A second, smaller line of words", font=ImageFont.load_default(24), fill="blue")
    return np.asarray(picture.rotate(turned, fillcolor="white"))


def lines(seed: int) -> NDArray[np.float32]:
    """A detector's map of some turned lines of text, likely in the middle and less so at their ends."""
    random = np.random.default_rng(seed)
    down, across = np.mgrid[:192, :256]
    likely = random.random((192, 256)) * 0.2
    for place in range(3):
        middle = (random.integers(40, 210), 30 + 64 * place)
        angle = random.uniform(-0.3, 0.3)
        along = (across - middle[0]) * math.cos(angle) + (down - middle[1]) * math.sin(angle)
        beside = (down - middle[1]) * math.cos(angle) - (across - middle[0]) * math.sin(angle)
        inside = (abs(along) < random.integers(15, 40)) & (abs(beside) < random.integers(3, 8))
        likely = np.where(inside, 0.8 + random.random() / 5, likely)
    return likely.astype(np.float32)


def test_lines_of_text_are_found_and_their_area() -> None:
    straight, turned, face, nothing, pixel, line = loaded("image.text_area")(
        batch(
            page(), page(20), photograph("astronaut"), np.full((90, 160, 3), 200, np.uint8), noise(1, 1), noise(1, 3000)
        )
    ).to_pylist()
    assert (straight["status"], straight["count"], turned["count"]) == ("ok", 2, 2)
    assert 0.1 < straight["area"] < 0.25
    assert straight["area"] / 2 < straight["largest"] < straight["area"]
    assert turned["area"] == pytest.approx(straight["area"], abs=0.04)
    for none in (face, nothing, pixel, line):
        assert none == {"status": "ok", "count": 0, "area": 0, "largest": 0}


@pytest.mark.peers
def test_areas_are_those_of_rapidocr(tmp_path: Path) -> None:
    pictures = [page(), page(20), page(-8)[:, :480], photograph("astronaut")]
    np.savez(tmp_path / "pictures.npz", **{str(number): one for number, one in enumerate(pictures)})  # type: ignore[arg-type]
    theirs = peer(DETECT, str(tmp_path / "pictures.npz"))
    ours = loaded("image.text_area", max_height=2.0)(batch(*pictures)).to_pylist()
    assert [one["count"] for one in ours] == [count for count, _ in theirs]
    np.testing.assert_allclose([one["area"] for one in ours], [area for _, area in theirs], atol=0.012)


def test_a_line_as_large_as_the_picture_counts_only_if_asked_for() -> None:
    face = batch(photograph("astronaut"))  # the detector takes it for a character
    (said,), (plain,) = (loaded("image.text_area", max_height=most)(face).to_pylist() for most in (2.0, 0.5))
    assert (said["count"], plain["count"]) == (1, 0)
    assert said["area"] > 0.9


@pytest.mark.parametrize(
    ("high", "long", "counted"),
    [(30, 60, True), (60, 170, True), (80, 170, False), (150, 150, False), (80, 560, True), (30, 25, True)],
)
def test_large_regions_count_if_they_are_as_long_as_words(high: int, long: int, counted: bool) -> None:
    likely = np.zeros((1, 1, 640, 640), np.float32)
    likely[0, 0, 40 : 40 + high, 60 : 60 + long] = 0.9
    likely[0, 0, 500:510, 100:300] = 0.9
    found = text_area(batch(np.zeros((640, 640, 3), np.uint8)), TextAreaConfig(), lambda _: (likely,))  # type: ignore[arg-type]
    (row,) = found.to_pylist()
    assert (row["status"], row["count"]) == ("ok", 1 + counted)


@pytest.mark.peers
def test_maps_are_read_as_rapidocr_reads_them(tmp_path: Path) -> None:
    maps = [lines(seed) for seed in range(30)]
    np.savez(tmp_path / "maps.npz", **{f"{number:02}": one for number, one in enumerate(maps)})  # type: ignore[arg-type]
    theirs = peer(DECODE, str(tmp_path / "maps.npz"))
    ours = [text_boxes(one, 0.5) for one in maps]
    assert [len(one) for one in ours] == [count for count, _ in theirs]
    assert sum(len(one) for one in ours) > 60
    areas = [covered_by(one, 192, 256).mean() for one in ours]
    np.testing.assert_allclose(areas, [area for _, area in theirs], rtol=0.11)  # OpenCV paints the edges, too


def test_a_straight_block_grows_by_its_area_and_its_outline() -> None:
    likely = np.zeros((60, 120), np.float32)
    likely[20:30, 30:80] = 0.9
    (box,) = text_boxes(likely, 0.5)
    grown = 50 * 10 * 1.6 / (2 * (50 + 10))  # marked are 51 x 11 pixels, whose centres are 50 x 10 apart
    assert box[:2] == pytest.approx([55, 25])
    assert sorted(box[2:4]) == pytest.approx([5 + grown, 25 + grown])
    assert covered_by(np.array([box]), 60, 120).sum() == (2 * int(5 + grown) + 1) * (2 * int(25 + grown) + 1)


def test_specks_and_weak_regions_are_no_text() -> None:
    likely = np.zeros((60, 120), np.float32)
    likely[10:11, 10:12] = 1
    likely[20:40, 20:100] = 0.4
    assert len(text_boxes(likely, 0.5)) == 0
    assert len(text_boxes(likely, 0.3)) == 1
    assert len(text_boxes(np.zeros((1, 1), np.float32), 0.1)) == 0


def test_a_checkerboard_of_regions_is_cut_off() -> None:
    likely = np.zeros((400, 400), np.float32)
    likely.reshape(50, 8, 50, 8)[:, :5, :, :5] = 1
    assert len(text_boxes(likely, 0.5)) == 1_000
