"""Decisions made before ingest reads: formats, tasks, identities and the context of the workers."""
