"""What makes up a file, found from the file alone: no code is shared with the readers (law 3)."""
