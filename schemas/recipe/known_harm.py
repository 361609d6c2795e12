"""The recipe's `known_harm` section: lists of hashes of media that must never be kept."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from winnow.schemas.problems import Place
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, NotEmpty


@dataclass(frozen=True)
class HarmListConfig:
    """One list, which whoever runs the pipeline brings."""

    name: str = field(metadata=NOT_WRITTEN)
    place: Place = field(compare=False)
    path: Annotated[str, NotEmpty()]
    kind: Literal["sha256", "md5", "pdq"] | None = None  # of hashes without a type
    radius: Annotated[int, Between(0, 31)] = 31  # of PDQ, of 256 bits; the reference's threshold
    min_quality: Annotated[int, Between(0, 100)] = 50  # of PDQ; the reference discards 49 and less
