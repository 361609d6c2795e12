"""What the system refuses an export, in one line."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from winnow.schemas.errors import ExportError


@contextlib.contextmanager
def told(path: str | Path) -> Iterator[None]:
    """What the disk refuses, in one line."""
    try:
        yield
    except OSError as error:
        where = "" if error.filename is None or str(error.filename) == str(path) else f" ({error.filename})"
        raise ExportError(f"{path}: cannot be written: {error.strerror or error}{where}") from None


def taken(path: str | Path) -> ExportError:
    """Somebody else is at it."""
    return ExportError(f"{path}: another export is being written there; wait for it to end")
