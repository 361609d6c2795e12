"""Model files: each is validated byte by byte before a C library may read it."""
