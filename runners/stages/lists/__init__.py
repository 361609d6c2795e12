"""Lists of pictures of an evaluation set, by hashes or vectors, which later pictures are compared with."""
