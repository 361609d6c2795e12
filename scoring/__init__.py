"""What a family is worth: the scaling law of language families, its ratios, sampling. Knows no Beam, no paths."""
