"""Text edits: spans to delete or replace, applied when a text is exported."""

from winnow.filters.edits.applying import NO_MOVES, Edit, Moves, apply_edits, edited, edits_of, unmeasured
from winnow.filters.edits.replacing import (
    MIN_KEY_BYTES,
    Placeholders,
    Pseudonyms,
    Replacement,
    Secret,
    name_of,
    normalised,
)

__all__ = [
    "MIN_KEY_BYTES",
    "NO_MOVES",
    "Edit",
    "Moves",
    "Placeholders",
    "Pseudonyms",
    "Replacement",
    "Secret",
    "apply_edits",
    "edited",
    "edits_of",
    "name_of",
    "normalised",
    "unmeasured",
]
