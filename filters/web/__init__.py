"""URLs, URL lists, robots files and content types."""
