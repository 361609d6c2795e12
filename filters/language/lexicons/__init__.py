"""Lists of words to look for, and how they are found in texts of every script."""
