"""Samples with the same address, in any spelling."""

from dataclasses import asdict, dataclass
from typing import Annotated

from winnow.filters.duplicates.kind import ROWS, DuplicateKind, Signature
from winnow.schemas.recipe.checks import Matching, NotEmpty

PARAMETER = Matching(r"[^\x00-\x20&=#]{1,100}", "the name of a parameter of an address")


@dataclass(frozen=True)
class CanonicalConfig:
    """Which differences between addresses are ignored."""

    scheme: bool = True
    www: bool = True
    slashes: bool = True
    tracking: bool = True
    sessions: bool = True
    sort_query: bool = True
    routes: bool = False
    ignore: Annotated[tuple[Annotated[str, PARAMETER], ...], NotEmpty()] | None = None


@dataclass(frozen=True)
class AddressConfig:
    """Samples with the same address, in any spelling."""

    canonical: CanonicalConfig = CanonicalConfig()


def _options(config: AddressConfig) -> dict[str, object]:
    return {name: value for name, value in asdict(config.canonical).items() if value is not None}


KIND = DuplicateKind(
    name="url",
    version=2,
    summary="the same URL after normalisation",
    unit=ROWS,
    settings=AddressConfig,
    signature=Signature("url.canonical", options=_options),
    listed=20,
    chosen=10,  # of an address the better text is kept, so addresses come first
    split=30,
    of_address=True,
    described=lambda _: "samples with the same URL",
)
