"""Counting texts in tokens: the tokenizers that a mixture or an export may name, all behind one face."""

from winnow.filters.language.tokenizers.loading import BYTES, load_tokenizer, tokenizer_digest
from winnow.filters.language.tokenizers.tokenizer import Tokenizer

__all__ = ["BYTES", "Tokenizer", "load_tokenizer", "tokenizer_digest"]
