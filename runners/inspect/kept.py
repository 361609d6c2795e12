"""What views have computed and may need again, up to a number of bytes: the longest unused is dropped first.

Each value is made once, in a thread of its own: requests that need it wait together, and one that is cancelled leaves
the work to the others.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, Protocol, TypeVar

from winnow.runners.inspect.cancelling import check_cancelled

MAX_BYTES: Final = 360 << 20
_POLL_SECONDS: Final = 0.05


class Sized(Protocol):
    """A value that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        ...


Value = TypeVar("Value", bound=Sized)


class Kept:
    """Values by key. Safe to use from several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()  # Any: keys say which type
        self._staying: set[Hashable] = set()
        self._making: dict[Hashable, Future[Any]] = {}

    @property
    def nbytes(self) -> int:
        """The bytes of all values."""
        with self._lock:
            return sum(value.nbytes for value in self._values.values())

    def find(self, key: Hashable) -> Any:
        """The value of a key, if there is one already."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Value], *, stays: bool = False) -> Value:
        """The value of a key, made if it is not there; CancelledError if the request is cancelled while it waits.

        What `make` raises is raised here, and nothing is kept. `stays`: it is never dropped for others.
        """
        with self._lock:
            if stays:
                self._staying.add(key)
            if key in self._values:
                self._values.move_to_end(key)
                found: Value = self._values[key]
                return found
            future = self._start(key, make)
        while not wait([future], _POLL_SECONDS).done:
            check_cancelled()
        made: Value = future.result()
        return made

    def begin(self, key: Hashable, make: Callable[[], Value]) -> Value | None:
        """The value of a key if it is there; else None, and the value is made meanwhile."""
        with self._lock:
            if key not in self._values:
                self._start(key, make)
                return None
            self._values.move_to_end(key)
            found: Value = self._values[key]
            return found

    def _start(self, key: Hashable, make: Callable[[], Value]) -> "Future[Any]":
        """The value that is being made, begun if it is not; the lock is held."""
        future = self._making.get(key)
        if future is None:
            alone = ThreadPoolExecutor(1)
            future = self._making[key] = alone.submit(self._made, key, make)
            alone.shutdown(wait=False)
        return future

    def _made(self, key: Hashable, make: Callable[[], Value]) -> Value:
        try:
            value = make()
            self.put(key, value)
            return value
        finally:
            with self._lock:
                del self._making[key]

    def wait(self) -> None:
        """Until all is made that was begun."""
        with self._lock:
            begun = list(self._making.values())
        wait(begun)

    def items(self) -> list[tuple[Any, Any]]:
        """All keys with their values."""
        with self._lock:
            return list(self._values.items())

    def put(self, key: Hashable, value: Sized) -> None:
        """Keep a value that is made already."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            held = sum(one.nbytes for one in self._values.values())
            for old in [one for one in self._values if one != key and one not in self._staying]:
                if held <= self._max_bytes:
                    break
                held -= self._values.pop(old).nbytes
