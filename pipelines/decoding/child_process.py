"""A process of one's own that native libraries may kill, and the socket to it; started when it is first asked.

It is a module that is given the number of its socket, and sends `READY` when it can begin. Only its death by its own
hand says something of what it was doing (a fault, an abort, no memory, too much CPU time).
"""

import atexit
import os
import signal
import socket
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

from winnow.pipelines.processes.identity import THREAD_LIMITS
from winnow.schemas.environment.modules import module_path, python_module
from winnow.schemas.errors import StageError

__all__ = ["READY", "STRIKES", "ChildProcess", "DiedError", "Lent", "Spares"]

READY: Final = b"."
STRIKES: Final = 3
"""How many deaths condemn a file."""

SPARES: Final = 2
"""How many processes are kept while nobody uses them."""

WALL_SECONDS: Final = 1800  # for one answer: a machine that is this slow is broken

_STOPPED: Final = frozenset(-one for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT))
_HEAP_BYTES: Final = 32 << 20  # the most that glibc takes from its heap


class DiedError(Exception):
    """The process has ended by its own hand."""

    def __init__(self, status: int) -> None:
        super().__init__(_named(status))
        self.how = _named(status)


class ChildProcess:
    """A process and the socket to it.

    Args:
        module: What it runs.
        words: Arguments behind the number of its socket.
        files: Descriptors that it is given.
        does: What it does, for errors: `decodes pictures`.
    """

    def __init__(self, module: str, words: Sequence[str], files: Sequence[int], does: str) -> None:
        self._module, self._words, self._files, self._does = module, words, files, does
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    @property
    def is_mine(self) -> bool:
        """Whether this process started it: a fork has the same socket."""
        return self._owner == os.getpid()

    def send(self, *messages: bytes | memoryview) -> None:
        """Sends bytes.

        Raises:
            DiedError: The process has died.
            StageError: It cannot be started, or was stopped.
        """
        if self._channel is None:
            self._start()
        assert self._channel is not None
        try:
            for message in messages:
                self._channel.sendall(message)
        except TimeoutError:
            raise self._slow() from None
        except OSError:
            raise self._died() from None

    def receive(self, count: int) -> memoryview:
        """Waits for so many bytes; raises as `send` does."""
        assert self._channel is not None
        found = memoryview(bytearray(count))
        held = 0
        while held < count:
            try:
                more = self._channel.recv_into(found[held:])
            except TimeoutError:
                raise self._slow() from None
            except OSError:
                more = 0
            if not more:
                raise self._died()
            held += more
        return found

    def stop(self) -> None:
        """Ends it."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _slow(self) -> StageError:
        self.stop()
        return StageError(f"the process that {self._does} took more than {WALL_SECONDS} s for an answer; run again")

    def _died(self) -> Exception:
        """What to raise for its death."""
        assert self._process is not None
        status = self._process.wait()
        self.stop()
        if status in _STOPPED:
            return StageError(f"the process that {self._does} was stopped; run again")
        return DiedError(status)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        words = python_module(self._module, str(theirs.fileno()), *self._words)
        with theirs, tempfile.TemporaryFile() as errors:
            self._process = subprocess.Popen(
                words,
                pass_fds=(theirs.fileno(), *self._files),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=_environment(),
            )
            theirs.close()
            ours.settimeout(WALL_SECONDS)
            self._channel = ours
            try:
                self.receive(len(READY))
            except DiedError as error:
                errors.seek(0)
                said = (errors.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]
                raise StageError(
                    f"the process that {self._does} could not be started ({error.how}): {said[:300]}"
                ) from None


class Lent(Protocol):
    """What holds a process, and is used by one at a time."""

    @property
    def is_mine(self) -> bool:
        """Whether this process made it, and not the one that it is a fork of."""
        ...

    def close(self) -> None:
        """Ends the process."""
        ...


_One = TypeVar("_One", bound=Lent)


class Spares(Generic[_One]):
    """Processes that nobody uses, for whoever asks next: starting one takes as long as decoding a hundred pictures.

    A fork has none of them, and they end with this process.
    """

    def __init__(self) -> None:
        self._kept: deque[_One] = deque()
        os.register_at_fork(after_in_child=self._kept.clear)
        atexit.register(self._close)

    def take(self, fits: Callable[[_One], bool]) -> _One | None:
        """One that fits, which nobody else gets until it is given back."""
        for _ in range(len(self._kept)):
            try:
                found = self._kept.pop()
            except IndexError:  # another thread took it
                break
            if found.is_mine and fits(found):
                return found
            self._kept.appendleft(found)
        return None

    def give_back(self, one: _One) -> None:
        """Keeps one, and ends those that were not used for longest."""
        if not one.is_mine:
            return
        self._kept.append(one)
        while len(self._kept) > SPARES:
            self._kept.popleft().close()

    def _close(self) -> None:
        while self._kept:
            self._kept.pop().close()


def _environment() -> dict[str, str]:
    """This process's, but one thread a library, modules from where this one has them, and a heap that keeps pages."""
    return {
        **os.environ,
        **dict.fromkeys(THREAD_LIMITS, "1"),
        **module_path(),
        # Pillow took 1.6 times as long where each picture's memory came from the kernel anew.
        "MALLOC_MMAP_THRESHOLD_": str(_HEAP_BYTES),
        "MALLOC_TRIM_THRESHOLD_": str(4 * _HEAP_BYTES),
    }


def _named(status: int) -> str:
    """An exit status in words."""
    if status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
