"""What gives access to something, found in text: tokens, keys and passwords, as byte ranges of some kind.

A fixed part of each format is looked for in one pass over all texts; what stands around it is then tested byte by
byte, and by its checksum where the format has one.
"""

from winnow.filters.private.credentials.finding import Credential, Settings, credentials, kinds

__all__ = ["Credential", "Settings", "credentials", "kinds"]
