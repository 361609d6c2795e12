"""What is counted in the packets of a video: exact times, whatever containers and codecs do with them."""

import io
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.filters.video.drawn import measured
from tests.filters.video.films import Film, av
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.watching import VideoPass
from winnow.filters.web.file_signatures import binary_type

FILMS = {
    "mp4": ("video/mp4", Film("mp4", "libx264", reordered=2)),
    "webm": ("video/webm", Film("webm", "libvpx-vp9")),
    "matroska": ("video/matroska", Film("matroska", "ffv1")),
    "avi": ("video/x-msvideo", Film("avi", "mpeg4", reordered=2)),
    "mpegts": ("video/mp2t", Film("mpegts", "mpeg2video", reordered=2)),
    "vob": ("video/mpeg", Film("vob", "mpeg2video", reordered=2)),
    "flv": ("video/x-flv", Film("flv", "flv1")),
    "asf": ("video/x-ms-asf", Film("asf", "mpeg4")),
}


def facts(content: bytes, mime: str = "video/mp4", limits: VideoLimits | None = None) -> VideoFacts:
    video = VideoPass(io.BytesIO(content), mime, (), limits or VideoLimits())
    assert list(video.signals()) == []
    return video.facts


@pytest.mark.parametrize("container", FILMS)
def test_frames_and_duration_are_exact_in_every_container(container: str) -> None:
    mime, film = FILMS[container]
    found = facts(film.encoded(), mime)
    assert (found.frames, found.keyframes, found.duration * found.time_base) == (12, 1, Fraction(12, 25))
    assert (found.width, found.height, found.pixel_format) == (64, 48, "yuv420p")
    assert not found.is_variable
    assert found.frames_per_second == 25


def test_frames_of_a_variable_rate_keep_their_own_times() -> None:
    times = [0, 1, 2, 10, 11, 12, 13, 30, 31, 40, 41, 42]
    found = facts(Film(times=times, tick=Fraction(1, 100), gop=4).encoded())
    tick = found.time_base
    assert (found.shortest_frame * tick, found.longest_frame * tick) == (Fraction(1, 100), Fraction(17, 100))
    assert found.seconds == 0.43
    assert found.is_variable
    assert (found.keyframes, found.longest_gop * tick) == (3, Fraction(31 - 11, 100))  # of frames 0, 4 and 8: 0, 11, 31


def test_hidden_frames_of_vp8_are_no_frames() -> None:
    hiding = {"auto-alt-ref": "1", "lag-in-frames": "16", "arnr-maxframes": "5"}
    content = Film("webm", "libvpx", frames=60, side=128, gop=60, options=hiding).encoded()
    with av.open(io.BytesIO(content)) as container:
        shown = sum(1 for _ in container.decode(video=0))
    assert facts(content, "video/webm").frames == shown == 60


@pytest.mark.parametrize(("turned", "orientation"), [(0, 1), (90, 8), (180, 3), (-90, 6)])
def test_the_display_matrix_says_how_a_picture_is_turned(turned: int, orientation: int) -> None:
    assert facts(Film(rotation=turned).encoded()).orientation == orientation


def test_sound_is_measured_from_its_packets() -> None:
    sound = facts(Film("avi", sound=0.5, sound_codec="pcm_s16le").encoded(), "video/x-msvideo").sound
    assert sound is not None
    assert (sound.codec, sound.channels, sound.rate, sound.seconds) == ("pcm_s16le", 2, 48000, 0.5)


@pytest.mark.parametrize(("codec", "declared"), [("libx264", 25), ("libvpx-vp9", 25), ("mpeg4", 25), ("ffv1", 25)])
def test_a_damaged_scale_of_times_is_told_by_the_declared_rate_and_the_length_of_sound(
    codec: str, declared: int
) -> None:
    raw = bytearray(Film("matroska", codec, frames=50, sound=2.0).encoded())
    sane = facts(bytes(raw), "video/matroska")
    scale = raw.find(b"\x2a\xd7\xb1\x83\x0f\x42\x40")  # a million nanoseconds
    raw[scale + 4] ^= 0x40
    damaged = facts(bytes(raw), "video/matroska")
    assert damaged.seconds == pytest.approx(5.194304 * sane.seconds, abs=0.2)  # the last frame lasts as long as ever
    assert sane.declared_rate == damaged.declared_rate == declared
    assert sane.sound is not None
    assert damaged.sound is not None
    assert sane.sound.packet_seconds == pytest.approx(sane.sound.seconds, rel=0.01)
    assert damaged.sound.seconds > 2 * damaged.sound.packet_seconds


def test_a_damaged_rate_of_an_avi_is_told_by_the_rate_of_its_codec() -> None:
    raw = bytearray(Film("avi", "mpeg4", frames=50).encoded())
    raw[raw.find(b"strh") + 32] ^= 0x40
    found = facts(bytes(raw), "video/x-msvideo")
    assert found.frames_per_second == 89
    assert found.declared_rate == 25


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (VideoLimits(max_packets=11), "too_many_packets"),
        (VideoLimits(max_frames=11), "too_many_frames"),
        (VideoLimits(max_read_bytes=1000), "too_large"),
    ],
)
def test_a_budget_that_is_spent_ends_the_pass(limits: VideoLimits, reason: str) -> None:
    content = Film().encoded()
    assert facts(content).frames == 12
    with pytest.raises(UnwatchableError) as refused:
        facts(content, limits=limits)
    assert refused.value.reason == reason


@pytest.mark.parametrize(("container", "mime"), [("mpegts", "video/mp2t"), ("vob", "video/mpeg")])
def test_recordings_end_to_end_go_on_where_their_clocks_are_set_anew(container: str, mime: str) -> None:
    one = Film(container, "mpeg2video", frames=50, reordered=2, sound=2.0, sound_codec="mp2").encoded()
    found = facts(one * 3, mime)
    assert found.frames == 150
    assert found.seconds == pytest.approx(6, abs=0.2)  # each ends with its sound
    assert found.longest_frame * found.time_base < Fraction(1, 5)
    assert found.sound is not None
    assert found.sound.seconds == pytest.approx(6, abs=0.2)


def test_a_clock_that_leaps_for_a_packet_adds_no_hours() -> None:
    raw = bytearray(Film("mpegts", "mpeg2video", frames=50).encoded())
    packets = [at for at in range(0, len(raw), 188) if raw[at + 1] & 0x40]
    starts = [at + raw[at : at + 188].find(b"\0\0\1\xe0") for at in packets if b"\0\0\1\xe0" in raw[at : at + 188]]
    raw[starts[25] + 9] ^= 0x04  # bits 30 to 32 of its time, 3.3 hours each
    found = facts(bytes(raw), "video/mp2t")
    assert found.frames == 50
    assert found.seconds == pytest.approx(2, abs=0.1)


def test_raw_dv_is_known_and_interlaced() -> None:
    out = io.BytesIO()
    with av.open(out, "w", format="dv") as container:
        film: Any = container.add_stream("dvvideo", rate=25)
        film.width, film.height, film.pix_fmt = 720, 576, "yuv420p"
        for number in range(4):
            frame = av.VideoFrame.from_ndarray(np.full((864, 720), 60 + 5 * number, np.uint8), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(film.encode(frame))
        container.mux(film.encode(None))
    content = out.getvalue()
    assert binary_type(content[:512]) == "video/x-dv"
    row = measured("streams", content, "video/x-dv")
    assert (row["codec"], row["width"], row["frames"], row["seconds"]) == ("dvvideo", 720, 4, 0.16)
    assert row["interlaced"] is True
    assert measured("streams", Film().encoded(), "video/mp4")["interlaced"] is False


@pytest.mark.parametrize(("container", "codec"), [("matroska", "mpeg4"), ("flv", "flv1"), ("mpegts", "mpeg2video")])
@pytest.mark.parametrize("rate", [Fraction(24000, 1001), Fraction(24), Fraction(30), Fraction(60)])
def test_a_film_of_one_rate_ends_within_a_tick_of_its_last_frame(container: str, codec: str, rate: Fraction) -> None:
    for frames in (2, 47, 48, 49):
        mime = FILMS[container][0]
        content = Film(container, codec, frames=frames, tick=1 / rate).encoded()
        found = facts(content, mime)
        assert abs(found.duration - frames / rate / found.time_base) < 1
        shots = measured("shots", content, mime)
        assert shots["ends"][-1] == found.start + found.duration
