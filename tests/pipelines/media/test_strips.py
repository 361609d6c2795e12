"""Contact sheets show a frame of each shot of a video, and of any part of it."""

import numpy as np
import pytest

from tests.filters.video.films import Film
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip
from winnow.pipelines.media.videos.strips import MOST_SHOTS, shot_frames, side_by_side

FILM = InMemoryBytes(Film(frames=100, gop=100).encoded())  # four seconds, with one keyframe


def moments(*arguments: object) -> list[float]:
    return [one.seconds for one in shot_frames(FILM, "video/mp4", 4.0, VideoLimits(), 32, *arguments)]  # type: ignore[arg-type]


def test_each_shot_has_a_frame_near_its_middle() -> None:
    assert moments([(0, 1), (1, 4)]) == pytest.approx([0.5, 2.5], abs=0.1)


def test_of_many_shots_a_few_are_shown_from_the_first_to_the_last() -> None:
    shots = [(at / 3, (at + 1) / 3) for at in range(12)]
    assert [int(one * 3) for one in moments(shots)] == [0, 2, 4, 7, 9, 11]


def test_without_shots_equal_parts_are_shown() -> None:
    assert moments() == pytest.approx([4 / 6 * (at + 0.5) for at in range(MOST_SHOTS)], abs=0.1)


def test_of_a_clip_its_own_frames_are_shown_though_none_is_a_keyframe() -> None:
    clip = Clip(12800, 25600)  # the second second
    for seconds in (1.0, 4000.0):  # a long one has only keyframes
        shown = shot_frames(FILM, "video/mp4", seconds, VideoLimits(), 32, (), clip)
        assert 0 <= shown[0].seconds <= shown[-1].seconds < 1


def test_what_cannot_be_watched_is_said() -> None:
    with pytest.raises(UnwatchableError, match="damaged"):
        shot_frames(InMemoryBytes(bytes(5000)), "video/mp4", 4.0, VideoLimits(), 32)


def test_frames_stand_in_lines_of_three() -> None:
    frames = [np.full((10, 20, 3), level, np.uint8) for level in range(4)]
    drawn = side_by_side(frames)
    assert drawn.shape == (23, 66, 3)
    assert drawn[0, [0, 19, 20, 22, 23, 46]].tolist() == [[level] * 3 for level in (0, 0, 128, 128, 1, 2)]
    assert drawn[[10, 13, 22], 0].tolist() == [[128] * 3, [3] * 3, [3] * 3]
    assert drawn[13, 23].tolist() == [128] * 3
