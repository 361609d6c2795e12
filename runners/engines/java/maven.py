"""Running Maven for one jar: its words go to a file, of which one line is told when it fails."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from winnow.runners.engines.java.installed_java import Java
from winnow.runners.engines.java.server_kinds import JobServer, JobServerError
from winnow.runners.terminal.status_line import StatusLine

MAX_SECONDS = 3600
"""After so long a build is given up: Maven itself waits half an hour for each file of a silent server."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_FAR = re.compile(
    r"offline mode|Could not transfer|Unknown host|UnknownHost|Connection (?:refused|timed out|reset)|"
    r"Network is unreachable|Temporary failure in name resolution|No route to host|connect timed out",
    re.IGNORECASE,
)
_TOLD_CHARACTERS = 300

# Runs a program that is killed when this process is: a build must not outlive a winnow that was.
_TIED = (
    "import ctypes, os, signal, sys\n"
    "prctl = getattr(ctypes.CDLL(None), 'prctl', None)\n"  # Linux has it
    "prctl and prctl(1, signal.SIGKILL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)


class MavenError(JobServerError):
    """Maven is missing, or did not make what it was asked for; `told` is the line of its own that says why."""

    def __init__(self, line: str, told: str = "") -> None:
        super().__init__(line)
        self.told = told


def require_maven(server: JobServer) -> Path:
    """The path of Maven's launcher.

    Raises:
        MavenError: There is none.
    """
    found = shutil.which("mvn")
    if found is None:
        raise MavenError(
            f"{server.title}'s job server is built with Maven, and there is no mvn on PATH: apt-get install maven, "
            f"or give a jar that was built elsewhere (winnow engines build {server.engine}): {server.variable}=FILE.jar"
        )
    return Path(found)


def build_jar(
    server: JobServer, engine_version: str, folder: Path, java: Java, log: Path, console: Console | None
) -> Path:
    """Build the engine's job server in an empty folder; returns the jar.

    Raises:
        MavenError: Maven is missing or failed.
    """
    shutil.copyfile(server.pom, folder / "pom.xml")
    arguments = ["package", f"-D{server.engine_property}={engine_version}"]
    doing = f"building {server.title} {engine_version}'s job server"
    _run(server, arguments, folder, java, log, console, doing)
    return _only_jar(folder / "target", f"beam-{server.engine}-job-server.jar", log)


def published_jar(
    server: JobServer, version: str, folder: Path, java: Java, log: Path, console: Console | None
) -> Path | None:
    """Beam's own jar of this version, if Maven's repositories have it; None where they do not."""
    artifact = f"org.apache.beam:{server.artifact}:{version}"
    arguments = [_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder / 'published'}"]
    try:
        _run(server, arguments, folder, java, log, console, f"asking for Beam {version}'s own job server")
    except MavenError as error:
        if error.told:  # a build is tried next, and says what is wrong if it is not just that the jar is not there
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
    doing: str,
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
        with _shown(console, doing, log):
            status = process.wait(timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        raise MavenError(f"Maven was given up after {MAX_SECONDS} s of {doing} (its own words: {log})") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status != 0:
        told = telling_line(log.read_text("utf-8", "replace")) or f"it ended with status {status}"
        remedy = ""
        if _FAR.search(told):
            remedy = (
                f"; let Maven reach its repository (a mirror goes into ~/.m2/settings.xml), or give a jar that was "
                f"built elsewhere: {server.variable}=FILE.jar"
            )
        raise MavenError(f"Maven failed at {doing}: {told}{remedy} (its own words: {log})", told)


def telling_line(log: str) -> str | None:
    """The line of Maven's log that says what went wrong: the first error, without its advice."""
    for line in log.splitlines():
        found = re.match(r"(?:\[(?:ERROR|FATAL)\] *)+(.+)|(The JAVA_HOME .+)", line)
        said = (found[1] or found[2]).strip() if found else ""
        if not said or said.startswith("Some problems were encountered"):
            continue
        told = re.sub(r"\s*-> \[Help \d+\].*$", "", said)
        told = re.sub(r"^Failed to execute goal .*? on project \S+: ", "", told)
        return told if len(told) <= _TOLD_CHARACTERS else f"{told[:_TOLD_CHARACTERS]} …"
    return None


def _only_jar(folder: Path, name: str, log: Path) -> Path:
    jar = folder / name
    if not jar.is_file():
        raise MavenError(f"Maven ended well and made no {name} (its own words: {log})")
    return jar


class _Silent:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _shown(console: Console | None, doing: str, log: Path) -> StatusLine | _Silent:
    if console is None:
        return _Silent()
    return StatusLine(console, Text(f"engine  {doing} …"), _line(doing, log))


def _line(doing: str, log: Path) -> Callable[[], Text]:
    started = time.monotonic()

    def line() -> Text:
        files = log.read_bytes().count(b"Downloaded from ")
        brought = f", {files:,} files downloaded" if files else ""
        return Text(f"engine  {doing} …  {time.monotonic() - started:.0f} s{brought}")

    return line
