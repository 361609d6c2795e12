"""Finds an installed Java, and reports in one line what is wrong with it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from winnow.filters.models.file_state import FileState, file_state
from winnow.runners.engines.java.server_kinds import JAVA_VERSIONS, JobServer, JobServerError

PACKAGE = "openjdk-17-jre-headless"
"""A runtime is enough, as neither winnow nor Maven compiles anything."""

LAUNCHER_FLAG = "--job_server_java_launcher"

_ANSWER_SECONDS = 60  # enough for a cold disk
_NEEDED = " or ".join(str(major) for major in JAVA_VERSIONS)
INSTALLED = Path("/usr/lib/jvm")
"""Where Linux distributions install Java."""


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java and its version."""

    path: Path  # of its launcher
    version: str  # as reported: 17.0.15, 1.8.0_392, 21-ea
    vendor: str  # as reported; may be empty
    home: Path | None
    found_by: str  # JAVA_HOME, PATH, or a flag

    @property
    def major(self) -> int:
        """17 of 17.0.15, 8 of 1.8.0_392."""
        return major_version(self.version)

    def __str__(self) -> str:
        return f"Java {self.version}{f' ({self.vendor})' if self.vendor else ''} at {self.path} by {self.found_by}"


def version_in(output: str) -> str | None:
    """The version in the output of `java -version`, of any vendor."""
    found = re.search(r'^\S+ version "(\d[^"]*)"', output, re.MULTILINE)
    return found[1] if found else None


def major_version(version: str) -> int:
    """The major version; up to Java 8 it is the second number."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def find_java(launcher: str | None = None) -> Java:
    """The Java for job servers: the named launcher, else the one in JAVA_HOME, else on PATH; JobServerError if none
    can run."""
    home = os.environ.get("JAVA_HOME")
    if launcher:
        found_by, named = LAUNCHER_FLAG, shutil.which(launcher)
        absent = f"{LAUNCHER_FLAG}={launcher}: no such program"
    elif home:
        found_by, named = "JAVA_HOME", shutil.which(Path(home).expanduser() / "bin" / "java")
        absent = f"JAVA_HOME={home} does not contain bin/java"
    else:
        found_by, named = "PATH", shutil.which("java")
        absent = "Java was not found: JAVA_HOME is not set and java is not on PATH"
    if named is None:
        raise JobServerError(f"{absent}; Spark and Flink need Java {_NEEDED}: {_remedy(found_by)}")
    return _read_java(Path(named).absolute(), found_by, file_state(named))


def require_java(server: JobServer, launcher: str | None = None) -> Java:
    """A Java that the engine supports; JobServerError if there is none, or it cannot run."""
    return require_supported(find_java(launcher), server)


def require_supported(java: Java, server: JobServer) -> Java:
    """Return the Java, or raise a JobServerError if the engine does not support its version."""
    if java.major not in JAVA_VERSIONS:
        raise JobServerError(
            f"found {java}; {server.title} {server.engine_minor} needs Java {_NEEDED}: {_remedy(java.found_by)}"
        )
    return java


@lru_cache(maxsize=8)
def _read_java(path: Path, found_by: str, _: FileState) -> Java:
    """What a launcher says of itself, cached while the file is unchanged: a command looks for Java twice."""
    command = [str(path), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise JobServerError(
            f"{path} ({found_by}) did not report its version within {_ANSWER_SECONDS} s; {_remedy(found_by)}"
        ) from None
    except OSError as error:
        raise JobServerError(f"{path} ({found_by}) cannot be run: {error.strerror}; {_remedy(found_by)}") from None
    output = done.stderr + done.stdout
    version = version_in(output)
    if done.returncode != 0 or version is None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        why = lines[0][:200] if lines else f"it ended with status {done.returncode}"
        raise JobServerError(f"{path} ({found_by}) is not a working Java: {why}; {_remedy(found_by)}")
    home = _java_property("java.home", output)
    return Java(path, version, _java_property("java.vendor", output) or "", Path(home) if home else None, found_by)


def _java_property(name: str, output: str) -> str | None:
    found = re.search(rf"^\s+{re.escape(name)} = (.+)$", output, re.MULTILINE)
    return found[1].strip() if found else None


def _remedy(found_by: str) -> str:
    """Advice: use a suitable Java that is installed, or install one."""
    if home := _installed():
        return f"{LAUNCHER_FLAG}={home}/bin/java is one" if found_by == LAUNCHER_FLAG else f"export JAVA_HOME={home}"
    where = f"let {LAUNCHER_FLAG}" if found_by == LAUNCHER_FLAG else "let JAVA_HOME"
    return f"apt-get install {PACKAGE} (or any other build of Java 17), or {where} name one"


def _installed() -> Path | None:
    """The newest suitable Java of the system, by the file `release` in its folder."""
    found: list[tuple[int, Path]] = []
    for home in sorted(INSTALLED.glob("*")):
        try:
            output = re.search(
                r'^JAVA_VERSION="(\d[^"]*)"', (home / "release").read_text("utf-8", "replace"), re.MULTILINE
            )
        except OSError:
            continue
        if output and major_version(output[1]) in JAVA_VERSIONS and os.access(home / "bin" / "java", os.X_OK):
            found.append((major_version(output[1]), home))
    return max(found, key=lambda one: one[0])[1] if found else None
