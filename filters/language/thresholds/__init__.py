"""Published thresholds that differ by language, packed beside the code; SOURCES.md says where they come from."""
