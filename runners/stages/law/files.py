"""Reads and writes the files of `winnow law`: size limits when reading, atomic replacement when writing."""

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from winnow.pipelines.mix.laws import display_name, read_limited
from winnow.schemas.errors import WinnowError

MAX_CSV_BYTES: Final = 64 << 20


def read_text(name: str) -> str:
    """Read the text of a CSV file."""
    raw = read_limited(name, MAX_CSV_BYTES)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WinnowError(f"{display_name(name)}:{line}: not UTF-8 text; save the table as CSV in UTF-8") from None


def output_path(option: str, name: str | None) -> Path | None:
    """The path of an output file, checked to be writable before any work."""
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
        tried.write_bytes(b"")  # tried, as permissions alone are not conclusive for superusers and some file systems
        tried.unlink()
    except OSError as error:
        why = error.strerror or error
        raise WinnowError(f"{option} {name}: its folder cannot be written to ({why}); choose another") from None
    return file


def plot_path(option: str, name: str | None) -> Path | None:
    """The path of a plot, checked to be writable before any work."""
    file = output_path(option, name)
    if file is not None and file.suffix.lower() != ".svg":
        raise WinnowError(f"{option} {name}: only SVG is supported; give a file name that ends in .svg")
    return file


def require_distinct(*named: tuple[str, Path | None]) -> None:
    """Raise if an output would overwrite an input or another output."""
    seen: dict[Path, str] = {}
    for what, file in named:
        if file is None:
            continue
        if (other := seen.setdefault(file.resolve(), what)) != what:
            raise WinnowError(f"{what} {file}: is the same file as {other}; give another one")


def require_extra(what: str, package: str) -> None:
    """Raise if a required package is missing."""
    if importlib.util.find_spec(package) is None:
        raise WinnowError(f"{what} needs {package}: pip install 'winnow[law]'")


def write_file(file: Path, content: bytes) -> None:
    """Write a file atomically."""
    write_files([(file, content)])


def write_files(contents: Sequence[tuple[Path, bytes]]) -> None:
    """Write several files: all to temporary names first, then move them; WinnowError if one fails: then none is
    replaced."""
    unfinished = [
        file.with_name(f".{file.name[:60]}.{os.getpid()}.{number}") for number, (file, _) in enumerate(contents)
    ]
    try:
        for partial, (file, content) in zip(unfinished, contents, strict=True):
            with _errors_named(file):
                partial.write_bytes(content)
        for partial, (file, _) in zip(unfinished, contents, strict=True):
            with _errors_named(file):
                os.replace(partial, file)
    finally:
        for partial in unfinished:
            partial.unlink(missing_ok=True)


@contextmanager
def _errors_named(file: Path | str) -> Iterator[None]:
    """Report system errors with the user's file name instead of the temporary one."""
    try:
        yield
    except OSError as error:
        raise WinnowError(f"{file}: {error.strerror or error}") from None
