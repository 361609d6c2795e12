"""Packs the installed winnow as a wheel, for workers on machines without it.

The wheel contains what `import winnow` finds here, from a wheel or a checkout, so that workers run exactly the code of
their driver. Nothing is built or downloaded.
"""

import base64
import hashlib
import os
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.metadata import distribution
from pathlib import Path

from winnow.schemas.environment.version import winnow_version

_BORN = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal files give equal wheels
_LEFT_OUT = {"__pycache__"}


def pack(folder: Path) -> Path:
    """Write the wheel into a folder."""
    version = winnow_version()
    about = f"winnow-{version}.dist-info"
    wheel = folder / f"winnow-{version}-py3-none-any.whl"
    record: list[str] = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (*_sources(), *_metadata_files(about)):
            archive.writestr(zipfile.ZipInfo(name, _BORN), content, zipfile.ZIP_DEFLATED)
            record.append(f"{name},sha256={_digest(content)},{len(content)}")
        lines = "\n".join([*record, f"{about}/RECORD,,\n"])
        archive.writestr(zipfile.ZipInfo(f"{about}/RECORD", _BORN), lines, zipfile.ZIP_DEFLATED)
    return wheel


def _sources() -> Iterator[tuple[str, bytes]]:
    """Every file of the package; in a checkout its folders are symbolic links."""
    root = Path(str(resources.files("winnow")))
    for folder, below, files in os.walk(root, followlinks=True):
        below[:] = sorted(name for name in below if name not in _LEFT_OUT)
        for name in sorted(files):
            path = Path(folder) / name
            yield f"winnow/{path.relative_to(root).as_posix()}", path.read_bytes()


def _metadata_files(about: str) -> Iterator[tuple[str, bytes]]:
    installed = distribution("winnow")
    metadata = installed.read_text("METADATA") or installed.read_text("PKG-INFO") or ""  # the latter of a checkout
    yield f"{about}/METADATA", metadata.encode()
    yield f"{about}/entry_points.txt", (installed.read_text("entry_points.txt") or "").encode()
    yield f"{about}/WHEEL", b"Wheel-Version: 1.0\nGenerator: winnow\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
