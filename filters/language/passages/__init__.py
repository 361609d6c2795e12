"""Kernels over lines and paragraphs: repetition, kinds of words, and line rules of published pipelines."""
