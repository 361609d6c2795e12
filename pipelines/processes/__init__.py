"""Processes: who is who, their folders and limits of memory, and how workers are forked. Knows no store."""
