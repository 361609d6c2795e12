"""Equal texts: byte by byte, or ignoring white space and invisible characters."""

from dataclasses import asdict, dataclass
from typing import Literal

from winnow.filters.duplicates.kind import ROWS, DuplicateKind, Signature


@dataclass(frozen=True)
class ExactConfig:
    """Equal texts: byte by byte, or ignoring white space and invisible characters."""

    form: Literal["bytes", "spaces"] = "spaces"


KIND = DuplicateKind(
    name="exact",
    version=2,
    summary="equal texts, ignoring white space",
    unit=ROWS,
    settings=ExactConfig,
    signature=Signature("text.digest", options=asdict),
    listed=10,
    chosen=20,
    split=20,
    described=lambda _: "equal texts",
)
