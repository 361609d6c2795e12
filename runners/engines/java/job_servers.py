"""Starts and ends job servers: one Java process per engine and command, which ends with its driver.

A job server takes seconds to start and a command runs many pipelines, so it runs until the command ends. Each has its
own folder for staged files, spilled data and its log, which is deleted when it ends.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from winnow.pipelines.processes.run_folder import run_folder
from winnow.runners.engines.java import watched_process as watched
from winnow.runners.engines.workers.logs import worker_log
from winnow.schemas.errors import StageError

READY_SECONDS = 300.0  # for a cold disk and a busy machine; about 5 on an idle one
_POLL_SECONDS = 0.05
_ENDED_SECONDS = watched.FAREWELL_SECONDS + 5
_READY = re.compile(rb"(?:JobService started on |Serving JobManagement.* endpoint=)(\S+:\d+)")  # Java's, or Prism's
_LOG = "job-server.log"
_LOGGING = "logging.properties"
_LOGGED = """\
status = error
appenders = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss} %level %logger{1}: %msg%n%throwable
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.jobs.name = org.apache.beam.runners.jobsubmission
logger.jobs.level = info
logger.executors.name = org.apache.spark.scheduler.cluster
logger.executors.level = info
logger.master.name = org.apache.spark.deploy.client
logger.master.level = info
"""
"""Settings of log4j 2 for jars built by Maven, which otherwise log only errors; Beam's own jars log enough.

spark_resources.py parses Spark's messages about its cluster."""


@dataclass(frozen=True, slots=True)
class Service:
    """The command of a job server; equal commands share one process."""

    title: str  # for messages: "the Spark job server"
    java: Path
    jvm: tuple[str, ...]  # Java options; later ones take precedence
    jar: Path
    arguments: tuple[str, ...]  # arguments of the job server; its artifact folder is added
    environment: tuple[tuple[str, str], ...] = ()  # variables, where the user has not set them

    def command(self, folder: Path) -> list[str]:
        """The full command; an artifact folder set by the user comes later and takes precedence."""
        logging = folder / _LOGGING
        inside = (f"-Djava.io.tmpdir={folder}", f"-Dspark.local.dir={folder}", f"-Dlog4j2.configurationFile={logging}")
        artifacts = ("--artifacts-dir", str(folder / "artifacts"))
        return [str(self.java), *inside, *self.jvm, "-jar", str(self.jar), *artifacts, *self.arguments]


class JobServer:
    """A running job server."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._owner = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="job-server-", dir=run_folder()))
        self._log = self._folder / _LOG
        (self._folder / _LOGGING).write_text(_LOGGED)
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", watched.__file__, str(self._folder), *service.command(self._folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**dict(service.environment), **os.environ},
                cwd=self._folder,  # Spark creates folders in its working directory
                start_new_session=True,  # only the driver handles an interrupt at the terminal
            )
        try:
            self.endpoint = self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it still runs and belongs to this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    @property
    def log(self) -> Path:
        """Its log file, deleted when it ends."""
        return self._log

    @contextmanager
    def printing_into(self, log: Path) -> Iterator[None]:
        """Append what it prints during the block to another log."""
        begin = self._log.stat().st_size
        with open(log, "ab") as stream:  # opened now, as a saved log is renamed
            try:
                yield
            finally:
                if self._log.exists():
                    with open(self._log, "rb") as words:
                        words.seek(begin)
                        shutil.copyfileobj(words, stream)

    def close(self) -> None:
        """Stop it and wait until it has ended."""
        if self._owner != os.getpid():  # a fork of the driver
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ENDED_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the kernel then kills the process that it watches
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_ready(self) -> str:
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            ended = self._process.poll() is not None  # checked first, so that the log is complete if it has ended
            found = _READY.search(self._log.read_bytes())
            if found is not None and not ended:
                return found[1].decode().replace("localhost", "127.0.0.1", 1)
            if ended:
                raise self._start_error()
            time.sleep(_POLL_SECONDS)
        took = f"{READY_SECONDS:.0f} s"
        raise StageError(f"{self.service.title} is not ready after {took} (log: {self._saved_log()})")

    def _start_error(self) -> StageError:
        written = self._log.read_text("utf-8", "replace")
        if "Address already in use" in written:
            ports = " ".join(_ports(self.service.arguments))
            return StageError(
                f"{self.service.title}: a port is taken by another program ({ports}); give free ports, or none to "
                f"let the system choose"
            )
        for pattern, remedy in (
            (r"^(?:Error: )?Unrecognized (?:VM )?option:? .*$", "see --job_server_jvm_properties"),
            (r"^(?:Invalid|Initial|Too small).*(?:heap|memory).*$", "see -Xmx"),
            (r"^.*Could not reserve enough space.*$", "give it less memory with --job_server_jvm_properties=-Xmx1g"),
        ):
            if found := re.search(pattern, written, re.MULTILINE):
                return StageError(f"{self.service.title} did not start: {found[0].strip()}; {remedy}")
        lines = [line.strip() for line in written.splitlines() if line.strip() and not line.startswith("\tat ")]
        last = lines[-1][:300] if lines else f"status {self._process.returncode}"
        return StageError(f"{self.service.title} did not start: {last} (log: {self._saved_log()})")

    def _saved_log(self) -> Path:
        """Copy its log to a file that is kept."""
        from winnow.runners.engines.workers.logs import kept_log

        kept = kept_log(worker_log())
        shutil.copyfile(self._log, kept)
        return kept


class JobServers:
    """The job servers of this process, one per command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Service, JobServer] = {}

    def at(self, service: Service) -> JobServer:
        """Return the job server with this command, starting it if it does not run."""
        with self._lock:
            running = self._running.get(service)
            if running is None or not running.alive:
                if running is not None:
                    running.close()
                self._running.pop(service, None)
                self._running[service] = running = JobServer(service)
            return running

    def end(self, service: Service) -> None:
        """Stop one, including its running jobs."""
        with self._lock:
            running = self._running.pop(service, None)
        if running is not None:
            running.close()

    def close(self) -> None:
        """Stop all job servers."""
        for service in list(self._running):
            self.end(service)


def _ports(arguments: tuple[str, ...]) -> list[str]:
    return [
        f"{name}={value}"
        for name, value in pairwise(arguments)
        if name.endswith("-port") and value.isdigit() and value != "0"
    ]


JOB_SERVERS = JobServers()
atexit.register(JOB_SERVERS.close)
