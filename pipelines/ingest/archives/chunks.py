"""Finds the chunks of a body that was stored as sent (RFC 9112, section 7.1), in memory or of any size."""

import re
from collections.abc import Iterator
from typing import Final

from winnow.pipelines.ingest.archives.flows import Flow

__all__ = ["CHUNKED", "BrokenOffError", "NotCodedError", "chunks"]

_LINE_BYTES: Final = 4096  # a size and what may stand behind it
_SIZE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")


CHUNKED: Final = "chunked"
"""The name of the coding."""


class NotCodedError(Exception):
    """The body is not in chunks or in the coding that its header declares."""


class BrokenOffError(Exception):
    """The body began in chunks or in a coding, but is incomplete."""


def chunks(flow: Flow, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the range of each chunk, forward; ranges before an error are the beginning of the body.

    NotCodedError if the body is not chunked; BrokenOffError if the last chunk is cut off, or no chunk follows it.
    """
    seen = 0
    while line := _SIZE.match(flow.peek(at, max(min(_LINE_BYTES, end - at), 0))):
        size = int(line.group(1), 16)
        if size == 0:
            return
        start = at + line.end()
        stop = start + size
        yield min(start, end), min(stop, end)
        seen += 1
        after = flow.peek(stop, min(2, end - stop)) if stop < end else b""
        if after == b"\r\n":
            at = stop + 2
        elif after.startswith(b"\n"):
            at = stop + 1
        else:
            # A first chunk that does not end correctly was text that happens to begin like a chunk size.
            raise BrokenOffError if seen > 1 or stop >= end else NotCodedError
    raise BrokenOffError if seen else NotCodedError
