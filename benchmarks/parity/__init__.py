"""Parity: our presets against the peers' own code, document by document, on any data.

`compare.compare` runs our operators and a preset's rules beside the code that the preset follows, which lives in a
Python of its own, and says for every document whether verdict, reason and each value that the peer exposes are the
same. Adapters say which of our columns is which of a peer's values, and what differs on purpose.
"""
