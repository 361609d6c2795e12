"""The files of hosts that a fetch met, such as robots.txt, in the one file that `url.robots: {rules: …}` reads."""

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


def gather_host_files(objects: ObjectStore) -> None:
    """Put the lines of all tasks or segments into the one file: members of gzip, one after the other.

    It is empty where no host has such files, as a recipe may name it. Nothing is put if it has all lines already.
    """
    parts = [one for one in objects.list(FETCHED_HOSTS) if one.path.endswith(LINES) and one.path != HOST_FILES]
    if objects.exists(HOST_FILES) and objects.size(HOST_FILES) == sum(part.size for part in parts):
        return
    with temporary_folder("fetch") as folder:
        whole = Path(folder) / "host_files"
        with whole.open("wb") as out:
            for part in parts:
                with objects.open(part.path) as stream:
                    while piece := stream.read(_PIECE):
                        out.write(piece)
        objects.put(HOST_FILES, whole)
