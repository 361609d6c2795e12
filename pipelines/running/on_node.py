"""What every task does on a machine that is not its driver's: it has the driver's versions, and its errors name it."""

import errno
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import apache_beam as beam

from winnow.pipelines.assets.node_files import this_node
from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.schemas.errors import WinnowError


def host_name() -> str:
    """This machine, as messages call it."""
    return platform.node()


@contextmanager
def naming_host(driver: str) -> Iterator[None]:
    """An error of the block names this machine, if the driver is on another one, whose versions `driver` gives."""
    if this_node() is None:
        yield
        return
    try:
        require_like_driver(driver)
        yield
    except Exception as error:
        _name_host(error)
        raise


def _name_host(error: Exception) -> None:
    """Put the machine's name before an error's message, so that it reaches the driver whatever engine carries it."""
    host = host_name()
    if f"{host}: " in str(error) or f" on {host} " in str(error):  # it is named already
        return
    if isinstance(error, OSError) and error.strerror is not None:  # which finds its words anew
        error.strerror = f"{error.strerror} on {host}{_room(error)}"
    elif isinstance(error, WinnowError) or (error.args and isinstance(error.args[0], str)):
        error.args = (f"{host}: {error.args[0] if error.args else ''}", *error.args[1:])
    else:
        error.args = (f"{host}: {error}",)


def _room(error: OSError) -> str:
    """Of a disk that is full, what to do: errors of writing name no file."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT) or error.filename is not None:
        return ""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        return ", where no folder for temporary files can be written; set TMPDIR to one that can"
    left = shutil.disk_usage(folder).free >> 20
    return f", where {folder} has {left:,} MiB left; free some there, or set TMPDIR, and run the same command again"


class OnNode(beam.DoFn):
    """A stage's own function, wherever it runs."""

    def __init__(self, runner: beam.DoFn) -> None:
        self._runner = runner
        self._driver = versions_here()

    def setup(self) -> None:
        """Prepare the process."""
        self._runner.setup()

    def process(self, element: bytes) -> Iterator[str]:
        """Run a task."""
        with naming_host(self._driver):
            yield from self._runner.process(element)
