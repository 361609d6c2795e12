"""Pictures and videos that kill the process that decodes them, by a module that Python imports at its start."""

import os
import sys
from pathlib import Path

import pytest

SITE = """
import ctypes, os, sys

if "winnow.pipelines.decoding.decoding_process" in sys.orig_argv:
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

if "winnow.pipelines.decoding.videos.watching_process" in sys.orig_argv:
    from winnow.filters.video.decode import watching

    signals = watching.VideoPass.signals

    def die(mark):
        if b"(fault)" in mark:
            ctypes.string_at(0)
        if b"(once)" in mark and not os.path.exists(__file__ + ".died"):
            open(__file__ + ".died", "w").close()
            ctypes.string_at(0)
        if b"(memory)" in mark:
            bytearray(1 << 36)
        if b"(defect)" in mark:
            raise KeyError("of ours")

    def deadly(self):
        self.file.seek(-16, 2)
        mark = self.file.read(16)
        self.file.seek(0)
        for given in signals(self):
            yield given
            die(mark)
        die(mark)

    watching.VideoPass.signals = deadly

    from winnow.filters.video.clips import cutting

    cut = cutting.cut

    def deadly_cut(file, *args):
        file.seek(-16, 2)
        die(file.read(16))
        return cut(file, *args)

    cutting.cut = deadly_cut
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
