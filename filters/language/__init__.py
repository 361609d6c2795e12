"""What measurements of text share: words, tokenizers, folding, word lists and language identification."""
