"""Finds or builds the jar of an engine's job server, and checks what it contains.

The search order is: the file that the user names (by Beam's flag or the engine's environment variable), Beam's own jar
in Beam's cache, and winnow's cache (`$WINNOW_ENGINES`, or the user's cache folder). If none is found, Maven downloads
Beam's own jar for the installed Beam version, or builds one if none is published. The result is cached under a hash of
its inputs, together with its SHA-256, which is verified on every use.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rich.console import Console

from winnow.filters.models.file_state import FileState, file_state
from winnow.runners.engines.java.installed_java import Java, require_java
from winnow.runners.engines.java.maven import build_jar, published_jar, require_maven
from winnow.runners.engines.java.server_kinds import (
    SERVERS,
    EngineName,
    JobServer,
    JobServerError,
    beam_installed,
    minor,
)
from winnow.runners.terminal.console import TerminalConsole

FOLDER_VARIABLE = "WINNOW_ENGINES"
CHECKSUM = ".sha256"

Origin = Literal["given", "in Beam's cache", "in winnow's cache"]

_BEAM_CACHE = "~/.apache_beam/cache/jars"
_JVM_FLAG = "--job_server_jvm_properties"
_UNFINISHED = ".unfinished-"
_OPENED = (  # packages that Spark and Flink access on Java 11 and 17; winnow's own jars declare them in their manifest
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

_MANIFEST = "META-INF/MANIFEST.MF"
_BEAM = "org/apache/beam/sdk/sdk.properties"  # in every Beam jar that contains Beam's core
_MAX_BYTES = 1 << 20  # of an entry; real ones have a few kilobytes


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
    """Return an engine's job server, built if necessary, and the Java to run it with.

    `given` and `launcher`: the jar and the Java named by Beam's flags; a given jar is the only candidate, and the
    flag's default, `java`, counts as not set. `engine_version`: the exact version that the jar must contain, such as a
    cluster's. `beam_cache`: the folder of Beam's jars, if set by Beam's flag. JobServerError, with what to do, if
    something is missing or unsuitable.
    """
    server = SERVERS[engine]
    console = console or TerminalConsole(stderr=True)
    java = require_java(server, None if launcher == "java" else launcher)
    found = find_jar(server, given, engine_version=engine_version, beam_cache=beam_cache, console=console)
    return found or _built_jar(server, engine_version, java, console), java


def find_jar(
    server: JobServer,
    given: str | None = None,
    *,
    engine_version: str | None = None,
    beam_cache: str | None = None,
    console: Console | None = None,
) -> JobServerJar | None:
    """Find a job server on this machine and check it; None if it must be built. JobServerError if the named jar is
    unusable."""
    named = given or os.environ.get(server.variable)
    if named:
        by = server.flag if given else server.variable
        if "://" in named:
            raise JobServerError(f"{by}={named}: expected a local file; download it and give its path")
        try:
            return _checked_jar(server, Path(named).expanduser().absolute(), "given", engine_version)
        except JobServerError as error:
            raise JobServerError(
                f"{by}: {error}; give another jar, or remove the setting to let winnow find or build one"
            ) from None
    beams = Path(beam_cache or _BEAM_CACHE).expanduser() / f"{server.artifact}-{beam_installed()}.jar"
    if beams.is_file():
        try:
            return _checked_jar(server, beams, "in Beam's cache", engine_version)
        except JobServerError as error:
            _print(console, f"engine  skipped: {error}")
    return _cached_jar(server, engine_version, console)


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


def _built_jar(server: JobServer, engine_version: str | None, java: Java, console: Console | None) -> JobServerJar:
    """Build the jar with Maven. Only one process builds; the others wait and use its jar."""
    _require_series(server, engine_version)
    require_maven(server)
    path = cached_path(server, engine_version)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _build_lock(path, console):
        if found := _cached_jar(server, engine_version, None):
            return found
        for left in path.parent.glob(f"{_UNFINISHED}{path.name}-*"):  # left by a killed build
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{_UNFINISHED}{path.name}-", dir=path.parent) as scratch:
            folder, log = Path(scratch), log_path(server)
            jar = _jar_with_version(
                server, engine_version, published_jar(server, beam_installed(), folder, java, log, console)
            ) or build_jar(server, engine_version or server.engine_version, folder, java, log, console)
            require_compatible_jar(jar, server, engine_version)
            _publish(jar, path)
    found = _cached_jar(server, engine_version, console)
    if found is None:
        raise JobServerError(
            f"{path}: removed or changed right after it was built; check whether another program cleans this folder"
        )
    return found


def _jar_with_version(server: JobServer, engine_version: str | None, jar: Path | None) -> Path | None:
    """The jar if it has the requested engine version, else None."""
    if jar is None:
        return None
    try:
        require_compatible_jar(jar, server, engine_version)
    except JobServerError:
        return None
    return jar


def _require_series(server: JobServer, engine_version: str | None) -> None:
    if engine_version is None:
        return
    fixed = server.engine == "flink"  # the jar includes Flink, which works with any cluster of its minor version
    if minor(engine_version) != server.engine_minor or (fixed and engine_version != server.engine_version):
        expected = server.engine_version if fixed else f"{server.engine_minor}.x, the version of the cluster"
        raise JobServerError(f"{server.title} {engine_version}: expected {expected}")


def _cached_jar(server: JobServer, engine_version: str | None, console: Console | None) -> JobServerJar | None:
    """The jar in winnow's cache, if it exists and its checksum matches."""
    path = cached_path(server, engine_version)
    if not path.is_file():
        return None
    checksum = path.with_name(path.name + CHECKSUM)
    expected = checksum.read_text("ascii", "replace").strip() if checksum.is_file() else None
    found = _digest(path)
    if expected != found:
        why = "its checksum is missing" if expected is None else f"its sha256 is {found}, expected {expected}"
        _print(console, f"engine  {path} is damaged ({why}); it is built again")
        return None
    return _checked_jar(server, path, "in winnow's cache", engine_version, found)


def _checked_jar(
    server: JobServer, path: Path, origin: Origin, engine_version: str | None, sha256: str | None = None
) -> JobServerJar:
    contents = require_compatible_jar(path, server, engine_version)
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
    """Move the checksum and the jar into the cache. A reader between both moves sees a damaged jar and checks again."""
    checksum = jar.with_name(jar.name + CHECKSUM)
    checksum.write_text(_digest(jar), "ascii")
    for unfinished, target in ((checksum, path.with_name(path.name + CHECKSUM)), (jar, path)):
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        os.chmod(unfinished, 0o644)  # a shared cache is read by other users
        os.replace(unfinished, target)


@contextmanager
def _build_lock(path: Path, console: Console | None) -> Iterator[None]:
    """Hold the lock for building this jar. The system releases the lock of a process that dies."""
    with path.with_name(f".{path.name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _print(console, "engine  another process is building this job server; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _print(console: Console | None, line: str) -> None:
    if console is not None:
        console.print(line)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a jar's entries state; None if missing."""

    main_class: str | None
    beam_version: str | None
    engine_version: str | None
    opens: bool  # whether its manifest opens Java's modules, so that no JVM flags are needed


def read_contents(jar: Path, server: JobServer) -> Contents:
    """Read a jar's metadata, cached while the file is unchanged, as it has a hundred thousand entries;
    JobServerError for other files."""
    try:
        return _contents_of(jar, server, file_state(str(jar)))
    except FileNotFoundError:
        raise JobServerError(f"{jar}: no such file") from None


@lru_cache(maxsize=8)
def _contents_of(jar: Path, server: JobServer, _: FileState) -> Contents:
    try:
        with zipfile.ZipFile(jar) as archive:
            manifest = _entry(archive, _MANIFEST).replace("\r\n", "\n").replace("\n ", "")
            beam = _entry(archive, _BEAM)
            engine = _entry(archive, server.engine_word)
    except IsADirectoryError:
        raise JobServerError(f"{jar}: a folder; expected a jar") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise JobServerError(f"{jar}: not a complete jar ({str(error).lower()})") from None
    return Contents(
        main_class=_value(manifest, "Main-Class", ":"),
        beam_version=_value(beam, "version", "="),
        engine_version=_value(engine, server.engine_key, "="),
        opens=_value(manifest, "Add-Opens", ":") is not None,
    )


def require_compatible_jar(jar: Path, server: JobServer, engine_version: str | None = None) -> Contents:
    """The contents of a jar, checked to be the engine's job server in a supported version; else JobServerError.

    `engine_version`: the exact version of the engine; None for any with the same minor version.
    """
    contents = read_contents(jar, server)
    title = f"{server.title}'s job server"
    if contents.main_class is None:
        raise JobServerError(f"{jar}: not {title}: its manifest has no Main-Class (expected {server.main_class})")
    if contents.main_class != server.main_class:
        raise JobServerError(
            f"{jar}: not {title}: its Main-Class is {contents.main_class[:200]}, expected {server.main_class}"
        )
    oldest, newest = server.beam_version, beam_installed()
    if contents.beam_version is None or not _numbers(oldest) <= _numbers(contents.beam_version) <= _numbers(newest):
        found = contents.beam_version or "of an unknown version"
        raise JobServerError(
            f"{jar}: built for Beam {found}; expected Beam {oldest} to {newest}, as apache-beam {newest} is installed"
        )
    wanted = engine_version or server.engine_minor
    found = contents.engine_version or ""
    if (found if engine_version else minor(found)) != wanted:
        raise JobServerError(f"{jar}: {server.title} {found or 'of unknown version'} is inside; expected {wanted}")
    return contents


def _entry(archive: zipfile.ZipFile, name: str) -> str:
    """The text of a small entry; empty if there is none."""
    try:
        with archive.open(name) as stream:
            return stream.read(_MAX_BYTES).decode("utf-8", "replace")
    except KeyError:
        return ""


def _value(text: str, key: str, separator: str) -> str | None:
    found = re.search(rf"^{re.escape(key)}\s*{separator}\s*(\S+)", text, re.MULTILINE)
    return found[1] if found else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
