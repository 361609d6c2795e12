"""Runs a winnow command, and counts what its own process asks of stores: workers' requests are not among them.

    python -m benchmarks.measuring.counted disk|s3 FILE COMMAND…

Writes `Counted` as JSON. On S3 each request of the client counts. On a disk each call counts that an object store
would be sent as a request: an opened object once, a listing and files that are deleted together once for a thousand.
"""

import os
import resource
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

from benchmarks.measuring.reporting import mapped_files, peak_resident
from winnow.pipelines.store.buckets.s3 import PAGE, S3Bucket
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.local import LocalStore
from winnow.runners.commands.main import main as winnow

CALLS = ("open", "read", "exists", "size", "put", "put_if_absent", "delete")
BETWEEN = (
    *("benchmarks/measuring/counted", "store/local", "store/buckets/", "store/concurrency"),
    *("store/tables", "integrity/content", "integrity/sealed"),
)
"""Files that pass requests on: a request's callers are theirs."""
TOGETHER = "delete together"  # files on a disk that S3 would delete a thousand in one request
CALLERS = 3  # frames that are written down


@dataclass(frozen=True, slots=True)
class Counted:
    """What a command's own process took and asked."""

    cpu_seconds: float
    peak_bytes: int
    requests: dict[str, int]  # by kind
    callers: dict[str, int]  # the innermost functions, the nearest first

    @property
    def asked(self) -> int:
        """All requests."""
        together = self.requests.get(TOGETHER, 0)
        return sum(self.requests.values()) - together + -(-together // PAGE)


class _Counts:
    """Requests by kind and by caller."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.callers: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._inside = threading.local()  # one call may be made of others

    def add(self, kind: str, times: int = 1) -> None:
        caller = _caller(sys._getframe(1))
        with self._lock:
            self.requests[kind] += times
            self.callers[f"{kind} {caller}"] += times

    def called(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, counted unless it is part of another."""

        def counted(*given: Any, **named: Any) -> Any:
            if getattr(self._inside, "on", False):
                return call(*given, **named)
            self.add(TOGETHER if kind == "delete" and _called_by(sys._getframe(1), "delete_objects") else kind)
            self._inside.on = True
            try:
                return call(*given, **named)
            finally:
                self._inside.on = False

        return counted

    def listed(self, call: Callable[..., Iterator[ObjectInfo]]) -> Callable[..., Iterator[ObjectInfo]]:
        """The listing, counted by pages."""

        def counted(*given: Any) -> Iterator[ObjectInfo]:
            self.add("list")
            for number, info in enumerate(call(*given)):
                if number and number % PAGE == 0:
                    self.add("list")
                yield info

        return counted

    def sent(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """The client's requests, by operation."""

        def counted(bucket: S3Bucket, operation: str, **named: Any) -> Any:
            self.add(operation)
            return ask(bucket, operation, **named)

        return counted


def _caller(frame: FrameType | None) -> str:
    found: list[str] = []
    while frame is not None and len(found) < CALLERS:
        file = frame.f_code.co_filename
        if "/winnow/" in file and not any(one in file for one in BETWEEN):
            found.append(f"{Path(file).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


def _called_by(frame: FrameType | None, name: str) -> bool:
    """Whether a function of this name is among the innermost."""
    for _ in range(CALLERS):
        if frame is None or frame.f_code.co_name == name:
            break
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == name


def _wrap(kind: type, name: str, wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    setattr(kind, name, wrapped(getattr(kind, name)))


def main() -> int:
    """Run the command and write what was counted."""
    place, target, *command = sys.argv[1:]
    counts = _Counts()
    if place == "s3":
        _wrap(S3Bucket, "_ask", counts.sent)
    else:
        for name in CALLS:
            _wrap(LocalStore, name, partial(counts.called, name))
        _wrap(LocalStore, "list", counts.listed)
    status = winnow(command)
    own = resource.getrusage(resource.RUSAGE_SELF)
    took = Counted(
        own.ru_utime + own.ru_stime,
        peak_resident(os.getpid()) - mapped_files(os.getpid()),
        dict(counts.requests),
        dict(counts.callers.most_common(20)),
    )
    Path(target).write_bytes(orjson.dumps(asdict(took)))
    return status


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ended)  # as winnow ends: no thread is waited for
