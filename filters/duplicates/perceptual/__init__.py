"""Perceptual hashes of pictures and frames: PDQ, vPDQ, and every pair within a radius."""
