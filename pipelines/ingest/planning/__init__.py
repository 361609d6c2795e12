"""What ingest decides before it reads: formats, tasks, identities and the context of its workers."""
