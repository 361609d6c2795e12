"""Models that come as files: each is checked from its bytes before any library that is written in C may read it."""
