"""Files that `winnow law` reads and writes: bounded in, whole or not at all out."""

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from winnow.schemas.errors import WinnowError
from winnow.schemas.law import MAX_LAW_BYTES, ScalingLaw, law_from_json

STDIN: Final = "-"
MAX_CSV_BYTES: Final = 64 << 20


def read_law(name: str) -> ScalingLaw:
    """The law in a file."""
    return law_from_json(_read(name, MAX_LAW_BYTES), name)


def read_text(name: str) -> str:
    """The text of a CSV file."""
    raw = _read(name, MAX_CSV_BYTES)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WinnowError(f"{display_name(name)}:{line}: not UTF-8 text; save the table as CSV in UTF-8") from None


def display_name(name: str) -> str:
    """What messages call a file."""
    return "stdin" if name == STDIN else name


def _read(name: str, most: int) -> bytes:
    if name == STDIN:
        raw = sys.stdin.buffer.read(most + 1)
    else:
        file = Path(name)
        if file.exists() and not file.is_file():
            raise WinnowError(f"{name}: is not a regular file; give a file name")
        with open(file, "rb") as stream:
            raw = stream.read(most + 1)
    if len(raw) > most:
        raise WinnowError(f"{display_name(name)}: more than {most >> 20} MiB; this is no such table or law")
    return raw


def output_path(option: str, name: str | None) -> Path | None:
    """Where an output goes; refused before any work where it cannot."""
    if name is None:
        return None
    file = Path(name)
    with _errors_named(f"{option} {name}"):
        other = file.exists() and not file.is_file()
    if other:
        raise WinnowError(f"{option} {name}: is not a regular file; give a file name")
    if not file.parent.is_dir():
        raise WinnowError(f"{option} {name}: its folder does not exist; create it first")
    tried = file.with_name(f".{file.name[:60]}.{os.getpid()}")
    try:
        tried.write_bytes(b"")  # permissions alone do not say it: of a superuser, or of a file system
        tried.unlink()
    except OSError as error:
        why = error.strerror or error
        raise WinnowError(f"{option} {name}: its folder cannot be written to ({why}); choose another") from None
    return file


def plot_path(option: str, name: str | None) -> Path | None:
    """Where a plot goes; refused before any work where it cannot."""
    file = output_path(option, name)
    if file is not None and file.suffix.lower() != ".svg":
        raise WinnowError(f"{option} {name}: draws SVG only; give a file whose name ends with .svg")
    return file


def require_distinct(*named: tuple[str, Path | None]) -> None:
    """Refuse outputs that would overwrite an input, or one another."""
    seen: dict[Path, str] = {}
    for what, file in named:
        if file is None:
            continue
        if (other := seen.setdefault(file.resolve(), what)) != what:
            raise WinnowError(f"{what} {file}: is also {other}; give it a file of its own")


def require_extra(what: str, package: str) -> None:
    """Refuse work that needs a package which is not there."""
    if importlib.util.find_spec(package) is None:
        raise WinnowError(f"{what} needs {package}: pip install 'winnow[law]'")


def write_file(file: Path, content: bytes) -> None:
    """Write a file beside its place and move it there."""
    write_files([(file, content)])


def write_files(contents: Sequence[tuple[Path, bytes]]) -> None:
    """Write files beside their places, and move them there once all are whole.

    Raises:
        WinnowError: One cannot be written; then none is.
    """
    unfinished = [
        file.with_name(f".{file.name[:60]}.{os.getpid()}.{number}") for number, (file, _) in enumerate(contents)
    ]
    try:
        for beside, (file, content) in zip(unfinished, contents, strict=True):
            with _errors_named(file):
                beside.write_bytes(content)
        for beside, (file, _) in zip(unfinished, contents, strict=True):
            with _errors_named(file):
                os.replace(beside, file)
    finally:
        for beside in unfinished:
            beside.unlink(missing_ok=True)


@contextmanager
def _errors_named(file: Path | str) -> Iterator[None]:
    """Faults of the system by the name that the user gave, not by that of the file beside."""
    try:
        yield
    except OSError as error:
        raise WinnowError(f"{file}: {error.strerror or error}") from None
