"""Watches a job server's output while a job runs, to end jobs that would wait for ever.

An embedded engine fails a job whose own thread runs out of memory. If it was a thread of a connection, the error is
only printed, the bundle never ends, and the job stays in RUNNING. An `OutputListener` interprets what an engine prints
about its cluster. Slowness and silence do not end a job, as a task may take long.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from winnow.runners.engines.java.job_servers import JOB_SERVERS, JobServer
from winnow.schemas.errors import StageError

GRACE_SECONDS = 60.0  # for the job to fail by itself with a better message
_POLL_SECONDS = 1.0
_DYING_SECONDS = 1.0  # the connections of a process close shortly before it ends
_PIECE_BYTES = 1 << 20
_LINE_BYTES = 1 << 16  # of an incomplete line; longer ones are cut

OUT_OF_MEMORY = re.compile(rb"java\.lang\.OutOfMemoryError|\.OutOfDirectMemoryError")
"""Java's names for memory errors; a Python worker may recover from its own."""

_HEAD = re.compile(rb"[0-9]{2}:[0-9]{2}:[0-9]{2} ")  # lines up to the next such line belong to the same event

EXIT_ON_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""The Java option that makes most such ends quick; it does not cover memory outside the heap."""


class OutputListener(Protocol):
    """Interprets what an engine prints about its cluster during a job. Called from one thread."""

    def on_line(self, line: str) -> None:
        """Process a line of the job server's output."""
        ...

    def is_remote(self, line: str) -> bool:
        """Whether the message that begins with this line comes from Java on another machine."""
        ...

    def reason_to_end(self) -> str:
        """Why the job must be ended, in one line; empty if it need not. Called every second."""
        ...


class NoListener:
    """A listener that does nothing, for engines that report errors themselves."""

    def on_line(self, line: str) -> None:
        """Ignore the line."""

    def is_remote(self, _: str) -> bool:
        """No message is."""
        return False

    def reason_to_end(self) -> str:
        """No reason."""
        return ""


@contextmanager
def java_watched(
    server: JobServer, listener: OutputListener | None = None, grace_seconds: float = GRACE_SECONDS
) -> Iterator[None]:
    """Watch the job server during a job, and end it if the job cannot end by itself.

    Raises:
        StageError: The job server ended; replaces the pipeline's own error.
    """
    watch = _Watch(server, listener or NoListener(), grace_seconds)
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

    def __init__(self, server: JobServer, listener: OutputListener, grace_seconds: float) -> None:
        self._server = server
        self._listener = listener
        self._grace_seconds = grace_seconds
        self._at = server.log.stat().st_size
        self._incomplete = b""  # the incomplete last line
        self._is_remote = False  # whether the current message comes from another machine
        self._out_of_memory = False
        self._reason = ""
        self._over = threading.Event()

    def run(self) -> None:
        """Watch until `end` is called, or end the job server, which closes its connections and frees the driver."""
        while not self._over.wait(_POLL_SECONDS):
            self._read_output()
            if self._out_of_memory:
                if not self._over.wait(self._grace_seconds):
                    JOB_SERVERS.end(self._server.service)
                return
            self._reason = self._listener.reason_to_end()
            if self._reason:
                JOB_SERVERS.end(self._server.service)
                return

    def end(self) -> None:
        """Stop watching."""
        self._over.set()

    def why_ended(self) -> str:
        """Why the job server ended; empty if it has not. Called after `end`."""
        title = self._server.service.title
        self._read_output()
        if self._out_of_memory:
            return (
                f"{title} ran out of memory; give it more after '--', such as --job_server_jvm_properties=-Xmx4g (and "
                "-XX:MaxDirectMemorySize=2g); committed work is kept"
            )
        if self._reason:
            return self._reason
        until = time.monotonic() + _DYING_SECONDS
        while self._server.alive and time.monotonic() < until:
            time.sleep(0.05)
        if self._server.alive:
            return ""
        return f"{title} ended during the job; committed work is kept, run the same command again"

    def _check_line(self, line: bytes) -> None:
        if _HEAD.match(line):
            self._is_remote = self._listener.is_remote(line.decode("utf-8", "replace"))
        self._out_of_memory |= not self._is_remote and OUT_OF_MEMORY.search(line) is not None

    def _read_output(self) -> None:
        try:
            with open(self._server.log, "rb") as stream:
                stream.seek(self._at)
                while piece := stream.read(_PIECE_BYTES):
                    self._at += len(piece)
                    *lines, self._incomplete = (self._incomplete + piece).split(b"\n")
                    for line in lines:
                        self._check_line(line)
                        self._listener.on_line(line.decode("utf-8", "replace"))
                    self._check_line(self._incomplete)
                    self._incomplete = self._incomplete[-_LINE_BYTES:]
        except FileNotFoundError:  # removed with its job server
            pass
