"""Beam pipelines, and under them the store, the ledger and the exchange."""
