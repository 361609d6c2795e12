"""Perceptual hashes of pictures and frames: PDQ, vPDQ, and the search for pairs within a radius."""
