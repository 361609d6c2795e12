"""Finds or builds the jar of an engine's job server.

Looked for in this order: the file that the user names (Beam's flag, or the engine's environment variable), Beam's own
jar in Beam's own cache, and winnow's cache (`$WINNOW_ENGINES`, else the user's cache). Where none is, Maven brings
Beam's own jar for the installed Beam if it is published, and else builds one. What Maven made is kept under a hash of
all it was made of, beside its own hash, which is compared whenever it is found again.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from winnow.runners.engines.java.installed_java import Java, require_java
from winnow.runners.engines.java.jar_contents import require_fitting
from winnow.runners.engines.java.maven import build_jar, published_jar, require_maven
from winnow.runners.engines.java.server_kinds import (
    SERVERS,
    EngineName,
    JobServer,
    JobServerError,
    beam_installed,
    minor,
)

FOLDER_VARIABLE = "WINNOW_ENGINES"
CHECKSUM = ".sha256"

Origin = Literal["given", "in Beam's cache", "in winnow's cache"]

_BEAM_CACHE = "~/.apache_beam/cache/jars"
_JVM_FLAG = "--job_server_jvm_properties"
_UNFINISHED = ".unfinished-"
_OPENED = (  # what Spark and Flink reach into on Java 11 and 17; the jars that winnow builds say it themselves
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
)


@dataclass(frozen=True, slots=True)
class JobServerJar:
    """A jar that was found and checked."""

    server: JobServer
    path: Path
    origin: Origin
    sha256: str
    beam_version: str
    engine_version: str
    opens: bool

    @property
    def jvm_arguments(self) -> tuple[str, ...]:
        """The Java options that this jar needs on Java 11 and 17."""
        return () if self.opens else tuple(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED)

    def flags(self, java: Java) -> tuple[str, ...]:
        """Beam's flags to run this jar with this Java."""
        opened = (f"{_JVM_FLAG}={argument}" for argument in self.jvm_arguments)
        return (f"{self.server.flag}={self.path}", f"--job_server_java_launcher={java.path}", *opened)


def cache_folder() -> Path:
    """The folder of the jars that Maven built, and of the last build's log."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "winnow" / "engines"


def job_server(
    engine: EngineName,
    given: str | None = None,
    *,
    launcher: str | None = None,
    engine_version: str | None = None,
    beam_cache: str | None = None,
    console: Console | None = None,
) -> tuple[JobServerJar, Java]:
    """An engine's job server, built if necessary, and the Java to run it with.

    Args:
        engine: Whose job server.
        given: A jar that the user names by Beam's flag; it is this one or none.
        launcher: The Java that the user names by Beam's flag; `java`, which is the flag's default, names none.
        engine_version: The exact version of the engine that must be inside, as that of a cluster.
        beam_cache: Where Beam keeps jars, if the user says so by Beam's flag.
        console: Where progress is shown; standard error when None, as a build of a minute may not be silent.

    Raises:
        JobServerError: What is missing or wrong, in a line with its remedy.
    """
    server = SERVERS[engine]
    console = console or Console(stderr=True, highlight=False)
    java = require_java(server, None if launcher == "java" else launcher)
    found = find_jar(server, given, engine_version=engine_version, beam_cache=beam_cache, console=console)
    return found or _made(server, engine_version, java, console), java


def find_jar(
    server: JobServer,
    given: str | None = None,
    *,
    engine_version: str | None = None,
    beam_cache: str | None = None,
    console: Console | None = None,
) -> JobServerJar | None:
    """The job server that is on this machine already, checked; None when it has to be built.

    Raises:
        JobServerError: The one that the user names is not one that winnow can use.
    """
    named = given or os.environ.get(server.variable)
    if named:
        by = server.flag if given else server.variable
        if "://" in named:
            raise JobServerError(f"{by}={named}: expected a file on this machine; download it and give its path")
        try:
            return _checked(server, Path(named).expanduser().absolute(), "given", engine_version)
        except JobServerError as error:
            raise JobServerError(f"{by}: {error}; give another, or none to let winnow find or build one") from None
    beams = Path(beam_cache or _BEAM_CACHE).expanduser() / f"{server.artifact}-{beam_installed()}.jar"
    if beams.is_file():
        try:
            return _checked(server, beams, "in Beam's cache", engine_version)
        except JobServerError as error:
            _say(console, f"engine  skipped: {error}")
    return _kept(server, engine_version, console)


def cached_path(server: JobServer, engine_version: str | None = None) -> Path:
    """The path of the jar that Maven builds, under a hash of its inputs."""
    version = engine_version or server.engine_version
    made_of = hashlib.sha256(server.pom.read_bytes())
    made_of.update(f"\0{version}\0{beam_installed()}".encode())
    name = f"beam-{beam_installed()}-{server.engine}-{version}-job-server.jar"
    return cache_folder() / f"{made_of.hexdigest()[:16]}-{name}"


def log_path(server: JobServer) -> Path:
    """The path of the last build's Maven log."""
    return cache_folder() / f"{server.engine}-build.log"


def _made(server: JobServer, engine_version: str | None, java: Java, console: Console | None) -> JobServerJar:
    """Build the jar with Maven, one process at a time; a process that waited uses the jar of the other."""
    _require_series(server, engine_version)
    require_maven(server)
    path = cached_path(server, engine_version)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path, console):
        if found := _kept(server, engine_version, None):
            return found
        for left in path.parent.glob(f"{_UNFINISHED}{path.name}-*"):  # by a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{_UNFINISHED}{path.name}-", dir=path.parent) as scratch:
            folder, log = Path(scratch), log_path(server)
            jar = _wanted(
                server, engine_version, published_jar(server, beam_installed(), folder, java, log, console)
            ) or build_jar(server, engine_version or server.engine_version, folder, java, log, console)
            require_fitting(jar, server, engine_version)
            _publish(jar, path)
    found = _kept(server, engine_version, console)
    if found is None:
        raise JobServerError(f"{path}: gone, or changed, as soon as it was built; is something else cleaning there?")
    return found


def _wanted(server: JobServer, engine_version: str | None, jar: Path | None) -> Path | None:
    """Beam's own jar, where it holds the engine's version that is wanted."""
    if jar is None:
        return None
    try:
        require_fitting(jar, server, engine_version)
    except JobServerError:
        return None
    return jar


def _require_series(server: JobServer, engine_version: str | None) -> None:
    if engine_version is None:
        return
    fixed = server.engine == "flink"  # Beam's runner brings its Flink; any of the series speaks with the cluster's
    if minor(engine_version) != server.engine_minor or (fixed and engine_version != server.engine_version):
        expected = server.engine_version if fixed else f"{server.engine_minor}.x, as the cluster has it"
        raise JobServerError(f"{server.title} {engine_version}: expected {expected}")


def _kept(server: JobServer, engine_version: str | None, console: Console | None) -> JobServerJar | None:
    """The jar of winnow's cache, if it is there and is still what Maven made."""
    path = cached_path(server, engine_version)
    if not path.is_file():
        return None
    checksum = path.with_name(path.name + CHECKSUM)
    expected = checksum.read_text("ascii", "replace").strip() if checksum.is_file() else None
    found = _digest(path)
    if expected != found:
        why = "its hash was not kept" if expected is None else f"its sha256 is {found}, expected {expected}"
        _say(console, f"engine  {path} is damaged ({why}); it is built again")
        return None
    return _checked(server, path, "in winnow's cache", engine_version, found)


def _checked(
    server: JobServer, path: Path, origin: Origin, engine_version: str | None, sha256: str | None = None
) -> JobServerJar:
    contents = require_fitting(path, server, engine_version)
    return JobServerJar(
        server=server,
        path=path,
        origin=origin,
        sha256=sha256 or _digest(path),
        beam_version=contents.beam_version or "",
        engine_version=contents.engine_version or "",
        opens=contents.opens,
    )


def _publish(jar: Path, path: Path) -> None:
    """Put the jar and its hash in place; a reader between the two takes the jar for damaged, and asks again alone."""
    checksum = jar.with_name(jar.name + CHECKSUM)
    checksum.write_text(_digest(jar), "ascii")
    for unfinished, target in ((checksum, path.with_name(path.name + CHECKSUM)), (jar, path)):
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        os.chmod(unfinished, 0o644)  # a shared cache is read by other users
        os.replace(unfinished, target)


@contextmanager
def _alone(path: Path, console: Console | None) -> Iterator[None]:
    """While no other process builds the same jar; the system lets go of the lock of one that dies."""
    with path.with_name(f".{path.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(console, "engine  another process is building this job server; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _say(console: Console | None, line: str) -> None:
    if console is not None:
        console.print(line, markup=False, soft_wrap=True)
