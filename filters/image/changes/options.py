"""The recipe's `pictures` options of an export.

Without them a picture keeps its bytes. `resize`, `encode` and `blur_faces` always decode it, turn it upright and encode
it anew, so that all pictures of an export have one type and no metadata. `strip` removes metadata from the file and
leaves its encoded pixels unchanged.
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
    """The new size; the modes are img2dataset's."""

    # keep_ratio: the shorter side becomes `side`. keep_ratio_largest: the longer one. center_crop: as keep_ratio, then
    # cropped to a square. border: as keep_ratio_largest, then padded to a square with white. no: unchanged.
    mode: Literal["no", "border", "keep_ratio", "keep_ratio_largest", "center_crop"] = "border"
    side: Annotated[int, Between(1, 8192)] = 256
    only_if_bigger: bool = False  # a smaller picture keeps its size and is neither cropped nor padded


@dataclass(frozen=True)
class Encode:
    """The format of changed pictures."""

    format: Literal["jpg", "png", "webp"] = "jpg"
    quality: Annotated[int, Between(1, 100)] | None = None  # of jpg and webp; 95 by default

    def __post_init__(self) -> None:
        if self.format == "png" and self.quality is not None:
            raise ValueError("png is lossless: leave out 'quality'")


@dataclass(frozen=True)
class BlurFaces:
    """Which of the faces found by `image.faces` are blurred."""

    min_score: Annotated[float, Between(0, 1)] = 0.5


@dataclass(frozen=True)
class Strip:
    """Which metadata are kept."""

    keep: tuple[Kept, ...] = ("orientation", "icc")  # without them a viewer shows other colours or another orientation

    def __post_init__(self) -> None:
        if len(set(self.keep)) != len(self.keep):
            raise ValueError("'keep' lists a name twice")


@dataclass(frozen=True)
class PictureChanges:
    """All changes to each picture."""

    resize: Resize | None = None
    encode: Encode | None = None  # if another change needs encoding: jpg with quality 95
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
        """The format in which they are encoded."""
        return self.encode or Encode()

    @property
    def kept(self) -> frozenset[Kept] | None:
        """The metadata to keep; None if files are not parsed."""
        if isinstance(self.strip, Strip):
            return frozenset(self.strip.keep)
        return frozenset(Strip().keep) if self.strip else None

    @property
    def changes_bytes(self) -> bool:
        """Whether there are any changes."""
        return self.encodes or self.kept is not None

    def to_json(self) -> str:
        """Equal text for equal changes; empty without changes."""
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
