"""Videos are opened under limits, by the demuxer of their type alone."""

import io

import pytest

from winnow.filters.video.decode.opening import DEMUXERS, UnwatchableError, VideoLimits, open_video

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
