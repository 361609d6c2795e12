"""The one folder for temporary files of all of a user's runs: `winnow-<uid>` in the system's temporary folder (TMPDIR).

What lies in it is run (compiled kernels) or has text of a crawl, so only its user may read or write it.
"""

import os
import tempfile
from pathlib import Path

RUN_FOLDER_VARIABLE = "WINNOW_RUN_FOLDER"
"""The folder of the running command, for the processes that it starts; TMPDIR points there as well."""

_PRIVATE = 0o700
_OTHERS = 0o077
_OTHERS_WRITE = 0o022


def temporary_root() -> Path:
    """The folder, made on first use; another one of this user's if somebody else has taken its name."""
    run = os.environ.get(RUN_FOLDER_VARIABLE)
    if run is not None and tempfile.gettempdir() == run:
        return Path(run).parent
    system = Path(tempfile.gettempdir())
    name = f"winnow-{os.getuid()}"
    usual = system / name
    try:
        usual.mkdir(mode=_PRIVATE)
    except FileExistsError:
        for folder in (usual, *sorted(system.glob(f"{name}-*"))):
            if _is_private(folder):
                return folder
        return Path(tempfile.mkdtemp(prefix=f"{name}-"))
    return usual


def _is_private(folder: Path) -> bool:
    """Whether nobody else could have put anything into it; reading by others is stopped here."""
    try:
        status = folder.lstat()  # of a link, not of what it points to
        if not folder.is_dir() or folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
            return False
        if status.st_mode & _OTHERS:
            folder.chmod(_PRIVATE)
    except OSError:  # removed since it was listed
        return False
    return True
