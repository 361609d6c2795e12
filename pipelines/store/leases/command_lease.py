"""One lease per command: the first stage that needs the store takes it, and the command holds it until it ends.

So no other command gets between the stages of `winnow run`. A stage that is called alone is a command of its own. With
`--wait`, a command waits for a store that another process holds; without, it gets the error at once.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.leases.lease import HeldError, Lease, Share, require_lease
from winnow.schemas.errors import WinnowError

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0  # a few requests a minute, however long a command waits

T = TypeVar("T")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WRITTEN = re.compile(r"([0-9]{1,6})([smhd])")


@dataclass(frozen=True)
class Wait:
    """How long a command waits for a store, and who is told."""

    say: Callable[[str], None]
    seconds: float = float("inf")


@dataclass
class _Command:
    """A running command and the leases that it holds until it ends."""

    wait: Wait | None
    leases: ExitStack
    held: set[str] = field(default_factory=set)  # the stores' addresses
    known: dict[tuple[str, type], object] = field(default_factory=dict)  # by address and kind


_running: ContextVar[_Command | None] = ContextVar("command", default=None)


def parse_wait(text: str) -> float:
    """`90s`, `30m`, `2h` or `1d` in seconds; "" is without limit."""
    if not text:
        return float("inf")
    written = _WRITTEN.fullmatch(text)
    if written is None:
        raise WinnowError(f"--wait {text}: expected a time with its unit, such as 90s, 30m, 2h or 1d, or nothing")
    return int(written[1]) * _UNITS[written[2]]


@contextmanager
def one_command(wait: Wait | None = None) -> Iterator[None]:
    """Holds every lease that is taken in this block until its end; within another such block, until that one's."""
    if _running.get() is not None:
        yield
        return
    with ExitStack() as leases:
        before = _running.set(_Command(wait, leases))
        try:
            yield
        finally:
            _running.reset(before)


@contextmanager
def writing_lease(objects: ObjectStore) -> Iterator[None]:
    """Holds the store's lease, at least for this block; HeldError if another process holds it longer than the command
    waits."""
    with one_command():
        command = _running.get()
        assert command is not None
        place = _place(objects)
        if place not in command.held:
            command.leases.enter_context(_taken(lambda: Lease(objects), command.wait))
            command.held.add(place)
            objects.clear_unfinished(elsewhere=False)
        yield


def require_held(objects: ObjectStore) -> None:
    """Checks the lease, if this command holds it: while the command was suspended, another may have taken it
    (StageError)."""
    command = _running.get()
    if command is not None and _place(objects) in command.held:
        require_lease(objects)


def cached_by_command(objects: ObjectStore, kind: type[T], make: Callable[[], T]) -> T:
    """What a command knows of a store: made once while it holds the lease, else anew each time."""
    command = _running.get()
    place = _place(objects)
    if command is None or place not in command.held:
        return make()
    if (place, kind) not in command.known:
        command.known[place, kind] = make()
    known = command.known[place, kind]
    assert isinstance(known, kind)
    return known


def _place(objects: ObjectStore) -> str:
    return objects.root if "://" in objects.root else os.path.realpath(objects.root)


@contextmanager
def slice_lease(share: Callable[[], Share]) -> Iterator[None]:
    """Holds a slice of a stage for this block; waits like `writing_lease`."""
    command = _running.get()
    with _taken(share, command.wait if command is not None else None):
        yield


@contextmanager
def _taken(wanted: Callable[[], Lease | Share], wait: Wait | None) -> Iterator[None]:
    """Takes a lease or a share, waiting for it if requested."""
    end: float | None = None  # counted from the first refusal, however long that takes
    pause = FIRST_PAUSE_SECONDS
    told = ""
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(wanted())
                break
            except HeldError as error:
                if wait is None:
                    raise
                end = time.monotonic() + wait.seconds if end is None else end
                left = end - time.monotonic()
                if left <= 0:
                    raise
                if told != error.waiting:
                    wait.say(error.waiting)
                told = error.waiting
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        yield
