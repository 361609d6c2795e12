"""Published thresholds by language, packed next to the code; see SOURCES.md for their origin."""
