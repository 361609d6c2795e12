"""Reads a job server's jar, and checks that winnow can use it."""

import re
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from winnow.filters.models.file_state import FileState, file_state
from winnow.runners.engines.java.server_kinds import JobServer, JobServerError, beam_installed, minor

_MANIFEST = "META-INF/MANIFEST.MF"
_BEAM = "org/apache/beam/sdk/sdk.properties"  # in every Beam jar that contains Beam's core
_MAX_BYTES = 1 << 20  # of an entry; real ones have a few kilobytes


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
