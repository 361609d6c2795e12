"""Detectors of personal data, names and credentials in texts."""
