"""The family scaling law of *Scaling Laws for Multilingual Language Models* (arXiv 2410.12883): fit, test, predict."""
