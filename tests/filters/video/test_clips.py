"""A part of a video is watched as a video of its own: its frames, their times, its sound, and what is counted of it."""

import io
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.filters.video.films import Film
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.watching import VideoPass

MIMES = {"mp4": "video/mp4", "matroska": "video/webm", "mpegts": "video/mp2t", "avi": "video/x-msvideo"}
MIMES |= {"ismv": "video/mp4", "vob": "video/mpeg"}


def watched(
    film: Film, wanted: tuple[Signal, ...], clip: Clip | None = None
) -> tuple[dict[Signal, pa.Table], VideoFacts]:
    """The signals of a film, or of a part of it, and its facts."""
    passing = VideoPass(io.BytesIO(film.encoded()), MIMES[film.container], wanted, VideoLimits(), clip)
    batches: dict[Signal, list[pa.RecordBatch]] = {}
    for signal, batch in passing.signals():
        batches.setdefault(signal, []).append(batch)
    return {signal: pa.Table.from_batches(found) for signal, found in batches.items()}, passing.facts


FRAMES, PACKETS, SOUND = Signal("frames"), Signal("packets"), Signal("sound")
VARIABLE = [40 * at + 7 * (at % 3) for at in range(60)]
FILMS = [
    Film(container="mp4", codec="mpeg4", frames=60, gop=12),
    Film(container="mp4", codec="libx264", frames=60, gop=12, reordered=3),
    Film(container="matroska", codec="libx264", frames=60, gop=24, reordered=2),
    Film(container="mpegts", codec="mpeg2video", frames=60, gop=12, reordered=2),
    Film(container="avi", codec="mpeg4", frames=60, gop=12),
    Film(
        container="matroska",
        codec="mpeg4",
        frames=60,
        tick=Fraction(1, 1000),
        times=[at * 40 + 7 * (at % 3) for at in range(60)],
    ),
]


@pytest.mark.parametrize("film", FILMS, ids=lambda film: f"{film.container}-{film.codec}-{film.tick.denominator}")
@pytest.mark.parametrize(("first", "last"), [(0, 10), (12, 24), (17, 41), (59, 60)])
def test_its_frames_are_those_of_the_whole_in_its_time(film: Film, first: int, last: int) -> None:
    whole, facts = watched(film, (FRAMES,))
    ticks = whole[FRAMES]["ticks"].to_pylist()
    end = ticks[last] if last < len(ticks) else facts.start + facts.duration
    part, of_part = watched(film, (FRAMES, PACKETS), Clip(ticks[first], end))
    wanted = whole[FRAMES].slice(first, last - first)
    found = part[FRAMES]
    assert found["ticks"].to_pylist() == wanted["ticks"].to_pylist()
    for column in ("key", "mean", "luma", "cb"):
        assert found[column].to_pylist() == wanted[column].to_pylist()
    tick = facts.time_base
    assert found["seconds"].to_pylist() == pytest.approx(
        [float((one - ticks[first]) * tick) for one in ticks[first:last]]
    )
    assert (of_part.frames, of_part.start) == (last - first, ticks[first])
    assert sorted(part[PACKETS]["ticks"].to_pylist()) == ticks[first:last]


@pytest.mark.parametrize(
    "film",
    [
        Film(container="matroska", codec="mpeg4", frames=75, sound=3.0),
        Film(container="ismv", codec="libx264", frames=75, sound=3.0, sound_codec="aac", gop=40),  # in fragments
        Film(container="vob", codec="mpeg2video", frames=75, sound=3.0, sound_codec="mp2"),  # some 0.7 s late
    ],
    ids=lambda film: film.container,
)
@pytest.mark.parametrize(("first", "last"), [(0, 20), (25, 45), (50, 75)])
def test_its_sound_is_that_of_the_same_time(film: Film, first: int, last: int) -> None:
    whole, of_whole = watched(film, (SOUND, PACKETS))
    tick = of_whole.time_base
    start, end = (of_whole.start + round(at / 25 / tick) for at in (first, last))
    part, facts = watched(film, (SOUND,), Clip(start, end))
    rate = part[SOUND]["rate"][0].as_py()
    seconds = sum(part[SOUND]["samples"].to_pylist()) / rate
    assert seconds == pytest.approx((last - first) / 25, abs=0.06)
    assert facts.sound is not None
    assert facts.sound.seconds == pytest.approx((last - first) / 25, abs=0.06)
    assert np.median(part[SOUND]["power"].to_numpy()) == pytest.approx(
        np.median(whole[SOUND]["power"].to_numpy()), rel=0.05
    )


def test_four_frames_a_second_count_from_its_start() -> None:
    film = Film(container="mp4", codec="mpeg4", frames=100, gop=12)
    hashes: Any = Signal("hashes")
    _, facts = watched(film, ())
    second = round(1 / facts.time_base)
    part, _ = watched(film, (hashes,), Clip(second // 2, second * 5 // 2 + second // 4))
    assert part[hashes]["seconds"].to_pylist() == pytest.approx([at / 4 for at in range(9)], abs=0.05)


STILLS = Film(
    container="matroska", codec="mpeg4", frames=6, tick=Fraction(1, 1000), times=[0, 40, 2000, 9000, 9040, 9080]
)


@pytest.mark.parametrize(("start", "end", "frames"), [(1000, 2500, 2), (3000, 5000, 1), (9060, 9100, 2)])
def test_a_part_begins_with_the_frame_that_is_shown_then(start: int, end: int, frames: int) -> None:
    whole, _ = watched(STILLS, (FRAMES,))
    shown = [at for at, time in enumerate(whole[FRAMES]["ticks"].to_pylist()) if time <= start][-1]
    part, facts = watched(STILLS, (FRAMES,), Clip(start, end))
    assert part[FRAMES]["seconds"][0].as_py() == 0
    assert part[FRAMES]["luma"].to_pylist() == whole[FRAMES]["luma"].to_pylist()[shown : shown + frames]
    assert (facts.frames, facts.start, facts.duration) == (frames, start, end - start)
