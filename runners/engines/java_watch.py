"""Watching a job server while a job runs on it: a Java that has run out of memory may let its job wait for ever.

An engine inside the job server fails a job whose own thread ran out of memory. Where it was a thread of a connection
the error is only printed, the bundle never ends, and the job stays in RUNNING. Slowness and silence end nothing here:
a job that makes no progress may be at a long task.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.runners.jobserver.running import JOB_SERVERS, JobServer
from winnow.schemas.errors import StageError

GRACE_SECONDS = 60.0  # for the job to fail by itself, with a better word
_LOOK_SECONDS = 1.0
_DYING_SECONDS = 1.0  # the connections of a process close a little before it has ended
_PIECE_BYTES = 1 << 20
_OVERLAP_BYTES = 256  # between two looks, so that no name is cut in two

OUT_OF_MEMORY = re.compile(rb"java\.lang\.OutOfMemoryError|\.OutOfDirectMemoryError")
"""As Java names them: what a worker in Python says of memory of its own it may well recover from."""

EXIT_ON_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""The Java option that makes most such ends quick; it does not cover memory outside the heap."""


@contextmanager
def java_watched(server: JobServer, grace_seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """While a job runs on this job server, which is ended when its job cannot end.

    Raises:
        StageError: In place of the pipeline's own error, where the job server's end is the reason.
    """
    words = _Words(server.log)
    over = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(server, words, over, grace_seconds), name="job-server-watch", daemon=True
    )
    watch.start()
    try:
        yield
    except Exception as error:
        if why := _why_ended(server, words):
            raise StageError(why) from error
        raise
    finally:
        over.set()
        watch.join()


class _Words:
    """What a job server has printed since now."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._since = self._at = log.stat().st_size
        self._lock = threading.Lock()
        self._lacking = False

    def lack_memory(self) -> bool:
        """Whether it has said so by now. Reads on from where the last look ended."""
        with self._lock:
            try:
                with open(self._log, "rb") as stream:
                    stream.seek(max(self._at - _OVERLAP_BYTES, self._since))
                    while not self._lacking and (piece := stream.read(_PIECE_BYTES)):
                        self._lacking = OUT_OF_MEMORY.search(piece) is not None
                        self._at = stream.tell()
                        if len(piece) == _PIECE_BYTES:
                            stream.seek(-_OVERLAP_BYTES, 1)
            except FileNotFoundError:  # gone with its job server
                pass
            return self._lacking


def _watch(server: JobServer, words: _Words, over: threading.Event, grace_seconds: float) -> None:
    """End a job server whose job will not: its connections close, and so the driver goes on."""
    while not over.wait(_LOOK_SECONDS):
        if words.lack_memory():
            if not over.wait(grace_seconds):
                JOB_SERVERS.end(server.service)
            return


def _why_ended(server: JobServer, words: _Words) -> str:
    """Empty when it has not."""
    title = server.service.title
    if words.lack_memory():
        return (
            f"{title} ran out of memory; give it more after '--', as --job_server_jvm_properties=-Xmx4g (and "
            "-XX:MaxDirectMemorySize=2g); what was committed stays"
        )
    until = time.monotonic() + _DYING_SECONDS
    while server.alive and time.monotonic() < until:
        time.sleep(0.05)
    if server.alive:
        return ""
    return f"{title} ended in mid-job; what was committed stays, run the same command again"
