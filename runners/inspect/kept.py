"""What views have computed and may need again, up to a number of bytes: the longest unused is dropped first.

Each value is made once, in a thread of its own: requests that need it wait together, and one that is cancelled leaves
the work to the others. Work that nobody waits for any longer is ended, and so is older work of a kind of which only the
newest is wanted.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from winnow.pipelines.processes.cancelling import cancellable, check_cancelled

MAX_BYTES: Final = 360 << 20
_POLL_SECONDS: Final = 0.05


class Sized(Protocol):
    """A value that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        ...


Value = TypeVar("Value", bound=Sized)


@dataclass(eq=False)
class _Making:
    """A value that is being made."""

    newest_of: str | None
    goes_on: bool  # even if nobody waits
    ended: threading.Event = field(default_factory=threading.Event)  # seen by `check_cancelled` where it is made
    future: Future[Any] = field(default_factory=Future)  # Any: its key says which type
    waiting: int = 0


class Kept:
    """Values by key. Safe to use from several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, Any] = OrderedDict()  # Any: keys say which type
        self._staying: set[Hashable] = set()
        self._making: dict[Hashable, _Making] = {}

    @property
    def nbytes(self) -> int:
        """The bytes of all values."""
        with self._lock:
            return sum(value.nbytes for value in self._values.values())

    def find(self, key: Hashable) -> Any:
        """The value of a key, if there is one already."""
        with self._lock:
            return self._found(key)

    def get(self, key: Hashable, make: Callable[[], Value], *, stays: bool = False) -> Value:
        """The value of a key, made if it is not there; CancelledError if the request is cancelled while it waits.

        What `make` raises is raised here, and nothing is kept. `stays`: it is never dropped for others, and made to its
        end.
        """
        with self._lock:
            if stays:
                self._staying.add(key)
            found: Value | None = self._found(key)
            if found is not None:
                return found
            making = self._start(key, make, None, goes_on=stays)
            making.waiting += 1
        try:
            while not wait([making.future], _POLL_SECONDS).done:
                check_cancelled()
            made: Value = making.future.result()
            return made
        finally:
            with self._lock:
                making.waiting -= 1
                if not making.waiting and not making.goes_on:
                    self._end(key, making)

    def begin(self, key: Hashable, make: Callable[[], Value], *, newest_of: str | None = None) -> Value | None:
        """The value of a key if it is there; else None, and the value is made meanwhile.

        `newest_of`: ends what else of this kind is being made, for which nobody waits.
        """
        with self._lock:
            found: Value | None = self._found(key)
            if found is None:
                self._start(key, make, newest_of, goes_on=True)
            return found

    def within(self, key: Hashable, make: Callable[[], Value], seconds: float) -> Value | None:
        """The value of a key, if it is there or is made in so many seconds; else None, and it is made meanwhile."""
        with self._lock:
            found: Value | None = self._found(key)
            if found is not None:
                return found
            making = self._start(key, make, None, goes_on=True)
        if not wait([making.future], seconds).done:
            return None
        made: Value = making.future.result()
        return made

    def _found(self, key: Hashable) -> Any:
        """The value of a key, if there is one, which is now the last used; the lock is held."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def _start(self, key: Hashable, make: Callable[[], Value], newest_of: str | None, *, goes_on: bool) -> _Making:
        """The value that is being made, begun if it is not; the lock is held."""
        making = self._making.get(key)
        if making is None:
            for other, one in list(self._making.items()):
                if newest_of is not None and one.newest_of == newest_of:
                    self._end(other, one)
            making = self._making[key] = _Making(newest_of, goes_on)
            alone = ThreadPoolExecutor(1)
            making.future = alone.submit(self._made, key, make, making)
            alone.shutdown(wait=False)
        making.goes_on |= goes_on
        return making

    def _end(self, key: Hashable, making: _Making) -> None:
        """Give up what is being made: whoever asks for it from now on begins anew; the lock is held."""
        making.ended.set()
        if self._making.get(key) is making:
            del self._making[key]

    def _made(self, key: Hashable, make: Callable[[], Value], making: _Making) -> Value:
        try:
            with cancellable(making.ended.is_set):
                value = make()
            self.put(key, value)
            return value
        finally:
            with self._lock:
                if self._making.get(key) is making:
                    del self._making[key]

    def end_all(self) -> None:
        """Give up all that is being made."""
        with self._lock:
            for key, making in list(self._making.items()):
                self._end(key, making)

    def wait(self) -> None:
        """Until all is made that was begun."""
        with self._lock:
            begun = [making.future for making in self._making.values()]
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
