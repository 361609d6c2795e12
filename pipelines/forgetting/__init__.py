"""Forgetting: tombstones that hide rows from every reader at once, and the purge that removes their content."""
