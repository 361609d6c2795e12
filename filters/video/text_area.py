"""Text in videos: how many lines frames show, and how much of them they take, by the kernel of `image.text_area`."""

from dataclasses import dataclass, field

from winnow.filters.image.text_area import OPERATOR as OF_PICTURES
from winnow.filters.image.text_area import TextAreaConfig
from winnow.filters.video.stills.frames_operator import FrameChoice, frames_operator


@dataclass(frozen=True, slots=True)
class TextAreaOfFrames(FrameChoice):
    """What is measured of frames, as `image.text_area` is set, and which frames are."""

    image: TextAreaConfig = field(default_factory=TextAreaConfig)


OPERATOR = frames_operator(
    "video.text_area",
    OF_PICTURES,
    TextAreaOfFrames,
    lambda _: {"count": "max", "area": "max", "largest": "max"},
    summary="lines of text in frames of each video: how many, and their share of the picture",
)
