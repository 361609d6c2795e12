"""What samples and families of languages are worth: scores by Grad-Mimic, the scaling law, its ratios, sampling.

Knows no Beam, no paths.
"""
