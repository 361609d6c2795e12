"""A clip is the frames of its part in their time, as packets where they can be copied; the same bytes every time."""

import hashlib
import io
import os
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from tests.filters.video.films import Film, av
from winnow.filters.video.clips.cutting import CutClip, cut
from winnow.filters.video.clips.options import MIMES, ClipFile
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.watching import VideoPass

SOURCES = {"mp4": "video/mp4", "matroska": "video/webm", "mpegts": "video/mp2t", "avi": "video/x-msvideo"}
FRAMES, SOUND = Signal("frames"), Signal("sound")

X264 = Film(container="mp4", codec="libx264", frames=60, gop=12, reordered=2, sound=2.4, options={"sc_threshold": "0"})
OPEN_GOP = Film(
    container="matroska", codec="libx264", frames=60, gop=12, reordered=2, options={"x264-params": "open-gop=1"}
)
MPEG4 = Film(container="mp4", codec="mpeg4", frames=60, gop=12)
AV1 = Film(container="mp4", codec="libsvtav1", frames=40, gop=20, options={"preset": "12", "svtav1-params": "lp=1"})
TS = Film(container="mpegts", codec="mpeg2video", frames=60, gop=12, reordered=2)
VARIABLE = Film(
    container="matroska",
    codec="mpeg4",
    frames=60,
    tick=Fraction(1, 1000),
    times=[at * 40 + 7 * (at % 3) for at in range(60)],
)


def seen(content: bytes, mime: str, signal: Signal = FRAMES) -> tuple[pa.Table, VideoFacts]:
    """One signal of a file, and its facts."""
    passing = VideoPass(io.BytesIO(content), mime, (signal,), VideoLimits())
    batches = [batch for _, batch in passing.signals()]
    return pa.Table.from_batches(batches), passing.facts


def clipped(content: bytes, mime: str, clip: Clip, options: ClipFile) -> tuple[bytes, CutClip]:
    """A clip's file."""
    out = io.BytesIO()
    facts = cut(io.BytesIO(content), mime, clip, options, VideoLimits(), out)
    return out.getvalue(), facts


def clip_of(film: Film, content: bytes, first: int, last: int) -> tuple[Clip, pa.Table, VideoFacts]:
    """The clip with these frames, and those frames as the film has them."""
    whole, facts = seen(content, SOURCES[film.container])
    ticks = whole["ticks"].to_pylist()
    end = ticks[last] if last < len(ticks) else facts.start + facts.duration
    return Clip(ticks[first], end), whole.slice(first, last - first), facts


@pytest.mark.parametrize("film", [X264, OPEN_GOP, MPEG4, TS, VARIABLE], ids=["x264", "open", "mpeg4", "ts", "variable"])
@pytest.mark.parametrize("made", ["mp4", "mkv"])
@pytest.mark.parametrize(("first", "last"), [(0, 60), (12, 24), (17, 41)])
def test_a_clip_shows_the_frames_of_its_part_at_their_times(film: Film, made: str, first: int, last: int) -> None:
    content = film.encoded()
    clip, wanted, facts = clip_of(film, content, first, last)
    raw, said = clipped(content, SOURCES[film.container], clip, ClipFile(format=made))  # type: ignore[arg-type]
    found, of_clip = seen(raw, MIMES[made])
    asked = float((clip.end - clip.start) * facts.time_base)
    assert (said.frames, said.seconds) == (len(wanted), of_clip.seconds)
    longest = float(facts.longest_frame * facts.time_base)  # FFmpeg does not read the last duration of VP9 in MP4
    assert said.seconds == pytest.approx(asked, abs=0.002 if said.copied or made == "mkv" else longest)
    start = wanted["seconds"][0].as_py()
    times = [one - start for one in wanted["seconds"].to_pylist()]
    assert found["seconds"].to_pylist() == pytest.approx(times, abs=0.002)
    if said.copied:
        assert found["luma"].to_pylist() == wanted["luma"].to_pylist()
    else:
        assert np.abs(np.array(found["mean"]) - np.array(wanted["mean"])).max() < 3


@pytest.mark.parametrize(
    ("film", "made", "part", "is_copied"),
    [
        (X264, "mp4", (12, 24), True),
        (X264, "mkv", (12, 24), True),
        (X264, "webm", (12, 24), False),  # it takes no H.264
        (X264, "mp4", (13, 24), False),  # no keyframe there
        (OPEN_GOP, "mp4", (24, 36), False),  # frames before the start follow its keyframe
        (TS, "mkv", (0, 60), False),  # from a container that is not copied from
        (AV1, "webm", (0, 40), True),
        (MPEG4, "mp4", (12, 31), True),  # without reordering the end may be anywhere
    ],
)
def test_packets_are_copied_where_nothing_is_lost_by_it(
    film: Film, made: str, part: tuple[int, int], is_copied: bool
) -> None:
    content = film.encoded()
    clip, _, _ = clip_of(film, content, *part)
    _, said = clipped(content, SOURCES[film.container], clip, ClipFile(format=made))  # type: ignore[arg-type]
    assert said.copied == is_copied


@pytest.mark.parametrize("options", [ClipFile(), ClipFile("webm", "never"), ClipFile("mkv", "never", "av1", 40)])
def test_the_same_clip_has_the_same_bytes(options: ClipFile) -> None:
    content = X264.encoded()
    clip, _, _ = clip_of(X264, content, 12, 24)
    first, second = (hashlib.sha256(clipped(content, "video/mp4", clip, options)[0]).digest() for _ in range(2))
    assert first == second


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="asks Linux how threads are scheduled")
def test_encoding_av1_leaves_the_threads_of_the_process_their_priority() -> None:
    """The encoder makes itself and the thread that opens it real-time, if root runs it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    content = X264.encoded()
    clip, _, _ = clip_of(X264, content, 12, 24)
    clipped(content, "video/mp4", clip, ClipFile("mkv", "never", "av1", 40))
    threads = [int(one) for one in os.listdir("/proc/self/task")]
    assert {(os.sched_getscheduler(one), os.sched_getparam(one).sched_priority) for one in threads} == {before}


@pytest.mark.parametrize("made", ["mp4", "webm"])
def test_sound_is_that_of_the_same_time_or_dropped(made: str) -> None:
    content = X264.encoded()
    clip, wanted, _ = clip_of(X264, content, 12, 36)
    raw, _ = clipped(content, "video/mp4", clip, ClipFile(format=made))  # type: ignore[arg-type]
    _, facts = seen(raw, MIMES[made], SOUND)
    assert facts.sound is not None
    assert facts.sound.codec == "opus"
    assert facts.sound.seconds == pytest.approx(len(wanted) / 25, abs=0.04)
    assert abs(facts.sound.starts_after) <= 0.04
    raw, _ = clipped(content, "video/mp4", clip, ClipFile(format=made, sound=False))  # type: ignore[arg-type]
    assert seen(raw, MIMES[made])[1].audio_streams == 0


def test_a_video_of_red_green_and_blue_keeps_its_colours() -> None:
    colours = ((200, 30, 40), (20, 180, 60), (40, 50, 220))
    made = io.BytesIO()
    with av.open(made, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        film = container.add_stream("libx264rgb", rate=25, options={"qp": "0", "threads": "1"})
        film.width, film.height, film.pix_fmt = 96, 720, "rgb24"  # of as many lines as high definition has
        bars = np.repeat(np.array(colours, np.uint8), 32, axis=0)[None].repeat(720, axis=0)
        for number in range(4):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(bars), "rgb24")
            frame.pts = number
            container.mux(film.encode(frame))
        container.mux(film.encode(None))
    raw, facts = clipped(made.getvalue(), "video/mp4", Clip(0, 1536), ClipFile(copy="never"))
    assert facts.frames == 3
    still = Signal("stills", seconds=1.0)
    (row,) = [
        row
        for _, batch in VideoPass(io.BytesIO(raw), "video/mp4", (still,), VideoLimits()).signals()
        for row in batch.to_pylist()
    ]
    pixels = np.frombuffer(row["pixels"], np.uint8).reshape(720, 96, 3)
    for bar, colour in enumerate(colours):
        assert np.abs(pixels[360, 32 * bar + 16].astype(int) - colour).max() <= 6


def test_a_turned_video_stays_turned() -> None:
    film = Film(container="mp4", codec="mpeg4", frames=20, gop=10, rotation=90)
    content = film.encoded()
    clip, _, facts = clip_of(film, content, 10, 20)
    for options in (ClipFile(), ClipFile(copy="never")):
        assert clipped(content, "video/mp4", clip, options)[1].orientation == facts.orientation != 1


@pytest.mark.parametrize("size", [0, 100, 3000])
def test_a_damaged_file_says_why(size: int) -> None:
    with pytest.raises(UnwatchableError, match=r"damaged|no_video"):
        clipped(MPEG4.encoded()[:size], "video/mp4", Clip(0, 12800), ClipFile())


def test_a_part_without_frames_is_none() -> None:
    with pytest.raises(UnwatchableError, match="none of its frames"):
        clipped(MPEG4.encoded(), "video/mp4", Clip(10**9, 10**9 + 5), ClipFile())


@pytest.mark.parametrize("form", ["mp4", "webm"])
def test_a_piece_of_a_still_shows_it_for_as_long_as_asked(form: Literal["mp4", "webm"]) -> None:
    stills = Film(
        container="matroska", codec="mpeg4", frames=4, tick=Fraction(1, 1000), times=[0, 2000, 9000, 9040]
    ).encoded()
    for start, end, frames in ((1500, 2500, 2), (3000, 5000, 1)):
        raw, _ = clipped(stills, "video/webm", Clip(start, end), ClipFile(format=form))
        found, facts = seen(raw, f"video/{form}")
        assert facts.frames == frames
        assert facts.seconds == pytest.approx((end - start) / 1000)
        assert found["seconds"][0].as_py() == 0


def test_damaged_packets_are_not_copied() -> None:
    raw = bytearray(MPEG4.encoded())
    with av.open(io.BytesIO(bytes(raw))) as container:
        packets = [one for one in container.demux(video=0) if one.size]
    at = packets[4].pos
    raw[at : at + 12] = b"\xff" * 12
    clip = Clip(packets[0].pts, packets[12].pts)
    copied, facts = clipped(bytes(raw), "video/mp4", clip, ClipFile())
    assert not facts.copied
    with av.open(io.BytesIO(copied)) as container:
        assert len(list(container.decode(video=0))) == facts.frames


@pytest.mark.parametrize(("resize", "size"), [(24, (32, 24)), (30, (40, 30)), (48, (64, 48)), (480, (64, 48))])
def test_a_clip_is_shrunk_to_the_size_asked_for_and_never_grows(resize: int, size: tuple[int, int]) -> None:
    content = MPEG4.encoded()
    clip, _, _ = clip_of(MPEG4, content, 12, 36)
    made, facts = clipped(content, "video/mp4", clip, ClipFile(resize=resize))
    assert (facts.width, facts.height) == size
    assert facts.frames == 24
    assert facts.seconds == pytest.approx(24 / 25)
    assert facts.copied == (size == (64, 48))  # packets of the size that is asked for stay
    shrunk, _ = seen(made, "video/mp4")
    assert shrunk["mean"].to_numpy().std() < 60


@pytest.mark.parametrize("film", [MPEG4, VARIABLE], ids=["steady", "variable"])
@pytest.mark.parametrize("fps", [5.0, 12.5, 29.97, 50.0])
def test_a_clip_of_a_rate_shows_at_each_time_what_its_part_shows(film: Film, fps: float) -> None:
    content = film.encoded()
    clip, frames, whole = clip_of(film, content, 10, 40)
    options = ClipFile(format="mkv", fps=fps, quality=4)
    made, facts = clipped(content, SOURCES[film.container], clip, options)
    seconds = float((clip.end - clip.start) * whole.time_base)
    assert not facts.copied
    assert facts.frames == pytest.approx(seconds * fps, abs=1)
    found, _ = seen(made, MIMES["mkv"])
    assert np.diff(found["seconds"].to_numpy()) == pytest.approx(np.full(facts.frames - 1, 1 / fps), abs=0.0011)
    begins = (frames["ticks"].to_numpy() - clip.start) * float(whole.time_base)
    shown = np.searchsorted(begins, np.arange(facts.frames) / fps + 1e-6, side="right") - 1
    np.testing.assert_allclose(found["mean"].to_numpy(), frames["mean"].to_numpy()[shown], atol=3)


def test_the_rate_of_a_clip_is_bounded_by_the_frames_that_a_video_may_have() -> None:
    content = MPEG4.encoded()
    clip, _, _ = clip_of(MPEG4, content, 0, 60)
    with pytest.raises(UnwatchableError, match="too_many_frames"):
        cut(io.BytesIO(content), "video/mp4", clip, ClipFile(fps=240), VideoLimits(max_frames=100), io.BytesIO())


def test_options_that_are_not_given_do_not_change_what_a_clip_is_called() -> None:
    assert "fps" not in ClipFile().to_json()
    assert ClipFile.from_json(ClipFile(fps=8, resize=360).to_json()) == ClipFile(fps=8, resize=360)
    assert ClipFile.from_json(ClipFile().to_json()) == ClipFile()
