"""Turns errors of the system during an export into one line."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from winnow.schemas.errors import ExportError


@contextlib.contextmanager
def disk_errors(path: str | Path) -> Iterator[None]:
    """Turns errors of the disk into one line."""
    try:
        yield
    except OSError as error:
        where = "" if error.filename is None or str(error.filename) == str(path) else f" ({error.filename})"
        raise ExportError(f"{path}: cannot be written: {error.strerror or error}{where}") from None


def in_use_error(path: str | Path) -> ExportError:
    """The error for a place that another writer has locked."""
    return ExportError(f"{path}: another export is being written there; wait for it to end")
