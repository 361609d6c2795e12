"""Train small language models on mixtures of families, to get the runs for fitting a scaling law."""
