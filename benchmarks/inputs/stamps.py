"""Drawings and photographs with captions in many languages, in folders by what they show: a drawing program's stamps.

    python -m benchmarks.inputs.stamps

`tuxpaint-stamps-default` (Debian; GPL-2) holds pictures of animals, food, vehicles, … with captions in up to 78
languages. It comes through the system's own package tool, and is unpacked once, under `.cache/benchmarks`.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.inputs.pages import CACHE, unpacked_packages

PACKAGE: Final = "tuxpaint-stamps-default"
FOLDER: Final = "usr/share/tuxpaint/stamps"
ENGLISH: Final = "en"
_LEFT_OUT: Final = "symbols"  # letters, coins and flags


@dataclass(frozen=True, slots=True)
class Stamp:
    """A picture with its captions by language; English is what stands in the first line."""

    image: bytes
    captions: dict[str, str]


def stamps_folder(cache: Path = CACHE) -> Path:
    """Where the stamps are, in folders by what they show."""
    return unpacked_packages([PACKAGE], "stamps", "stamps-packages", cache) / FOLDER


def stamps(most: int | None = None, cache: Path = CACHE) -> list[Stamp]:
    """Pictures of things, in an order by hashes."""
    folder = stamps_folder(cache)
    found = [
        (hashlib.blake2b(str(path.relative_to(folder)).encode()).digest(), path)
        for path in folder.rglob("*.png")
        if path.with_suffix(".txt").is_file() and path.relative_to(folder).parts[0] != _LEFT_OUT
    ]
    chosen = [path for _, path in sorted(found)][:most]
    return [Stamp(path.read_bytes(), captions_of(path.with_suffix(".txt").read_bytes())) for path in chosen]


def captions_of(content: bytes) -> dict[str, str]:
    """The captions of a stamp: the first line, and lines such as `fr.utf8=Un chat.`."""
    lines = content.decode("utf-8", "replace").splitlines()
    named = (line.partition(".utf8=") for line in lines[1:])
    found = {language: caption.strip() for language, _, caption in named if caption.strip()}
    return {ENGLISH: lines[0].strip(), **found} if lines and lines[0].strip() else found


if __name__ == "__main__":
    print(stamps_folder())
