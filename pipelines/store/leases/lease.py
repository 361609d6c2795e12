"""Leases: one writer of the whole store, or any number of processes that each do a slice of a stage's tasks.

A lease is a numbered record put only if absent, so of two writers that ask for the same number one gets it.
A writer that died is recognised without comparing clocks: on the same machine by its process, elsewhere because
its beat counter has stopped. A writer that lost its lease does no harm: it can only put objects
and commits that no generation names (law 5), and before dropping anything it checks the lease again.

A share is a lease on one slice of a stage: it excludes a second process on the same slice, and the writer of
the whole store. Each first puts its own record and then looks for the other kind, so if a writer and a
slice begin at once, at least one sees the other and leaves. The holder of a share drops no objects and publishes
nothing.
"""

import os
import platform
import threading
import time
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from winnow.pipelines.processes.identity import boot_id, started
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import StageError, StoreError
from winnow.schemas.records import from_json, to_json

BEAT_SECONDS = 5.0
BEATS_TO_WAIT = 6  # a remote writer without a beat for this many periods is dead


class HeldError(StoreError):
    """A living process holds the lease."""

    def __init__(self, root: str, holder: "Holder", doing: str) -> None:
        self.root, self.holder = root, holder
        end = "wait until it ends (--wait does), or stop it and run again"
        super().__init__(f"{root}: process {holder.process} on {holder.host} {doing}; {end}")

    @property
    def waiting(self) -> str:
        """A line for the user while waiting."""
        since = f" since {self.holder.since}" if self.holder.since else ""
        return f"waiting for process {self.holder.process} on {self.holder.host}, which holds {self.root}{since}"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lease; the start time distinguishes a reused process id."""

    host: str
    boot: str
    process: int
    started: str
    since: str = field(default="", compare=False)  # for people only: clocks decide nothing


def this_process() -> Holder:
    """The running process."""
    return Holder(platform.node(), boot_id(), os.getpid(), started(os.getpid()) or "")


@dataclass(frozen=True, slots=True)
class Term:
    """One numbered lease: on the whole store, or on a slice."""

    prefix: str
    number: int

    @property
    def record(self) -> str:
        """The record of the holder."""
        return f"{self.prefix}{self.number:08d}.json"

    @property
    def released(self) -> str:
        """Exists once the holder has released the lease."""
        return f"{self.prefix}{self.number:08d}.released"

    @property
    def heartbeat(self) -> str:
        """A counter that grows while the holder lives."""
        return f"{self.prefix}{self.number:08d}.beat"

    def clear(self, objects: ObjectStore) -> None:
        """Drops the term's records; the holder's record first, because a term without one is free."""
        for path in (self.record, self.released, self.heartbeat):
            objects.delete(path)


@dataclass(frozen=True, slots=True)
class LeaseHold:
    """A process's hold of a lease, which its workers can check too. Picklable."""

    term: Term
    holder: Holder

    def require(self, objects: ObjectStore, place: str) -> None:
        """Checks the lease before anything is put or dropped that another writer may use; StageError if another process
        took over."""
        last = _current(objects, self.term.prefix)
        found = None if last is None else _recorded(objects, last)
        if last != self.term or found != self.holder:
            raise _taken_over(place, found)


class _Held:
    """A lease that is held for the length of a `with` block."""

    def __init__(self, objects: ObjectStore, prefix: str, holder: Holder | None) -> None:
        self._objects = objects
        self._prefix = prefix
        self._holder = holder or this_process()
        self._stop = threading.Event()
        self._beats = threading.Thread(target=self._heartbeat, name="lease", daemon=True)
        self.number = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._release()
        except OSError:  # as on a full disk: the next writer sees that this process is gone
            if error is None:
                raise

    def _take(self, refused: str) -> None:
        """Takes the next number once no living process holds the last; `refused` is the subject of the error
        otherwise."""
        self._holder = replace(self._holder, since=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        while True:
            current = _current(self._objects, self._prefix)
            if current is not None:
                for _, holder in _living(self._objects, [current]):
                    raise HeldError(self._objects.root, holder, refused)
            self.number = 1 if current is None else current.number + 1
            if self._objects.put_if_absent(self._term.record, to_json(self._holder)):
                break
        self._beats.start()

    def _release(self) -> None:
        self._stop.set()
        self._beats.join()
        recorded = _recorded(self._objects, self._term)
        if recorded != self._holder:  # taken for dead: its records are removed, and the number may be reused
            if recorded is None:
                self._objects.delete(self._term.heartbeat)
            return
        self._objects.put(self._term.released, b"{}")
        numbers = {_number(info.path) for info in self._objects.list(self._prefix)}
        for number in sorted(number for number in numbers if number is not None and number < self.number):
            Term(self._prefix, number).clear(self._objects)
        self._objects.delete(self._term.heartbeat)

    @property
    def _term(self) -> Term:
        return Term(self._prefix, self.number)

    def _heartbeat(self) -> None:
        count = 0
        while not self._stop.wait(BEAT_SECONDS):
            count += 1
            try:
                self._objects.put(self._term.heartbeat, str(count).encode())
            except (OSError, StoreError):  # a full disk must not end the run here: the stage reports it
                continue


class Lease(_Held):
    """A lease on the whole store; its `hold` tells a long stage to stop."""

    def __init__(self, objects: ObjectStore, holder: Holder | None = None) -> None:
        super().__init__(objects, layout.LEASES, holder)

    def __enter__(self) -> Self:
        gone = self._refuse_slices(frozenset())
        self._take("is writing to this store")
        try:
            gone |= self._refuse_slices(gone)
        except BaseException:
            self._release()
            raise
        for term in sorted(gone, key=lambda term: (term.prefix, term.number)):
            term.clear(self._objects)
        return self

    @property
    def hold(self) -> LeaseHold:
        """What tells whether another writer has taken over."""
        return LeaseHold(self._term, self._holder)

    def _refuse_slices(self, gone: Set[Term]) -> frozenset[Term]:
        """The shares of dead processes; raises an error if a living process holds one."""
        terms = _terms(self._objects, layout.SHARES)
        living = _living(self._objects, [term for term in terms if term not in gone])
        if living:
            term, holder = living[0]
            more = f" and {len(living) - 1} more" if len(living) > 1 else ""
            doing = f"is running part of a stage ({share_name(term.prefix)}){more}"
            raise HeldError(self._objects.root, holder, doing)
        return frozenset(terms)


class Share(_Held):
    """A lease on one slice of a stage, named like `annotate.3-of-16`; other slices have their own."""

    def __init__(self, objects: ObjectStore, name: str, holder: Holder | None = None) -> None:
        super().__init__(objects, f"{layout.SHARES}{name}/", holder)

    def __enter__(self) -> Self:
        gone = self._refuse_writer(None)
        self._take(f"is doing the same work ({share_name(self._prefix)})")
        try:
            self._refuse_writer(gone)
        except BaseException:
            self._release()
            raise
        return self

    def _refuse_writer(self, gone: Term | None) -> Term | None:
        """The lease of a dead process; raises an error if a living process holds it."""
        current = _current(self._objects, layout.LEASES)
        if current is not None and current != gone:
            for _, holder in _living(self._objects, [current]):
                raise HeldError(self._objects.root, holder, "is writing to the whole store")
        return current


def share_name(prefix: str) -> str:
    """The name of a share, from the prefix of its records."""
    return prefix.removeprefix(layout.SHARES).removesuffix("/")


def writer(objects: ObjectStore) -> Holder | None:
    """Who writes to the whole store, as far as that is known at once: a process of another host may have died."""
    term = _current(objects, layout.LEASES)
    holder = None if term is None else _holder(objects, term)
    if holder is None or holder.host != platform.node():
        return holder
    return holder if holder.boot == boot_id() and started(holder.process) == holder.started else None


def require_lease(objects: ObjectStore) -> None:
    """Checks the lease before anything is dropped that another writer may be using: a writer taken for dead may resume.

    StageError if another process has taken it.
    """
    last = _current(objects, layout.LEASES)
    if last is None:  # nothing has been written since the store was made
        return
    holder = from_json(Holder, objects.read(last.record), f"{objects.root}/{last.record}")
    if holder != this_process():
        raise _taken_over(objects.root, holder)


def _taken_over(place: str, holder: Holder | None) -> StageError:
    by = "another process" if holder is None else f"process {holder.process} on {holder.host}"
    return StageError(
        f"{place}: {by} took over while this process was suspended; the other one's work stands, this one has ended"
    )


def _current(objects: ObjectStore, prefix: str) -> Term | None:
    """The last term under a prefix."""
    return max(_terms(objects, prefix), key=lambda term: term.number, default=None)


def _terms(objects: ObjectStore, prefix: str) -> list[Term]:
    paths = [info.path for info in objects.list(prefix) if info.path.endswith(".json")]
    numbered = [(path.rpartition("/")[0], _number(path)) for path in paths]
    return [Term(f"{folder}/", number) for folder, number in numbered if number is not None]


def _number(path: str) -> int | None:
    """The number of a term; None for a foreign file."""
    name = path.rpartition("/")[2].partition(".")[0]
    return int(name) if name.isascii() and name.isdigit() else None


def _living(objects: ObjectStore, terms: Sequence[Term]) -> list[tuple[Term, Holder]]:
    """The terms whose holders live; remote holders are watched together, for as long as it takes."""
    living: list[tuple[Term, Holder]] = []
    elsewhere: list[tuple[Term, Holder]] = []
    for term in terms:
        holder = _holder(objects, term)
        if holder is None:
            continue
        if holder.host != platform.node():
            elsewhere.append((term, holder))
        elif holder.boot == boot_id() and started(holder.process) == holder.started:
            living.append((term, holder))
    if living or not elsewhere:
        return living
    return _beating(objects, elsewhere)


def _beating(objects: ObjectStore, held: Iterable[tuple[Term, Holder]]) -> list[tuple[Term, Holder]]:
    """The first of these terms seen to beat; none if all stay silent for long enough."""
    first = {term: (_last_beat(objects, term), holder) for term, holder in held}
    for _ in range(BEATS_TO_WAIT):
        time.sleep(BEAT_SECONDS)
        first = {term: seen for term, seen in first.items() if not objects.exists(term.released)}
        if moved := [
            (term, holder) for term, (heartbeat, holder) in first.items() if _last_beat(objects, term) != heartbeat
        ]:
            return moved
        if not first:
            break
    return []


def _holder(objects: ObjectStore, term: Term) -> Holder | None:
    """The holder of a term that has not been released."""
    return None if objects.exists(term.released) else _recorded(objects, term)


def _recorded(objects: ObjectStore, term: Term) -> Holder | None:
    """The recorded holder of a term; None if there is none, as after release and clearing."""
    try:
        raw = objects.read(term.record)
    except FileNotFoundError:
        return None
    return from_json(Holder, raw, f"{objects.root}/{term.record}")


def _last_beat(objects: ObjectStore, term: Term) -> bytes:
    try:
        return objects.read(term.heartbeat)
    except FileNotFoundError:
        return b""
