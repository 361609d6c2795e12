"""What is shown while work runs: a status line with a bar, pace and the time left."""
