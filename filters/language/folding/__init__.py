"""A plain copy of texts to look for things in: what is not seen is gone, and each character is written in one way."""

from winnow.filters.language.folding.fold import fold
from winnow.filters.language.folding.texts import Folded

__all__ = ["Folded", "fold"]
