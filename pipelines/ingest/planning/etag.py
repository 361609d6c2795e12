"""A file's content in a short tag, from a few windows of its bytes.

Modification times are clocks and may not reach an output (law 4), and hashing a whole archive for every task
that reads a part of it would cost a pass each. The tag goes into media references; that nothing changed between
runs is decided by size, by the listing's version and, where that differs, by the hash of every part.
"""

import hashlib
from typing import BinaryIO

WINDOW_BYTES = 64 << 10
WINDOWS = 16


def content_etag(stream: BinaryIO, size: int) -> str:
    """The tag of an open file: over its size and up to 1 MiB of it, evenly spread."""
    state = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=8)
    count = min(WINDOWS, -(-size // WINDOW_BYTES))
    span = max(0, size - WINDOW_BYTES)
    for index in range(count):
        stream.seek(span * index // max(1, count - 1))
        state.update(stream.read(WINDOW_BYTES))
    return state.hexdigest()
