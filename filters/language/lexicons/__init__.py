"""Word lists, and how their words are found in texts of every script."""
