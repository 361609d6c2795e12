"""Grad-Mimic on frozen embeddings of real images: `python -m benchmarks.mimic`."""
