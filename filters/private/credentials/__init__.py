"""Detectors of credentials in text: tokens, keys and passwords, as typed byte ranges.

One pass over all texts searches for a fixed part of each format; the text around it is then tested byte by byte, and
by its checksum if the format has one.
"""

from winnow.filters.private.credentials.finding import Credential, Settings, credentials, kinds

__all__ = ["Credential", "Settings", "credentials", "kinds"]
