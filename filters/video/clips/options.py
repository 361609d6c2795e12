"""How parts of videos are written: the recipe's `clips` options of an export.

Packets are copied where nothing of the part is lost by it; the rest is encoded anew, with codecs that are free to use.
"""

from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.recipe.checks import Between
from winnow.schemas.typed_json import read_json

ClipFormat: TypeAlias = Literal["mp4", "webm", "mkv"]

MIMES: Final = MappingProxyType({"mp4": "video/mp4", "webm": "video/webm", "mkv": "video/matroska"})
"""The type of a file in each format, as it is sniffed."""


@dataclass(frozen=True)
class ClipFile:
    """The file of a clip."""

    format: ClipFormat = "mp4"
    # auto: packets are copied if the clip begins at a keyframe, no frame outside it is needed, and the format takes
    # the codec. never: every clip is encoded, so that all are of one codec.
    copy: Literal["auto", "never"] = "auto"
    codec: Literal["vp9", "av1"] = "vp9"  # of clips that are encoded
    quality: Annotated[int, Between(1, 63)] = 32  # of the codec: lower is better; libvpx's guide has 31 for 1080p
    sound: bool = True
    resize: Annotated[int, Between(16, 8192)] | None = None  # pixels of the shorter side, which never grows
    fps: Annotated[float, Between(0.01, 240)] | None = None  # frames a second, each as long as the others

    def described(self) -> Json:
        """All options."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def to_json(self) -> str:
        """Equal text for equal options."""
        return canonical_json(self.described())

    @classmethod
    def from_json(cls, text: str) -> "ClipFile":
        """The inverse of `to_json`."""
        return read_json(cls, text.encode())
