"""Equal captions, ignoring white space and invisible characters: how often each occurs. They drop nothing."""

from dataclasses import dataclass
from typing import Final

from winnow.filters.duplicates.kind import DuplicateKind, Signature, Unit
from winnow.schemas.rows.duplicates import NO_CAPTION, NO_CAPTIONS, NO_MEDIA, NO_TEXT_LEFT

CAPTIONS: Final = Unit("captions", True, False, NO_CAPTION, ("no_input", NO_CAPTIONS, NO_MEDIA), (NO_TEXT_LEFT,))
"""Those that the recipe's `captions` chooses."""


@dataclass(frozen=True)
class RepeatedCaptionsConfig:
    """Equal captions, ignoring white space and invisible characters."""


KIND = DuplicateKind(
    name="captions",
    version=2,
    summary="captions with the same text",
    unit=CAPTIONS,
    settings=RepeatedCaptionsConfig,
    signature=Signature("caption.digest"),
    listed=90,
    chosen=None,
    split=None,
)
