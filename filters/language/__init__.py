"""Shared code of text operators: words, tokenizers, folding, word lists and language identification."""
