"""The files of hosts that a fetch met, such as robots.txt, in the one file that `url.robots: {rules: …}` reads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.layout import FETCHED_HOSTS

LINES: Final = ".jsonl.gz"
HOST_FILES: Final = f"{FETCHED_HOSTS}host_files{LINES}"

_PIECE: Final = 1 << 20


def lines_path(name: str) -> str:
    """Where the lines of a task or a segment are, of which all together make the file."""
    return f"{FETCHED_HOSTS}{name}{LINES}"


def put_host_files(objects: ObjectStore, parts: Iterable[str]) -> None:
    """Put the lines of all parts into the one file: members of gzip, one after the other."""
    with temporary_folder("fetch") as folder:
        whole = Path(folder) / "host_files"
        with whole.open("wb") as out:
            for path in parts:
                with objects.open(path) as stream:
                    while piece := stream.read(_PIECE):
                        out.write(piece)
        objects.put(HOST_FILES, whole)
