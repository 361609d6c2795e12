"""What a recipe says of duplicates: by what texts are told to be the same or alike, and from where on."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from winnow.schemas.places import Place
from winnow.schemas.recipe.checks import Between, Matching, NotEmpty

NEAR_PRESET = Matching(r"[a-z0-9_-]{1,40}(@[a-z0-9._-]{1,20})?", "a preset's name, such as fineweb")
PARAMETER = Matching(r"[^\x00-\x20&=#]{1,100}", "the name of a parameter of an address")


@dataclass(frozen=True)
class ExactConfig:
    """Texts that are the same: byte by byte, or but for white space and what is not seen."""

    form: Literal["bytes", "spaces"] = "spaces"


@dataclass(frozen=True)
class AddressConfig:
    """Samples of one address, however it is written."""

    drop_tracking: bool = True
    sort_query: bool = True
    ignore: Annotated[tuple[Annotated[str, PARAMETER], ...], NotEmpty()] | None = None


@dataclass(frozen=True)
class NearConfig:
    """Texts that share most of their shingles."""

    preset: Annotated[str, NEAR_PRESET] = "fineweb"
    shingle: Literal["words", "characters"] | None = None
    size: Annotated[int, Between(1, 64)] | None = None
    bands: Annotated[int, Between(1, 10_000)] | None = None
    rows: Annotated[int, Between(1, 1_000)] | None = None
    seed: Annotated[int, Between(0, (1 << 32) - 1)] | None = None
    min_similarity: Annotated[float, Between(0.05, 1.0)] = 0.75
    max_bucket: Annotated[int, Between(2, 1 << 30)] = 10_000


@dataclass(frozen=True)
class DedupeConfig:
    """Which duplicates are looked for; each is a layer of its own."""

    place: Place = field(compare=False)
    exact: ExactConfig | None = None
    url: AddressConfig | None = None
    near: NearConfig | None = None

    def __post_init__(self) -> None:
        if self.exact is None and self.url is None and self.near is None:
            raise ValueError("says nothing to look for; write exact: {}, url: {} or near: {preset: fineweb}")
