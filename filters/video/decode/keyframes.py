"""Whether what a container calls a keyframe can be decoded by itself.

Codecs of the 1990s change parts of the picture before, and nothing in a packet says that it needs none. Where the
container calls every packet a keyframe, or FFmpeg guesses, a picture that is decoded by itself is black but for what
has changed: such videos are decoded from their first packet on, whatever part of them is wanted.
"""

from typing import Final

from winnow.filters.video.decode.opening import OpenVideo

_MARKED: Final = frozenset(
    {
        *("h264", "hevc", "vvc", "vp8", "vp9", "av1", "theora", "vp3", "vp4", "vp5", "vp6", "vp6a", "vp6f", "vp7"),
        *("mpeg1video", "mpeg2video", "mpeg4", "msmpeg4v1", "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2", "wmv3", "vc1"),
        *("flv1", "rv10", "rv20", "rv30", "rv40", "rv60", "dirac", "ffv1", "snow", "cavs", "avs2", "avs3"),
        *("png", "cfhd"),  # each frame is whole, though FFmpeg does not say so
    }
)
"""The codecs whose packets themselves say what they are, so that containers have it from there."""

_GUESSED: Final = frozenset({"h261", "h263", "h263i", "h263p"})
"""Those of which FFmpeg calls every packet a keyframe where it looks for their borders."""

_LISTS_ALL: Final = frozenset({"mov", "avi"})
"""The containers whose index has every packet, with what it is."""


def keyframes_stand_alone(video: OpenVideo) -> bool:
    """Whether each keyframe of a video can be decoded by itself."""
    codec = video.pictures.codec_context.codec
    if codec.intra_only or codec.canonical_name in _MARKED:
        return True
    container = video.container.format.name.partition(",")[0]
    if container not in _LISTS_ALL or (codec.canonical_name in _GUESSED and container != "mov"):
        return False
    return any(not entry.is_keyframe for entry in video.pictures.index_entries)
