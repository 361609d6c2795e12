"""Videos: from references in rows to what watchers make of them, each decoded once, in a process of its own."""
