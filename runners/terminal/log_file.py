"""The effect of `--quiet` and `--log-file`, set once per command; every console of the command follows it.

Imports nothing heavy: the command line reports errors through it before anything else is loaded.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.schemas.errors import WinnowError

LOG = logging.getLogger("winnow.terminal")
"""What commands print, a record a line; without a log file it has no handler, and nothing is recorded."""

_LINE = logging.Formatter("%(asctime)s  %(message)s", "%Y-%m-%d %H:%M:%S")
_UNNEEDED = "apache_beam/io/gcp/internal/clients"
"""Where Beam warns, whenever it is imported, that packages of Google's are missing; what needs them says so itself."""
_quiet = False


def is_quiet() -> bool:
    """Whether the command shows only errors and its requested output."""
    return _quiet


def say_error(line: str) -> None:
    """Print a line on the error output, even with `--quiet`, and log it."""
    print(line, file=sys.stderr, flush=True)
    if LOG.handlers:
        LOG.error(line)


@contextmanager
def command_output(*, quiet: bool = False, log_file: str | None = None) -> Iterator[None]:
    """Set what the consoles of a command follow; lines are added to an existing log file. WinnowError if it cannot
    be written."""
    global _quiet
    before, _quiet = _quiet, quiet
    try:
        if log_file is None:
            yield
        else:
            with _logged(_handler(Path(log_file))):
                yield
    finally:
        _quiet = before


@contextmanager
def _logged(handler: logging.Handler) -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    for other in root.handlers:  # the terminal's shows no more than before
        other.setLevel(max(other.level, level))
    root.addHandler(handler)  # what libraries warn of belongs into the file, too
    root.setLevel(min(level, logging.WARNING))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    LOG.info("winnow %s", " ".join(sys.argv[1:]))
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()


def _handler(file: Path) -> logging.Handler:
    if file.exists() and not file.is_file():
        raise WinnowError(f"--log-file {file}: is not a regular file; give a file name")
    try:
        handler = logging.FileHandler(file, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise WinnowError(f"--log-file {file}: cannot be written: {error.strerror or error}") from None
    handler.setFormatter(_LINE)
    handler.addFilter(lambda record: _UNNEEDED not in Path(record.pathname).as_posix())
    return handler
