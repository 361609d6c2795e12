"""The files of the page, as they were built from `web`: all of them in memory, so that no request names a file."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from winnow.schemas.errors import WinnowError

BUILT: Final = Path(__file__).parents[1] / "built"

_TYPES: Final = {  # of those that a browser asks for
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".wasm": "application/wasm",
}


@dataclass(frozen=True)
class PageFile:
    """One file of the page."""

    content: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        """By gzip."""
        return gzip.compress(self.content, 9, mtime=0)


def page_files(folder: Path = BUILT) -> Mapping[str, PageFile]:
    """All files of the page by path; WinnowError if it was not built."""
    found = {
        file.relative_to(folder).as_posix(): PageFile(file.read_bytes(), _TYPES[file.suffix])
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix in _TYPES
    }
    if "index.html" not in found:
        raise WinnowError(f"{folder}: the page was not built; run: make web")
    return found
