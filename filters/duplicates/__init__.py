"""Which texts are duplicates of others, and by how much: normal forms, shingles and signatures."""
