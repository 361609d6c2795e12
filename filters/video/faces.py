"""Faces in videos: how many each frame shows, and how much of it they cover, by the kernel of `image.faces`."""

from dataclasses import dataclass, field

from winnow.filters.image.faces import OPERATOR as OF_PICTURES
from winnow.filters.image.faces import FacesConfig
from winnow.filters.video.stills.frames_operator import FrameChoice, frames_operator


@dataclass(frozen=True, slots=True)
class FacesOfFrames(FrameChoice):
    """The settings of `image.faces`, and which frames are measured."""

    image: FacesConfig = field(default_factory=FacesConfig)


OPERATOR = frames_operator(
    "video.faces",
    OF_PICTURES,
    FacesOfFrames,
    lambda _: {"count": "max", "area": "max", "largest": "max", "score": "max"},
    summary="faces in frames of each video: how many, and their share of the picture",
)
