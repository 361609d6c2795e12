"""Checks that a worker and its driver have the same versions, and tells workers the driver's folder.

Functions travel between them pickled, not as source; paths travel as the user wrote them.
"""

import json
import os
import platform
import sys
from functools import cache
from importlib.metadata import version

from apache_beam.options.pipeline_options import PipelineOptions

from winnow.pipelines.assets.node_files import OPTION as NODE_OPTION
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.errors import StageError

OPTION = "winnow_driver"
FOLDER_OPTION = "winnow_folder"


def driver_settings(node: str) -> dict[str, object]:
    """The options that tell workers of their driver; `node`: what those on other machines need."""
    return {OPTION: versions_here(), FOLDER_OPTION: os.getcwd(), NODE_OPTION: node}


class DriverOptions(PipelineOptions):
    """Options that the driver passes to workers on other machines, beside Beam's own."""

    @classmethod
    def _add_argparse_args(cls, parser) -> None:  # type: ignore[no-untyped-def]  # Beam's own parser has no types
        parser.add_argument(f"--{OPTION}", default=None, help="What the driver is made of; set by winnow.")
        parser.add_argument(f"--{FOLDER_OPTION}", default=None, help="The driver's folder; set by winnow.")
        parser.add_argument(f"--{NODE_OPTION}", default=None, help="What other machines need; set by winnow.")


@cache
def versions_here() -> str:
    """This process's versions, as far as they matter to pickled functions."""
    python = ".".join(str(part) for part in sys.version_info[:2])
    return f"winnow {winnow_version()}, apache-beam {version('apache-beam')}, Python {python}"


def unlike_driver(theirs: str | None) -> str | None:
    """How this worker's versions differ from its driver's; None if they agree."""
    ours = versions_here()
    if theirs is None or theirs == ours:
        return None
    return (
        f"a worker on {platform.node()} has {ours} (in {sys.prefix}), but its driver has {theirs}; install the same "
        "versions on both"
    )


def require_like_driver(theirs: str | None) -> None:
    """Refuses to work for a driver with other versions (StageError)."""
    if difference := unlike_driver(theirs):
        raise StageError(difference)


def enter_folder(options: str) -> None:
    """Changes to the driver's folder (in `options`, as JSON), if this machine has it: relative paths start there."""
    folder = json.loads(options).get(f"beam:option:{FOLDER_OPTION}:v1")
    if isinstance(folder, str) and os.path.isdir(folder):
        os.chdir(folder)
