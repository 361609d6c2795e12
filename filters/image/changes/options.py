"""What an export may do with pictures: the recipe's `pictures` options.

Without them a picture keeps its bytes. `resize`, `encode` and `blur_faces` decode it, turn it upright and encode it
anew, always, so that all pictures of an export are of one type and none has metadata. `strip` removes metadata from the
file and leaves its pixels as they are encoded.
"""

from dataclasses import asdict, dataclass
from typing import Annotated, Final, Literal, TypeAlias

from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.recipe.checks import Between
from winnow.schemas.typed_json import read_json

Kept: TypeAlias = Literal["orientation", "icc", "copyright", "exif", "xmp", "iptc", "comments"]
DEFAULT_QUALITY: Final = 95  # img2dataset's


@dataclass(frozen=True)
class Resize:
    """To what size; the modes are img2dataset's."""

    # keep_ratio: the shorter side becomes `side`. keep_ratio_largest: the longer one. center_crop: as keep_ratio, then
    # cut to a square. border: as keep_ratio_largest, then filled to a square with white. no: as it is.
    mode: Literal["no", "border", "keep_ratio", "keep_ratio_largest", "center_crop"] = "border"
    side: Annotated[int, Between(1, 8192)] = 256
    only_if_bigger: bool = False  # a picture that is smaller keeps its size, and is neither cut nor filled


@dataclass(frozen=True)
class Encode:
    """As what."""

    format: Literal["jpg", "png", "webp"] = "jpg"
    quality: Annotated[int, Between(1, 100)] | None = None  # of jpg and webp; 95 where it is left out

    def __post_init__(self) -> None:
        if self.format == "png" and self.quality is not None:
            raise ValueError("png is lossless: leave out 'quality'")


@dataclass(frozen=True)
class BlurFaces:
    """Which faces that `image.faces` found are made unrecognisable."""

    min_score: Annotated[float, Between(0, 1)] = 0.5


@dataclass(frozen=True)
class Strip:
    """Which metadata are kept."""

    keep: tuple[Kept, ...] = ("orientation", "icc")  # without them a viewer turns or colours it otherwise

    def __post_init__(self) -> None:
        if len(set(self.keep)) != len(self.keep):
            raise ValueError("'keep' lists a name twice")


@dataclass(frozen=True)
class PictureChanges:
    """All that is done to each picture."""

    resize: Resize | None = None
    encode: Encode | None = None  # where one of the others asks for it: jpg, of quality 95
    blur_faces: BlurFaces | None = None
    strip: bool | Strip = False

    def __post_init__(self) -> None:
        if self.encodes and self.strip is not False:
            raise ValueError("pictures that are encoded anew have no metadata: leave out 'strip'")

    @property
    def encodes(self) -> bool:
        """Whether pictures are decoded and encoded anew."""
        return self.resize is not None or self.encode is not None or self.blur_faces is not None

    @property
    def encoding(self) -> Encode:
        """As what they are encoded."""
        return self.encode or Encode()

    @property
    def kept(self) -> frozenset[Kept] | None:
        """The metadata that are kept; None where files are not looked into."""
        if isinstance(self.strip, Strip):
            return frozenset(self.strip.keep)
        return frozenset(Strip().keep) if self.strip else None

    @property
    def changes_bytes(self) -> bool:
        """Whether anything is done at all."""
        return self.encodes or self.kept is not None

    def to_json(self) -> str:
        """Equal text for equal changes; empty where nothing is done."""
        return canonical_json(self.described()) if self.changes_bytes else ""

    def described(self) -> Json:
        """All options, resolved."""
        if not self.changes_bytes:
            return None
        kept = None if self.kept is None else sorted(self.kept)
        described: dict[str, Json] = {"resize": None, "encode": None, "blur_faces": None, "strip": False}
        if kept is not None:
            described["strip"] = {"keep": kept}
        if self.encodes:
            quality = None if self.encoding.format == "png" else self.encoding.quality or DEFAULT_QUALITY
            described["encode"] = {"format": self.encoding.format, "quality": quality}
        if self.resize is not None:
            described["resize"] = asdict(self.resize)
        if self.blur_faces is not None:
            described["blur_faces"] = asdict(self.blur_faces)
        return described

    @classmethod
    def from_json(cls, text: str) -> "PictureChanges":
        """The inverse of `to_json`."""
        return read_json(cls, text.encode()) if text else cls()
