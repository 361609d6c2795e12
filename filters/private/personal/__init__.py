"""Detectors of personal data, one per kind; `text.pii` combines them."""
