"""Text edits: spans to delete or replace, applied when a text is exported."""

from winnow.filters.edits.applying import Edit, apply_edits, edits_of, unmeasured
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
    "Edit",
    "Placeholders",
    "Pseudonyms",
    "Replacement",
    "Secret",
    "apply_edits",
    "edits_of",
    "name_of",
    "normalised",
    "unmeasured",
]
