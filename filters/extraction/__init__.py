"""Extractors, which turn decoded HTML pages into text, and the code they share."""
