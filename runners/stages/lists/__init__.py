"""Lists that commands write: of pictures of an evaluation set by hashes or vectors, and of samples in Parquet."""
