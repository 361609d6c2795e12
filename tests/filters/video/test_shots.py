"""Shots end where the picture changes for good, by the times of frames."""

import numpy as np
import pytest

from tests.filters.video.drawn import encoded, measured, scene

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
