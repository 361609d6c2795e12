"""How likely frames of videos are pornographic, by class and by the kernel of `image.nsfw`."""

from dataclasses import dataclass, field

from winnow.filters.image.nsfw import OPERATOR as OF_PICTURES
from winnow.filters.image.nsfw import NsfwConfig
from winnow.filters.video.stills.frames_operator import FrameChoice, Worst, frames_operator


@dataclass(frozen=True, slots=True)
class NsfwOfFrames(FrameChoice):
    """The settings of `image.nsfw`, and which frames are measured."""

    image: NsfwConfig = field(default_factory=NsfwConfig)


def _scores(config: NsfwConfig) -> dict[str, Worst]:
    return dict.fromkeys(("score", *config.classes), "max")


OPERATOR = frames_operator(
    "video.nsfw",
    OF_PICTURES,
    NsfwOfFrames,
    _scores,
    summary="how likely frames of each video are porn, hentai, sexy, a drawing or neutral",
)
