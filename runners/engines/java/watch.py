"""Watches a job server's output while a job runs, to end jobs that would wait for ever.

An embedded engine fails a job whose own thread runs out of memory. If it was a thread of a connection, the error is
only printed, the bundle never ends, and the job stays in RUNNING. An `Attendant` interprets what an engine prints about
its cluster. Slowness and silence do not end a job, as a task may take long.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from winnow.runners.engines.java.job_servers import JOB_SERVERS, JobServer
from winnow.schemas.errors import StageError

GRACE_SECONDS = 60.0  # for the job to fail by itself, with a better message
_LOOK_SECONDS = 1.0
_DYING_SECONDS = 1.0  # the connections of a process close a little before it has ended
_PIECE_BYTES = 1 << 20
_LINE_BYTES = 1 << 16  # of a line that has no end yet; what is longer is cut there

OUT_OF_MEMORY = re.compile(rb"java\.lang\.OutOfMemoryError|\.OutOfDirectMemoryError")
"""Java's names for memory errors; a Python worker may recover from its own."""

_HEAD = re.compile(rb"[0-9]{2}:[0-9]{2}:[0-9]{2} ")  # what follows up to the next is of the same event

EXIT_ON_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""The Java option that makes most such ends quick; it does not cover memory outside the heap."""


class Attendant(Protocol):
    """Interprets what an engine prints about its cluster during a job. Called from one thread."""

    def heard(self, line: str) -> None:
        """Process a line of the job server's output."""
        ...

    def of_others(self, line: str) -> bool:
        """Whether the message that begins with this line comes from another machine's Java."""
        ...

    def reason_to_end(self) -> str:
        """Why the job cannot end by itself, in one line; empty while it can. Called every second."""
        ...


class NobodyListens:
    """An attendant that does nothing, for engines that report errors themselves."""

    def heard(self, line: str) -> None:
        """Nothing."""

    def of_others(self, _: str) -> bool:
        """None is."""
        return False

    def reason_to_end(self) -> str:
        """None."""
        return ""


@contextmanager
def java_watched(
    server: JobServer, attendant: Attendant | None = None, grace_seconds: float = GRACE_SECONDS
) -> Iterator[None]:
    """Watch the job server during a job, and end it if the job cannot end by itself.

    Raises:
        StageError: The job server ended; replaces the pipeline's own error.
    """
    watch = _Watch(server, attendant or NobodyListens(), grace_seconds)
    watching = threading.Thread(target=watch.run, name="job-server-watch", daemon=True)
    watching.start()
    try:
        yield
    except Exception as error:
        watch.end()
        watching.join()
        if why := watch.why_ended():
            raise StageError(why) from error
        raise
    finally:
        watch.end()
        watching.join()


class _Watch:
    """Follows the output of a job server from now on."""

    def __init__(self, server: JobServer, attendant: Attendant, grace_seconds: float) -> None:
        self._server = server
        self._attendant = attendant
        self._grace_seconds = grace_seconds
        self._at = server.log.stat().st_size
        self._begun = b""  # a line that has no end yet
        self._of_others = False  # what is said just now
        self._lacks_memory = False
        self._reason = ""
        self._over = threading.Event()

    def run(self) -> None:
        """Watch until `end` is called, or end the job server, which closes its connections and frees the driver."""
        while not self._over.wait(_LOOK_SECONDS):
            self._look()
            if self._lacks_memory:
                if not self._over.wait(self._grace_seconds):
                    JOB_SERVERS.end(self._server.service)
                return
            self._reason = self._attendant.reason_to_end()
            if self._reason:
                JOB_SERVERS.end(self._server.service)
                return

    def end(self) -> None:
        """Stop watching."""
        self._over.set()

    def why_ended(self) -> str:
        """Why the job server ended; empty if it has not. Called after `end`."""
        title = self._server.service.title
        self._look()
        if self._lacks_memory:
            return (
                f"{title} ran out of memory; give it more after '--', as --job_server_jvm_properties=-Xmx4g (and "
                "-XX:MaxDirectMemorySize=2g); committed work is kept"
            )
        if self._reason:
            return self._reason
        until = time.monotonic() + _DYING_SECONDS
        while self._server.alive and time.monotonic() < until:
            time.sleep(0.05)
        if self._server.alive:
            return ""
        return f"{title} ended in mid-job; committed work is kept, run the same command again"

    def _heard(self, line: bytes) -> None:
        if _HEAD.match(line):
            self._of_others = self._attendant.of_others(line.decode("utf-8", "replace"))
        self._lacks_memory |= not self._of_others and OUT_OF_MEMORY.search(line) is not None

    def _look(self) -> None:
        try:
            with open(self._server.log, "rb") as stream:
                stream.seek(self._at)
                while piece := stream.read(_PIECE_BYTES):
                    self._at += len(piece)
                    *lines, self._begun = (self._begun + piece).split(b"\n")
                    for line in lines:
                        self._heard(line)
                        self._attendant.heard(line.decode("utf-8", "replace"))
                    self._heard(self._begun)
                    self._begun = self._begun[-_LINE_BYTES:]
        except FileNotFoundError:  # gone with its job server
            pass
