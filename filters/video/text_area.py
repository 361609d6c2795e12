"""Text in videos: how many lines each frame shows, and how much they cover, by the kernel of `image.text_area`."""

from dataclasses import dataclass, field

from winnow.filters.image.text_area import OPERATOR as OF_PICTURES
from winnow.filters.image.text_area import TextAreaConfig
from winnow.filters.video.stills.frames_operator import FrameChoice, frames_operator


@dataclass(frozen=True, slots=True)
class TextAreaOfFrames(FrameChoice):
    """The settings of `image.text_area`, and which frames are measured."""

    image: TextAreaConfig = field(default_factory=TextAreaConfig)


OPERATOR = frames_operator(
    "video.text_area",
    OF_PICTURES,
    TextAreaOfFrames,
    lambda _: {"count": "max", "area": "max", "largest": "max"},
    summary="lines of text in frames of each video: how many, and their share of the picture",
)
