"""Keyframes and parts of videos of codecs that change the picture before, whatever their containers call a keyframe."""

import io
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.video.films import av
from winnow.filters.video.clips.cutting import cut
from winnow.filters.video.clips.options import ClipFile
from winnow.filters.video.decode.keyframes import keyframes_stand_alone
from winnow.filters.video.decode.opening import VideoLimits, open_video
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.decode.watching import VideoPass

FRAMES, FIRST, LAST = 30, 17, 27
WIDTH, HEIGHT = 176, 144


def drawn(number: int) -> NDArray[np.uint8]:
    """A bright block that moves over a still ground."""
    picture = np.random.default_rng(3).integers(60, 255, (18, 22, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    picture[40:72, 4 * number : 4 * number + 32] = (250, 40, 20)
    return picture


def filmed(container: str, codec: str, pixels: str, called_keyframes: bool) -> bytes:
    """A film with a keyframe in twelve, of which every packet may be called one."""
    out = io.BytesIO()
    with av.open(out, "w", format=container, options={"fflags": "+bitexact"}) as made:
        stream: Any = made.add_stream(codec, rate=Fraction(10), options={"g": "12", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(drawn(number), "rgb24").reformat(format=pixels)
            frame.pts = number
            for packet in stream.encode(frame):
                packet.is_keyframe |= called_keyframes
                made.mux(packet)
        made.mux(stream.encode(None))
    return out.getvalue()


def shown(content: bytes) -> dict[float, NDArray[np.int16]]:
    """Every frame of a file by its time, decoded from its beginning."""
    with av.open(io.BytesIO(content)) as file:
        frames = list(file.decode(video=0))
    return {round(float(one.time or 0), 3): one.to_ndarray(format="rgb24").astype(np.int16) for one in frames}


@pytest.mark.parametrize("called_keyframes", [False, True])
@pytest.mark.parametrize(
    ("container", "mime", "codec", "pixels"),
    [
        ("mov", "video/quicktime", "rpza", "rgb555le"),
        ("mov", "video/quicktime", "qtrle", "rgb24"),
        ("avi", "video/x-msvideo", "zmbv", "bgr0"),
        ("avi", "video/x-msvideo", "msvideo1", "rgb555le"),
        ("avi", "video/x-msvideo", "h263", "yuv420p"),
        ("flv", "video/x-flv", "flashsv", "bgr24"),
    ],
)
def test_keyframes_and_parts_show_what_the_whole_shows(
    container: str, mime: str, codec: str, pixels: str, called_keyframes: bool
) -> None:
    content = filmed(container, codec, pixels, called_keyframes)
    whole = shown(content)
    with open_video(io.BytesIO(content), mime, VideoLimits()) as video:
        tick = video.pictures.time_base or Fraction(1)
        packets = [one for one in video.container.demux(video.pictures) if one.size]
        times = [one.pts if one.pts is not None else one.dts or 0 for one in packets]
    clip = Clip(times[FIRST], times[LAST])
    for part, begins in ((clip, FIRST), (None, 0)):
        for signal in (Signal("stills"), Signal("stills", seconds=0.5)):
            reading = VideoPass(io.BytesIO(content), mime, [signal], VideoLimits(), part)
            for _, batch in reading.signals():
                for row in batch.to_pylist():
                    number = begins + round(row["seconds"] * 10)
                    still = np.frombuffer(row["pixels"], np.uint8).reshape(HEIGHT, WIDTH, 3).astype(np.int16)
                    assert np.abs(still - whole[round(float(times[number] * tick), 3)]).mean() < 3
    out = io.BytesIO()
    made = cut(io.BytesIO(content), mime, clip, ClipFile(format="webm"), VideoLimits(), out)
    frames = list(shown(out.getvalue()).values())
    assert made.frames == len(frames) == LAST - FIRST
    for number, frame in enumerate(frames, FIRST):
        assert np.abs(frame - whole[round(float(times[number] * tick), 3)]).mean() < 12


@pytest.mark.parametrize(
    ("codec", "pixels", "called_keyframes", "alone"),
    [("qtrle", "rgb24", False, True), ("qtrle", "rgb24", True, False), ("mjpeg", "yuvj420p", True, True)],
)
def test_keyframes_are_believed_where_not_every_packet_is_one(
    codec: str, pixels: str, called_keyframes: bool, alone: bool
) -> None:
    content = filmed("mov", codec, pixels, called_keyframes)
    with open_video(io.BytesIO(content), "video/quicktime", VideoLimits()) as video:
        assert keyframes_stand_alone(video) is alone
