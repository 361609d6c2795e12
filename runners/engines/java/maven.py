"""Runs Maven to build or download a jar. Its output goes to a log file; if it fails, one line of it is reported."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from winnow.runners.engines.java.installed_java import Java
from winnow.runners.engines.java.server_kinds import JobServer, JobServerError
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.counts import count_of

MAX_SECONDS = 3600
"""The time limit of a build: Maven itself would wait half an hour for each file of an unresponsive server."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_FAR = re.compile(
    r"offline mode|Could not transfer|Unknown host|UnknownHost|Connection (?:refused|timed out|reset)|"
    r"Network is unreachable|Temporary failure in name resolution|No route to host|connect timed out",
    re.IGNORECASE,
)
_MOST_CHARACTERS = 300

# Runs a program that is killed with this process, so that no build outlives it.
_TIED = (
    "import ctypes, os, signal, sys\n"
    "prctl = getattr(ctypes.CDLL(None), 'prctl', None)\n"  # only on Linux
    "prctl and prctl(1, signal.SIGKILL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


class MavenError(JobServerError):
    """Maven is missing or failed; `reason` is the error line in its log."""

    def __init__(self, line: str, reason: str = "") -> None:
        super().__init__(line)
        self.reason = reason


def require_maven(server: JobServer) -> Path:
    """The path of Maven's launcher; MavenError if there is none."""
    found = shutil.which("mvn")
    if found is None:
        raise MavenError(
            f"{server.title}'s job server is built with Maven, but mvn is not on PATH; run apt-get install maven, or "
            f"use a jar built elsewhere (winnow engines build {server.engine}): {server.variable}=FILE.jar"
        )
    return Path(found)


def build_jar(
    server: JobServer, engine_version: str, folder: Path, java: Java, log: Path, console: Console | None
) -> Path:
    """Build the engine's job server in an empty folder; returns the jar. MavenError if Maven is missing or failed."""
    shutil.copyfile(server.pom, folder / "pom.xml")
    arguments = ["package", f"-D{server.engine_property}={engine_version}"]
    activity = f"building {server.title} {engine_version}'s job server"
    _run(server, arguments, folder, java, log, console, activity)
    return _only_jar(folder / "target", f"beam-{server.engine}-job-server.jar", log)


def published_jar(
    server: JobServer, version: str, folder: Path, java: Java, log: Path, console: Console | None
) -> Path | None:
    """Download Beam's own jar of this version; None if Maven's repositories do not have it."""
    artifact = f"org.apache.beam:{server.artifact}:{version}"
    arguments = [_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder / 'published'}"]
    try:
        _run(server, arguments, folder, java, log, console, f"downloading Beam {version}'s own job server")
    except MavenError as error:
        if error.reason:  # a build is tried next, and reports other problems
            return None
        raise
    return _only_jar(folder / "published", f"{server.artifact}-{version}.jar", log)


def _run(
    server: JobServer,
    arguments: Sequence[str],
    folder: Path,
    java: Java,
    log: Path,
    console: Console | None,
    activity: str,
) -> None:
    maven = require_maven(server)
    # Strict checksums: a file whose hash is not the repository's fails the build.
    command = [sys.executable, "-I", "-c", _TIED, str(maven), "--batch-mode", "--strict-checksums", *arguments]
    environment = dict(os.environ)
    if java.home is not None:
        environment["JAVA_HOME"] = str(java.home)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with _status_line(console, activity, log):
            status = process.wait(timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        raise MavenError(f"Maven was stopped after {MAX_SECONDS} s of {activity} (log: {log})") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status != 0:
        reason = error_line(log.read_text("utf-8", "replace")) or f"it ended with status {status}"
        remedy = ""
        if _FAR.search(reason):
            remedy = (
                f"; give Maven access to its repository (set a mirror in ~/.m2/settings.xml), or use a jar built "
                f"elsewhere: {server.variable}=FILE.jar"
            )
        raise MavenError(f"Maven failed while {activity}: {reason}{remedy} (log: {log})", reason)


def error_line(log: str) -> str | None:
    """The first error in Maven's log, without its advice."""
    for line in log.splitlines():
        found = re.match(r"(?:\[(?:ERROR|FATAL)\] *)+(.+)|(The JAVA_HOME .+)", line)
        line = (found[1] or found[2]).strip() if found else ""
        if not line or line.startswith("Some problems were encountered"):
            continue
        reason = re.sub(r"\s*-> \[Help \d+\].*$", "", line)
        reason = re.sub(r"^Failed to execute goal .*? on project \S+: ", "", reason)
        return reason if len(reason) <= _MOST_CHARACTERS else f"{reason[:_MOST_CHARACTERS]} …"
    return None


def _only_jar(folder: Path, name: str, log: Path) -> Path:
    jar = folder / name
    if not jar.is_file():
        raise MavenError(f"Maven succeeded but did not write {name} (log: {log})")
    return jar


class _NoStatusLine:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _status_line(console: Console | None, activity: str, log: Path) -> StatusLine | _NoStatusLine:
    if console is None:
        return _NoStatusLine()
    return StatusLine(console, Status("engine", (f"{activity} …",)), _status(activity, log))


def _status(activity: str, log: Path) -> Callable[[], Status]:
    def status() -> Status:
        files = log.read_bytes().count(b"Downloaded from ")
        downloaded = (f"{count_of(files, 'file')} downloaded",) if files else ()
        return Status("engine", (f"{activity} …", *downloaded))

    return status
