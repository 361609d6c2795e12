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
from winnow.filters.edits.spans import (
    SPANS,
    TYPED_SPANS,
    edited,
    grown,
    spans_column,
    spans_of_kinds,
    typed_spans_column,
)

__all__ = [
    "MIN_KEY_BYTES",
    "SPANS",
    "TYPED_SPANS",
    "Edit",
    "Placeholders",
    "Pseudonyms",
    "Replacement",
    "Secret",
    "apply_edits",
    "edited",
    "edits_of",
    "grown",
    "name_of",
    "normalised",
    "spans_column",
    "spans_of_kinds",
    "typed_spans_column",
    "unmeasured",
]
