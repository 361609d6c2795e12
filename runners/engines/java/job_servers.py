"""The driver's side of job servers: one Java process an engine and command, which dies with its driver.

A job server takes seconds to start and a command runs many pipelines, so it is kept until the command ends. Each has
a folder of its own for what it stages, spills and prints, which goes when it does.
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

from winnow.runners.engines.java import watched_process as watched
from winnow.runners.engines.workers.logs import worker_log
from winnow.schemas.errors import StageError

READY_SECONDS = 300.0  # a cold disk and a busy machine; about 5 on a quiet one
_LOOK_SECONDS = 0.05
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
"""For log4j 2, which is in the jars that Maven builds: without it they say errors alone; Beam's own say enough.

What Spark says of its cluster is understood in engines/spark_resources.py."""


@dataclass(frozen=True, slots=True)
class Service:
    """What is run: two that are equal are the same one."""

    title: str  # for people: "the Spark job server"
    java: Path
    jvm: tuple[str, ...]  # options of Java; of two for the same setting the later wins
    jar: Path
    arguments: tuple[str, ...]  # of the job server; its folder for artifacts is added

    def command(self, folder: Path) -> list[str]:
        """As it is started; a folder for artifacts that the user names comes later, and wins."""
        logging = folder / _LOGGING
        inside = (
            f"-Djava.io.tmpdir={folder}",
            f"-Dspark.local.dir={folder}",
            f"-Dlog4j2.configurationFile={logging}",
        )
        artifacts = ("--artifacts-dir", str(folder / "artifacts"))
        return [str(self.java), *inside, *self.jvm, "-jar", str(self.jar), *artifacts, *self.arguments]


class JobServer:
    """A job server that runs."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._owner = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="winnow-job-server-"))
        self._log = self._folder / _LOG
        (self._folder / _LOGGING).write_text(_LOGGED)
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", watched.__file__, str(self._folder), *service.command(self._folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,  # Spark leaves folders where it is
                start_new_session=True,  # an interrupt at the terminal is the driver's to answer
            )
        try:
            self.endpoint = self._ready()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it is there still, and this process's own."""
        return self._owner == os.getpid() and self._process.poll() is None

    @property
    def log(self) -> Path:
        """What it prints; gone with it."""
        return self._log

    @contextmanager
    def printing_into(self, log: Path) -> Iterator[None]:
        """Meanwhile it prints into a log of the caller's as well: added at the end, to the file as it is now."""
        begin = self._log.stat().st_size
        with open(log, "ab") as stream:  # opened now: a log that is to be kept is renamed
            try:
                yield
            finally:
                if self._log.exists():
                    with open(self._log, "rb") as words:
                        words.seek(begin)
                        shutil.copyfileobj(words, stream)

    def close(self) -> None:
        """End it, and wait for its end."""
        if self._owner != os.getpid():  # a fork of the driver
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ENDED_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # and the kernel kills what it watches
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ready(self) -> str:
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            ended = self._process.poll() is not None  # asked first: what it printed last is then there to be read
            found = _READY.search(self._log.read_bytes())
            if found is not None and not ended:
                return found[1].decode().replace("localhost", "127.0.0.1", 1)
            if ended:
                raise self._failed()
            time.sleep(_LOOK_SECONDS)
        took = f"{READY_SECONDS:.0f} s"
        raise StageError(f"{self.service.title} is not ready after {took} (its own words: {self._kept()})")

    def _failed(self) -> StageError:
        said = self._log.read_text("utf-8", "replace")
        if "Address already in use" in said:
            ports = " ".join(_ports(self.service.arguments))
            return StageError(
                f"{self.service.title}: a port is taken by another program ({ports}); give free ones, or none to let "
                "the system choose"
            )
        for pattern, remedy in (
            (r"^(?:Error: )?Unrecognized (?:VM )?option:? .*$", "see --job_server_jvm_properties"),
            (r"^(?:Invalid|Initial|Too small).*(?:heap|memory).*$", "see -Xmx"),
            (r"^.*Could not reserve enough space.*$", "give it less by --job_server_jvm_properties=-Xmx1g"),
        ):
            if found := re.search(pattern, said, re.MULTILINE):
                return StageError(f"{self.service.title} does not start: {found[0].strip()}; {remedy}")
        lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("\tat ")]
        last = lines[-1][:300] if lines else f"status {self._process.returncode}"
        return StageError(f"{self.service.title} does not start: {last} (its own words: {self._kept()})")

    def _kept(self) -> Path:
        """What it printed, in a file that stays."""
        from winnow.runners.engines.workers.logs import kept_log

        kept = kept_log(worker_log())
        shutil.copyfile(self._log, kept)
        return kept


class JobServers:
    """Those of this process, one for each engine's settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Service, JobServer] = {}

    def at(self, service: Service) -> JobServer:
        """The job server that runs so: started when there is none, or when it has died."""
        with self._lock:
            running = self._running.get(service)
            if running is None or not running.alive:
                if running is not None:
                    running.close()
                self._running.pop(service, None)
                self._running[service] = running = JobServer(service)
            return running

    def end(self, service: Service) -> None:
        """End one, with all that it still runs."""
        with self._lock:
            running = self._running.pop(service, None)
        if running is not None:
            running.close()

    def close(self) -> None:
        """End them all."""
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
