"""What a client has read of small objects, with their versions."""

import threading
from collections import OrderedDict

MOST_BYTES = 64 << 20


class Remembered:
    """Objects by address; what was not asked for the longest goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._prefixes: set[str] = set()
        self._bytes = 0

    def begin(self, prefix: str) -> bool:
        """Whether objects below a prefix were read before."""
        with self._lock:
            known = prefix in self._prefixes
            self._prefixes.add(prefix)
            return known

    def get(self, address: str, version: str | None) -> bytes | None:
        """The object, if this version of it was read."""
        with self._lock:
            found = self._held.get(address)
            if found is None or found[0] != version:
                return None
            self._held.move_to_end(address)
            return found[1]

    def keep(self, address: str, version: str, content: bytes) -> None:
        """Remember an object in place of another version."""
        with self._lock:
            _, old = self._held.pop(address, ("", b""))
            self._held[address] = version, content
            self._bytes += len(content) - len(old)
            while self._bytes > MOST_BYTES:
                _, (_, gone) = self._held.popitem(last=False)
                self._bytes -= len(gone)
