"""Pictures that kill the process that decodes them, by a module that Python imports at its start."""

import os
import sys
from pathlib import Path

import pytest

SITE = """
import ctypes, os, sys

if "winnow.pipelines.media.decoding_process" in sys.orig_argv:
    import simplejpeg

    decode = simplejpeg.decode_jpeg

    def deadly(data, *args, **options):
        if b"(fault)" in data:
            ctypes.string_at(0)
        if b"(abort)" in data:
            os.abort()
        if b"(hang)" in data:
            while True:
                pass
        if b"(memory)" in data:
            bytearray(1 << 36)
        if b"(defect)" in data:
            raise KeyError("of ours")
        return decode(data, *args, **options)

    simplejpeg.decode_jpeg = deadly
"""


def arm(folder: Path) -> dict[str, str]:
    """Writes the module; returns the environment in which commands import it."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SITE)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}


def arm_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for processes that this one, or its workers, start to decode."""
    for name, value in arm(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
