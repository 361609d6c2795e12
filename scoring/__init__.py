"""The value of samples and language families: Grad-Mimic scores, the scaling law and its ratios, sampling.

Knows no Beam, no paths.
"""
