"""Videos, watched in a process of its own."""
