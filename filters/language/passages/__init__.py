"""Kernels over lines and paragraphs: repetition, make-up, and the line rules of published pipelines."""
