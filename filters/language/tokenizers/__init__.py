"""Tokenizers for mixtures and exports, behind one interface."""

from winnow.filters.language.tokenizers.loading import BYTES, load_tokenizer, tokenizer_digest
from winnow.filters.language.tokenizers.tokenizer import Tokenizer

__all__ = ["BYTES", "Tokenizer", "load_tokenizer", "tokenizer_digest"]
