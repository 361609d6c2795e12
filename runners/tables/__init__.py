"""What a table is, and how its values are written; any renderer draws it."""
