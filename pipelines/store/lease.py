"""One writer a store at a time.

A lease is a numbered record put only if absent, so of two writers that ask for the same number one gets it.
A writer that died is recognised without comparing clocks: on the same machine by its process, elsewhere by
a beat counter that has stopped. A writer that lost its lease does no harm: all it can still put are objects
and commits that no generation names (law 5), and before it drops anything it asks whose the lease is.
"""

import os
import platform
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from winnow.pipelines.processes import boot_id, started
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError, StoreError
from winnow.schemas.records import from_json, to_json

BEAT_SECONDS = 5.0
BEATS_TO_WAIT = 6  # a writer elsewhere that has not beaten for this many periods is gone


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lease: a reused process id is told apart by its start time."""

    host: str
    boot: str
    process: int
    started: str


def this_process() -> Holder:
    """The running process."""
    return Holder(platform.node(), boot_id(), os.getpid(), started(os.getpid()) or "")


class Lease:
    """Held from `with` to the end of the block; `lost` tells a long stage to stop."""

    def __init__(self, objects: ObjectStore, holder: Holder | None = None) -> None:
        self._objects = objects
        self._holder = holder or this_process()
        self._stop = threading.Event()
        self._beats = threading.Thread(target=self._beat, name="lease", daemon=True)
        self.number = 0

    def __enter__(self) -> Self:
        while True:
            current = self._current()
            if current:
                self._ensure_free(current)
            self.number = current + 1
            if self._objects.put_if_absent(_record(self.number), to_json(self._holder)):
                break
        self._beats.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._beats.join()
        self._objects.put(_released(self.number), b"{}")
        for number in range(max(1, self.number - 8), self.number):
            for path in (_record(number), _released(number), _beat_record(number)):
                self._objects.delete(path)
        self._objects.delete(_beat_record(self.number))

    @property
    def lost(self) -> bool:
        """Whether another writer has taken over."""
        return self._current() > self.number

    def _current(self) -> int:
        names = [info.path for info in self._objects.list(layout.LEASES) if info.path.endswith(".json")]
        return max((int(name.removeprefix(layout.LEASES).removesuffix(".json")) for name in names), default=0)

    def _ensure_free(self, number: int) -> None:
        if self._objects.exists(_released(number)):
            return
        try:
            raw = self._objects.read(_record(number))
        except FileNotFoundError:  # released and cleared since it was listed
            return
        holder = from_json(Holder, raw, f"{self._objects.root}/{_record(number)}")
        if holder.host == platform.node():
            if not _alive(holder):
                return
        elif self._silent(number):
            return
        raise StoreError(
            f"{self._objects.root}: process {holder.process} on {holder.host} is writing to this store; "
            "wait for it to end, or stop it and run again"
        )

    def _silent(self, number: int) -> bool:
        first = self._last_beat(number)
        for _ in range(BEATS_TO_WAIT):
            time.sleep(BEAT_SECONDS)
            if self._objects.exists(_released(number)):
                return True
            if self._last_beat(number) != first:
                return False
        return True

    def _last_beat(self, number: int) -> bytes:
        try:
            return self._objects.read(_beat_record(number))
        except FileNotFoundError:
            return b""

    def _beat(self) -> None:
        count = 0
        while not self._stop.wait(BEAT_SECONDS):
            count += 1
            try:
                self._objects.put(_beat_record(self.number), str(count).encode())
            except OSError:  # a full disk must not end the run from here: the stage reports it
                continue


def require_lease(objects: ObjectStore) -> None:
    """Before anything is dropped that another writer may be using: who was taken for dead may wake up.

    Raises:
        StageError: The last process that took the store's lease is not this one.
    """
    last = max((info.path for info in objects.list(layout.LEASES) if info.path.endswith(".json")), default=None)
    if last is None:  # nobody ever wrote to it but what made it
        return
    holder = from_json(Holder, objects.read(last), f"{objects.root}/{last}")
    if holder != this_process():
        raise StageError(
            f"{objects.root}: process {holder.process} on {holder.host} took this store over while the search stood "
            "still; it goes on there, and this one has ended"
        )


def _record(number: int) -> str:
    return f"{layout.LEASES}{number:08d}.json"


def _released(number: int) -> str:
    return f"{layout.LEASES}{number:08d}.released"


def _beat_record(number: int) -> str:
    return f"{layout.LEASES}{number:08d}.beat"


def _alive(holder: Holder) -> bool:
    return holder.boot == boot_id() and started(holder.process) == holder.started
