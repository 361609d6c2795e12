"""The endings of names of pictures, videos and sounds: the one list for ingest, `init`, `look` and `plan`.

An ending proves nothing, as the bytes of a file decide. It says what was meant, where bytes are not read yet or
missing.
"""

from typing import Final

PICTURES: Final = frozenset({"jpg", "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif", "tif", "tiff", "bmp", "avif"})
"""Of pictures that are decoded."""

VIDEOS: Final = frozenset(
    {
        *("mp4", "m4v", "mov", "qt", "3gp", "3g2", "webm", "mkv", "avi", "mpg", "mpeg", "mpe", "vob"),
        *("mts", "m2ts", "ogv", "flv", "wmv", "asf", "dv"),
    }
)
TRANSPORT: Final = "ts"  # of videos, or of programs in TypeScript

_OTHER_PICTURES: Final = frozenset({"heic", "heif", "jp2", "j2k", "jxl", "ico", "psd"})
UNREAD_PICTURES: Final = _OTHER_PICTURES | {"svg", "svgz"}
"""Of pictures that are not."""

_SOUNDS: Final = frozenset({"mp3", "m4a", "flac", "ogg", "oga", "opus", "wav", "aac", "wma"})
_MEDIA: Final = PICTURES | VIDEOS | _OTHER_PICTURES | _SOUNDS


def ending_of_name(name: str) -> str:
    """What follows the last dot, in lower case; the whole name if there is none."""
    return name.rpartition(".")[2].lower()


def is_named_as_medium(name: str) -> bool:
    """Whether a name ends like that of a picture, a video or a sound."""
    return ending_of_name(name) in _MEDIA


def may_be_medium(name: str) -> bool:
    """Like `is_named_as_medium`, and true of `.ts`: where media are expected, it is no program."""
    return is_named_as_medium(name) or ending_of_name(name) == TRANSPORT


def may_be_video(name: str) -> bool:
    """Whether a name ends like that of a video, where media are expected."""
    return ending_of_name(name) in VIDEOS or ending_of_name(name) == TRANSPORT
