"""SVG plots, for the report and as separate files."""
