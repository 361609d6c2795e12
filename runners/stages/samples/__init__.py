"""Single samples on the terminal: one with all that is known of it, and those around a threshold."""
