"""Shots end where the picture changes for good, by the times of frames."""

import numpy as np
import pytest

from tests.filters.video.drawn import encoded, measured, scene
from winnow.filters.models.transnet import MODEL as TRANSNET
from winnow.filters.video.transitions.learned import TransNetDetector
from winnow.filters.video.transitions.planes import CELLS, LUMA
from winnow.pipelines.assets import asset_path

FIRST, SECOND, THIRD = (scene(seed) for seed in (1, 2, 3))
BLACK = np.zeros_like(FIRST)


def moving(picture: np.ndarray, count: int) -> list[np.ndarray]:
    return [np.roll(picture, number, axis=1) for number in range(count)]


def mixed(one: np.ndarray, other: np.ndarray, count: int) -> list[np.ndarray]:
    shares = [(step + 1) / (count + 1) for step in range(count)]
    return [(one * (1 - share) + other * share).astype(np.uint8) for share in shares]


def test_cuts_are_found_at_their_frames() -> None:
    row = measured("shots", encoded([*moving(FIRST, 30), *moving(SECOND, 40), *moving(THIRD, 30)]))
    assert row["count"] == 3
    assert row["begin_seconds"] == [0.0, 1.2, 2.8]
    assert row["end_seconds"] == [1.2, 2.8, 4.0]
    assert row["transitions"] == ["start", "cut", "cut"]
    assert row["longest"] == pytest.approx(1.6)
    assert row["begins"] == [0, 1200, 2800]  # Matroska's milliseconds
    assert (row["numerator"], row["denominator"]) == (1, 1000)


def test_times_are_those_of_frames_whose_rate_varies() -> None:
    times = [4 * number for number in range(20)] + [100 + 11 * number for number in range(20)]
    row = measured("shots", encoded([*moving(FIRST, 20), *moving(SECOND, 20)], times))
    assert row["begin_seconds"] == [0.0, 1.0]


@pytest.mark.parametrize("codec", ["libx264", "mpeg4", "libvpx-vp9"])
def test_frames_that_are_stored_out_of_order_are_seen_in_order(codec: str) -> None:
    options = {"bf": "3", "g": "100"} if codec != "libvpx-vp9" else {"deadline": "realtime", "cpu-used": "8"}
    row = measured("shots", encoded([*moving(FIRST, 30), *moving(SECOND, 30)], None, codec, options=options))
    assert row["begin_seconds"] == [0.0, 1.2]


def test_a_fade_through_black_belongs_to_no_shot() -> None:
    frames = [*[FIRST] * 25, *mixed(FIRST, BLACK, 10), *[BLACK] * 5, *mixed(BLACK, SECOND, 10), *[SECOND] * 25]
    row = measured("shots", encoded(frames))
    assert row["transitions"] == ["start", "fade"]
    assert 1.0 <= row["end_seconds"][0] <= 1.2  # the first frame of the fade is at 1.0, black begins at 1.4
    assert 1.8 <= row["begin_seconds"][1] <= 2.0


def test_a_dissolve_belongs_to_no_shot() -> None:
    row = measured("shots", encoded([*[FIRST] * 30, *mixed(FIRST, SECOND, 14), *[SECOND] * 30]))
    assert row["transitions"] == ["start", "dissolve"]
    assert row["end_seconds"][0] == pytest.approx(1.2, abs=0.09)
    assert row["begin_seconds"][1] == pytest.approx(1.76, abs=0.09)


def test_a_flash_and_a_pan_end_no_shot() -> None:
    frames = moving(FIRST, 60)
    frames[30] = np.full_like(FIRST, 255)
    assert measured("shots", encoded(frames))["count"] == 1


def test_black_alone_is_no_shot() -> None:
    row = measured("shots", encoded([BLACK] * 20))
    assert (row["count"], row["begins"], row["longest"]) == (0, [], 0.0)


def test_shots_are_the_same_however_many_frames_come_at_once() -> None:
    frames = [one for number in range(12) for one in moving(scene(number), 35)]  # more than a batch holds
    row = measured("shots", encoded(frames))
    assert row["begin_seconds"] == [pytest.approx(1.4 * number) for number in range(12)]


def shown(pictures: list[np.ndarray], film: float, rate: float) -> tuple[list[np.ndarray], list[int]]:
    """Pictures of a film of so many a second, shown at another rate; times in hundredths of a second."""
    count = int(len(pictures) * rate / film)
    return [pictures[int(at * film / rate + 1e-9)] for at in range(count)], [
        round(100 * at / rate) for at in range(count)
    ]


FAST = [np.roll(FIRST, 4 * min(at, 30), axis=1) for at in range(40)]
"""A fast pan, which then stands: each of its frames differs from the last by as much as a cut may."""


@pytest.mark.parametrize("rate", [20, 50, 100])
def test_frames_that_are_shown_twice_make_no_cuts(rate: int) -> None:
    lossy = {"preset": "veryfast", "crf": "30"}
    pictures, times = shown([*FAST, *moving(SECOND, 30)], 20, rate)
    row = measured("shots", encoded(pictures, times, "libx264", options=lossy))
    assert row["transitions"] == ["start", "cut"]
    assert row["begin_seconds"] == [0.0, 2.0]


def test_what_moves_before_a_camera_that_does_not_is_no_cut() -> None:
    def passing(at: int) -> np.ndarray:
        picture = FIRST.copy()
        if at >= 15:  # something comes into the picture, and stays
            picture[20:70, 30:90] = 255 - picture[20:70, 30:90]
        return picture

    pictures = [passing(at) for at in range(40)]
    row = measured("shots", encoded(pictures, [8 * at for at in range(40)], "libx264", options={"crf": "24"}))
    assert row["count"] == 1


def test_slides_are_shots_however_long_each_is_shown() -> None:
    pictures = [scene(seed) for seed in range(6) for _ in range(30 + 7 * seed)]
    row = measured("shots", encoded(pictures, None, "libx264", options={"crf": "28"}))
    begins = np.cumsum([0, *(30 + 7 * seed for seed in range(5))]) / 25
    assert row["begin_seconds"] == pytest.approx(begins.tolist())


def test_a_network_finds_a_dissolve_out_of_what_moves() -> None:
    asset_path(TRANSNET)  # fetched at set-up
    falling = [np.roll(SECOND, at, axis=0) for at in range(57)]
    shares = [(step + 1) / 13 for step in range(12)]
    dissolved = [
        (one * (1 - share) + THIRD * share).astype(np.uint8) for one, share in zip(falling[45:], shares, strict=True)
    ]
    frames = [*falling[:45], *dissolved, *[THIRD] * 30]
    row = measured("shots", encoded(frames), detector="transnet")
    assert row["transitions"] == ["start", "dissolve"]
    assert row["end_seconds"][0] == pytest.approx(1.8, abs=0.17)
    assert row["begin_seconds"][1] == pytest.approx(2.28, abs=0.17)


def test_what_a_network_says_does_not_depend_on_how_frames_come() -> None:
    def said(frames: np.ndarray) -> np.ndarray:
        return frames[:, 0, :2, 0].astype(np.float32) / 255

    frames = np.random.default_rng(7).integers(0, 256, (330, CELLS), np.uint8)
    found = []
    for sizes in ([330], [1] * 330, [99, 1, 100, 130]):
        detector = TransNetDetector(said, 0.7)
        for part in np.split(frames, np.cumsum(sizes)[:-1]):
            detector.see(part, np.empty(0))
        found.append(detector.end())
    assert found[0] == found[1] == found[2] != []


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 101])
def test_a_network_sees_each_frame_of_a_short_video_once(count: int) -> None:
    seen = []

    def said(frames: np.ndarray) -> np.ndarray:
        seen.extend(frames[25:75, 0, 0, 0].tolist())
        return np.zeros((100, 2), np.float32)

    planes = np.repeat(np.arange(1, count + 1, dtype=np.uint8)[:, None], CELLS, axis=1)
    planes[:, LUMA:] = 128
    detector = TransNetDetector(said, 0.5)
    detector.see(planes, np.empty(0))
    assert detector.end() == []
    assert seen[:count] == list(range(1, count + 1))
    assert len(seen) == -(-count // 50) * 50
