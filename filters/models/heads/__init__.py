"""Heads: small models of a text's quality over its embedding, with calibrated answers by language."""
