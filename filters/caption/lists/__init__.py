"""The captions of a batch as one column of texts, and what is measured of them as lists again."""

from winnow.filters.caption.lists.captions import MEDIA, NO_MEDIA, REASONS, Captions, captions_of, listed

__all__ = ["MEDIA", "NO_MEDIA", "REASONS", "Captions", "captions_of", "listed"]
