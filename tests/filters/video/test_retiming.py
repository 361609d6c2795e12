"""Frames have the times at which they are shown, also where their container has none of them."""

import io
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.filters.video.films import Film, av
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.showing_order import ShowingOrder
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.watching import VideoPass

pytestmark = pytest.mark.processes

MIMES = {"mp4": "video/mp4", "avi": "video/x-msvideo", "matroska": "video/matroska"}

REORDERED = {
    "pairs": "bframes=2:b-adapt=0:b-pyramid=none:scenecut=0",
    "pyramid": "bframes=5:b-adapt=0:b-pyramid=normal:scenecut=0",
    "open": "bframes=3:b-adapt=0:open-gop=1:scenecut=0",
    "interlaced": "bframes=3:b-adapt=0:interlaced=1:scenecut=0",
}


def film(container: str, kind: str, **others: Any) -> Film:
    """H.264, every third frame or so of which is shown before one that is decoded before it."""
    plain = Film(container, "libx264", frames=60, reordered=5, gop=20, options={"x264-params": REORDERED[kind]})
    return replace(plain, **others)


def watched(content: bytes, container: str, clip: Clip | None = None) -> tuple[VideoFacts, list[tuple[float, bytes]]]:
    """The facts, and the second and the pixels of each frame."""
    wanted = Signal("stills", side=32, seconds=0.001)
    video = VideoPass(io.BytesIO(content), MIMES[container], [wanted], VideoLimits(), clip)
    seen = []
    for _, batch in video.signals():
        pixels = batch.column("pixels").to_pylist()
        seen += list(zip(batch.column("seconds").to_pylist(), map(bytes, pixels), strict=True))
    return video.facts, seen


@pytest.mark.parametrize("kind", REORDERED)
def test_frames_of_avi_are_shown_when_those_of_the_same_stream_in_mp4_are(kind: str) -> None:
    facts, seen = watched(film("avi", kind).encoded(), "avi")
    exact, shown = watched(film("mp4", kind).encoded(), "mp4")
    assert [second for second, _ in seen] == [number / 25 for number in range(60)]
    assert seen == shown
    assert facts.seconds == exact.seconds == 2.4
    assert (facts.frames, facts.keyframes, facts.is_variable) == (60, exact.keyframes, False)
    assert facts.longest_gop * facts.time_base == exact.longest_gop * exact.time_base


@pytest.mark.parametrize("kind", REORDERED)
def test_a_clip_of_an_avi_has_the_frames_of_its_time(kind: str) -> None:
    _, shown = watched(film("mp4", kind).encoded(), "mp4")
    for start, end in ((0, 7), (13, 22), (19, 41), (55, 60)):
        facts, seen = watched(film("avi", kind).encoded(), "avi", Clip(start, end))
        assert [pixels for _, pixels in seen] == [pixels for _, pixels in shown[start:end]]
        assert (facts.frames, facts.start, facts.duration) == (end - start, start, end - start)


def test_a_damaged_frame_of_an_avi_moves_no_other() -> None:
    content = bytearray(film("avi", "pairs").encoded())
    _, shown = watched(bytes(content), "avi")
    at = content.index(b"00dc", content.index(b"movi"))
    for _ in range(24):
        at = content.index(b"00dc", at + 4)
    content[at + 12 : at + 60] = bytes(48)  # the header of a slice is gone
    _, seen = watched(bytes(content), "avi")
    times = dict(shown)
    assert len(seen) >= 58
    assert all(pixels == times[second] for second, pixels in seen if second < 20 / 25 or second >= 40 / 25)


@pytest.mark.parametrize(
    ("codec", "early"), [("libx264", 1), ("libx264", 10), ("libx264", 60), ("libvpx-vp9", 10), ("mpeg4", 10)]
)
def test_a_matroska_file_that_begins_before_zero_is_as_long_as_its_frames(codec: str, early: int) -> None:
    options = {"x264-params": REORDERED["pyramid"]} if codec == "libx264" else {}
    plain = Film("matroska", codec, frames=75, gop=20, reordered=5 if options else 0, options=options)
    before_zero = replace(plain, start=Fraction(-early, 25)).encoded()
    untimed = early if codec == "libx264" else 0  # of others, FFmpeg finds their times
    with av.open(io.BytesIO(before_zero)) as container:
        assert sum(one.pts is None for one in container.demux(video=0) if one.size) == untimed
    facts, seen = watched(before_zero, "matroska")
    _, shown = watched(plain.encoded(), "matroska")
    assert [second for second, _ in seen] == pytest.approx([number / 25 for number in range(75)])
    assert [pixels for _, pixels in seen] == [pixels for _, pixels in shown]
    assert (facts.seconds, facts.frames, facts.untimed) == (3.0, 75, untimed)
    assert facts.start * facts.time_base == -Fraction(early, 25)
    assert not facts.is_variable


@pytest.mark.parametrize("start", [Fraction(0), Fraction(-2, 5), Fraction(-2)])
def test_sound_before_zero_stays_with_its_pictures(start: Fraction) -> None:
    facts, _ = watched(film("matroska", "pairs", start=start, sound=2.4, sound_codec="flac").encoded(), "matroska")
    assert facts.sound is not None
    assert facts.sound.seconds == pytest.approx(2.4, abs=0.01)
    assert facts.sound.starts_after == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("kind", REORDERED)
@pytest.mark.parametrize(("container", "start"), [("mp4", 0), ("matroska", 0), ("matroska", -10), ("matroska", -30)])
def test_clips_have_the_frames_of_their_time_wherever_keyframes_are(container: str, start: int, kind: str) -> None:
    content = film(container, kind, start=Fraction(start, 25)).encoded()
    whole, shown = watched(content, container)
    frame = int(Fraction(1, 25) / whole.time_base)
    for first, last in ((0, 7), (1, 3), (19, 20), (20, 31), (38, 41), (57, 60)):  # keyframes are the 20th and 40th
        clip = Clip(whole.start + first * frame, whole.start + last * frame)
        facts, seen = watched(content, container, clip)
        assert [pixels for _, pixels in seen] == [pixels for _, pixels in shown[first:last]], (first, last)
        assert facts.frames == last - first


@pytest.mark.parametrize("kind", REORDERED)
@pytest.mark.parametrize("container", ["mp4", "avi", "mpegts"])
def test_the_order_of_showing_is_that_of_times(container: str, kind: str) -> None:
    with av.open(io.BytesIO(film("mp4", kind).encoded())) as timed:
        times = [one.pts for one in timed.demux(video=0) if one.size]
    with av.open(io.BytesIO(film(container, kind).encoded())) as source:
        stream = source.streams.video[0]
        order = ShowingOrder(stream.codec_context.extradata)
        places = [order.place(bytes(one)) for one in source.demux(stream) if one.size]
    assert None not in places
    in_order = sorted(range(60), key=lambda number: places[number] or (0, 0))
    assert [times[number] for number in in_order] == sorted(times)


def test_noise_has_no_place() -> None:
    order = ShowingOrder(b"\1\x64\0\x0a\xff\xe1\xff\xff")
    assert order.place(b"\0\0\0\1\x65\xff") is None
    assert ShowingOrder(None).place(b"\0\0\1\x65" + bytes(80)) is None
    assert ShowingOrder(b"\0\0\1\x67" + bytes(5000)).place(b"") is None
