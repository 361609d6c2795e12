"""Kernels over the bytes of texts: character classes, spans, digests and hash tables."""
