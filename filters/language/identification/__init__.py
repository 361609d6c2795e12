"""Which language a text is in: scripts measured from its letters, and models that judge it."""
