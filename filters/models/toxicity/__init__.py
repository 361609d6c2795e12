"""The Jigsaw network that `text.toxicity` asks: made once of the published files, and run by compiled kernels."""
