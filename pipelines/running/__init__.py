"""Running: brings tasks to workers, governs worker processes, and moves blocks between them."""
