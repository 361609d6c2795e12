"""Faces in videos: how many frames show, and how much of them they take, by the kernel of `image.faces`."""

from dataclasses import dataclass, field

from winnow.filters.image.faces import OPERATOR as OF_PICTURES
from winnow.filters.image.faces import FacesConfig
from winnow.filters.video.stills.frames_operator import FrameChoice, frames_operator


@dataclass(frozen=True, slots=True)
class FacesOfFrames(FrameChoice):
    """What is measured of frames, as `image.faces` is set, and which frames are."""

    image: FacesConfig = field(default_factory=FacesConfig)


OPERATOR = frames_operator(
    "video.faces",
    OF_PICTURES,
    FacesOfFrames,
    lambda _: {"count": "max", "area": "max", "largest": "max", "score": "max"},
    summary="faces in frames of each video: how many, and their share of the picture",
)
