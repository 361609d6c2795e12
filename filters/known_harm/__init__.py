"""Lists of hashes of known harmful media, which those who run a pipeline bring; winnow ships none."""
