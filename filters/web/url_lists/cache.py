"""Cache of users' compiled lists: in files named by content hash, or in memory if files cannot be written.

Any number of processes may load the same list at once. Each that finds none compiles it, and the last to finish writes
the same bytes to the same place.
"""

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path

from winnow.filters.models.file_state import FileState, file_state
from winnow.filters.web.url_lists.index import FORMAT, UrlIndex, is_index, open_index, write_index
from winnow.filters.web.url_lists.reading import read_list
from winnow.filters.web.urls import psl_version
from winnow.schemas.errors import RecipeError

FOLDER_VARIABLE = "WINNOW_ASSETS"
"""The folder of assets; compiled lists are in a sibling folder."""

_PRIVATE = 0o700


def load_list(path: str) -> UrlIndex:
    """Load a list: open a compiled one, or compile a text list unless it is cached.

    Raises:
        RecipeError: It cannot be read, is damaged or is not a list.
    """
    try:
        return _loaded(file_state(path))
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected a list of addresses") from None


@lru_cache(maxsize=16)
def _loaded(file: FileState) -> UrlIndex:
    if is_index(file.path):
        return open_index(file.path)
    return _of_text(file.path)


def _of_text(path: str) -> UrlIndex:
    with open(path, "rb") as stream:
        content = hashlib.file_digest(stream, "sha256").hexdigest()
        folder = lists_folder()
        kept = None if folder is None else folder / f"{content[:32]}-{psl_version()}-{FORMAT}.list"
        if kept is not None and kept.is_file():
            try:
                return open_index(kept)
            except RecipeError:
                pass  # damaged: compiled again and replaced
        stream.seek(0)
        index = read_list(stream, path)
        stream.seek(0)
        if hashlib.file_digest(stream, "sha256").hexdigest() != content:
            raise RecipeError(f"{path}: changed while it was read; run again")
    return index if kept is None else _keep(index, kept)


def _keep(index: UrlIndex, target: Path) -> UrlIndex:
    """Write the list and map it from its file; if it cannot be written, return it as it is."""
    try:
        handle, scratch = tempfile.mkstemp(prefix=".unfinished-", dir=target.parent)
        os.close(handle)
        try:
            write_index(index, Path(scratch))
            os.replace(scratch, target)
        finally:
            Path(scratch).unlink(missing_ok=True)
        return open_index(target)
    except (OSError, RecipeError):
        return index


def lists_folder() -> Path | None:
    """The user's folder for compiled lists; None if it cannot be written."""
    named = os.environ.get(FOLDER_VARIABLE)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        assets = Path(named) if named else caches / "winnow" / "assets"
        folder = assets.expanduser().with_name("lists")
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        own = folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    except (OSError, RuntimeError):  # the latter without a home folder
        return None
    return folder if own else None
