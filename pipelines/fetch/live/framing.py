"""Where the body of a response ends: after as many bytes as it says, or where h11 says.

h11 is told only the fields of a header that say where the body ends, so a line elsewhere in the header that is no field
does not lose the response. Most bodies say their length once and nothing else: they are cut out without h11.
"""

from collections.abc import Iterator
from typing import Protocol

import h11

from winnow.pipelines.fetch.live.connection import BrokenError
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.http import HttpHead

__all__ = ["Framing", "FramingError", "framing_of"]

_DECIDING = (b"content-length", b"transfer-encoding", b"connection")
_NO_VALUE = frozenset((b"", b"identity"))
_WITHOUT_BODY = frozenset((204, 304))
_MOST_DIGITS = 18  # of a length


class FramingError(BrokenError):
    """Why what comes is no whole body."""


class Framing(Protocol):
    """Cuts a body out of what comes."""

    is_whole: bool  # whether the body has ended

    @property
    def takes_another(self) -> bool:
        """Whether the connection can be asked again after this body."""
        ...

    def content(self, received: bytes) -> Iterator[bytes]:
        """The pieces of the body in what was received, which is nothing at the end of the connection; FramingError if
        it is no body."""
        ...


def framing_of(header: bytes, head: HttpHead) -> Framing:
    """How the body behind a header is cut out; FramingError if the header does not say."""
    is_old = header.startswith(b"HTTP/1.0")
    stated = {
        name: [value for value in head.fields.get(name, ()) if value.lower() not in _NO_VALUE] for name in _DECIDING
    }
    lengths, codings, connection = stated.values()
    if not (is_old or codings or connection or head.status in _WITHOUT_BODY) and len(lengths) == 1:
        (length,) = lengths
        if length.isdigit() and len(length) <= _MOST_DIGITS:
            return _Sized(int(length))
    lines = [b"HTTP/%b %d " % (b"1.0" if is_old else b"1.1", head.status or 0)]
    lines += (b"%b: %b" % (name, value) for name, values in stated.items() for value in values)
    return _ByH11(b"\r\n".join((*lines, b"", b"")))


class _Sized:
    """A body of so many bytes, after which the server waits for the next request."""

    def __init__(self, length: int) -> None:
        self._length = self._left = length
        self._has_more = False
        self.is_whole = length == 0

    @property
    def takes_another(self) -> bool:
        """Whether nothing came behind the body."""
        return self.is_whole and not self._has_more

    def content(self, received: bytes) -> Iterator[bytes]:
        """At most one piece."""
        if not received and not self.is_whole:
            came = self._length - self._left
            raise FramingError(Reason.CUT_OFF, f"closed after {came:,} of {self._length:,} bytes")
        self._has_more = len(received) > self._left
        piece = received[: self._left]
        self._left -= len(piece)
        self.is_whole = not self._left
        if piece:
            yield piece


class _ByH11:
    """Any other body."""

    def __init__(self, header: bytes) -> None:
        self._protocol = h11.Connection(h11.CLIENT)
        self._protocol.send(h11.Request(method="GET", target="/", headers=[("Host", "any")]))
        self._protocol.send(h11.EndOfMessage())
        self.is_whole = False
        for _ in self._received(header):
            pass

    @property
    def takes_another(self) -> bool:
        """Whether both sides are done, and nothing came behind the body."""
        states = self._protocol.our_state, self._protocol.their_state
        return states == (h11.DONE, h11.DONE) and self._protocol.trailing_data == (b"", False)

    def content(self, received: bytes) -> Iterator[bytes]:
        """The content of what was received."""
        if self.is_whole:
            self._protocol.receive_data(received)  # it is kept there as what came behind the body
            return iter(())
        return self._received(received)

    def _received(self, received: bytes) -> Iterator[bytes]:
        try:
            self._protocol.receive_data(received)
            while not self.is_whole:
                event = self._protocol.next_event()
                if event is h11.NEED_DATA:
                    return
                if isinstance(event, h11.Data):
                    yield bytes(event.data)
                self.is_whole = not isinstance(event, h11.Data | h11.Response)
        except h11.RemoteProtocolError as error:
            raise FramingError(Reason.PROTOCOL if received else Reason.CUT_OFF, f"{error}"[:200]) from None
