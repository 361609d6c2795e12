"""Videos are opened under limits, by the demuxer of their type alone."""

import io
from collections.abc import Mapping

import av
import pytest

from tests.filters.video.films import Film, with_tracks
from winnow.filters.video.decode import opening
from winnow.filters.video.decode.opening import DEMUXERS, UnwatchableError, VideoLimits, open_video
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.watching import VideoPass

PLAYLIST = b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n"


@pytest.mark.parametrize("mime", sorted(DEMUXERS))
@pytest.mark.parametrize("content", [b"", PLAYLIST, b"ffconcat version 1.0\nfile 'a.mp4'\n", bytes(5000)])
def test_what_is_no_video_is_refused(mime: str, content: bytes) -> None:
    with pytest.raises(UnwatchableError) as refused, open_video(io.BytesIO(content), mime, VideoLimits()):
        pass
    assert refused.value.reason in ("damaged", "no_video", "unsupported")


def test_only_known_types_are_opened() -> None:
    with (
        pytest.raises(UnwatchableError, match="unsupported: application/x-mpegurl"),
        open_video(io.BytesIO(PLAYLIST), "application/x-mpegurl", VideoLimits()),
    ):
        pass


def claiming(codec: str, container: str, options: Mapping[str, str]) -> bytes:
    """Frames of 160 x 120 in a file whose header says 64 x 48."""
    small, large = (Film(container, codec, frames=4, side=side, gop=2, options=options).encoded() for side in (64, 160))
    out = io.BytesIO()
    with (
        av.open(io.BytesIO(small), "r") as header,
        av.open(io.BytesIO(large), "r") as frames,
        av.open(out, "w", format=container) as made,
    ):
        stream = made.add_stream_from_template(header.streams.video[0], opaque=True)
        for packet in frames.demux(video=0):
            if packet.size:
                packet.stream = stream
                made.mux(packet)
    return out.getvalue()


@pytest.mark.parametrize("margin", [0, 16 << 20])  # 0: the decoder itself refuses the frame
@pytest.mark.parametrize(
    ("codec", "container", "options"),
    [
        ("libvpx", "matroska", {}),
        ("libvpx-vp9", "matroska", {}),
        ("mpeg2video", "mpegts", {}),
        ("mjpeg", "matroska", {"strict": "-1"}),
        ("libsvtav1", "matroska", {"preset": "12", "svtav1-params": "lp=1"}),
    ],
)
def test_a_frame_that_is_larger_than_its_header_says_is_too_large(
    codec: str, container: str, options: Mapping[str, str], margin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_MARGIN_PIXELS", margin)
    content = claiming(codec, container, options)
    mime = "video/mp2t" if container == "mpegts" else "video/matroska"
    with pytest.raises(UnwatchableError, match="160 x 120") as refused:
        list(VideoPass(io.BytesIO(content), mime, (), VideoLimits(max_pixels=10_000)).signals())
    assert refused.value.reason == "too_many_pixels"


def test_the_borders_that_decoders_add_do_not_count() -> None:
    content = Film("mp4", "mpeg4", frames=4).encoded()
    video = VideoPass(io.BytesIO(content), "video/mp4", (Signal("frames"),), VideoLimits(max_pixels=64 * 48))
    assert sum(batch.num_rows for _, batch in video.signals()) == 4


def test_thousands_of_tracks_are_too_many() -> None:
    content = with_tracks(Film("mp4", "mpeg4", frames=4).encoded(), 3000)
    with (
        pytest.raises(UnwatchableError, match="too_many_streams: more than 64"),
        open_video(io.BytesIO(content), "video/mp4", VideoLimits()),
    ):
        pass
