"""Folding: plain copies of texts for searching, without invisible characters and with one form of each character."""

from winnow.filters.language.folding.fold import fold
from winnow.filters.language.folding.texts import FoldedTexts

__all__ = ["FoldedTexts", "fold"]
