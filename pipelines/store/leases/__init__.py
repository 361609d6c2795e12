"""Leases: who may write the store, for how long, and how a command keeps one until it ends."""
