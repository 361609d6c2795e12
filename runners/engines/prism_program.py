"""Finds Beam's program `prism`. Unlike Beam, winnow never downloads it."""

import os
import shutil
from pathlib import Path

from winnow.runners.engines.java.server_kinds import beam_installed
from winnow.schemas.errors import WinnowError

PROGRAM = "prism"
_FLAG = "--prism_location"


def find_prism(named: str | None) -> Path:
    """The named Prism, or else the one on PATH, in GOBIN or in Go's default folder; WinnowError if there is none."""
    remedy = f"go install github.com/apache/beam/sdks/v2/go/cmd/prism@v{beam_installed()}"
    if named:
        given = Path(named).expanduser()
        if given.is_file() and os.access(given, os.X_OK):
            return given.absolute()
        raise WinnowError(f"{_FLAG}={named}: no such program; give the path of one installed by: {remedy}")
    homes = [os.environ.get("GOBIN"), *(f"{path}/bin" for path in os.environ.get("GOPATH", "").split(":") if path)]
    places = [os.environ.get("PATH", os.defpath), *(home for home in homes if home), str(Path.home() / "go" / "bin")]
    if found := shutil.which(PROGRAM, path=os.pathsep.join(places)):
        return Path(found).absolute()
    raise WinnowError(f"no {PROGRAM} on PATH or in GOBIN; {remedy}, or set {_FLAG}=/path/of/prism after '--'")
