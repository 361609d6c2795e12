"""Writes the demo's files: an interrupted run is completed, and files that are not the demo's are left unchanged."""

from collections.abc import Mapping
from pathlib import Path

from winnow.schemas.errors import SourceError


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files, by their paths in the folder, unless they exist; SourceError if one exists with other
    content."""
    for path, content in sorted(files.items()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            if target.read_bytes() != content:
                raise SourceError(f"{target}: exists and is not the demo's; remove it or choose another folder")
            continue
        unfinished = target.with_name(target.name + ".unfinished")  # so that a killed run leaves no partial file
        unfinished.write_bytes(content)
        unfinished.replace(target)
