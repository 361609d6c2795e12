"""Writes lists of PDQ hashes: of the pictures of a folder, or of those that a store has measured.

Pictures are decoded under the same limits as in a store. Those that cannot be decoded, and flat ones, whose hashes
match strangers, are left out and counted by reason.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from winnow.filters.duplicates.perceptual.pdq import MIN_QUALITY, pdq
from winnow.runners.stages.lists.pictures import Listed, is_of_store, items_of_store, pictures_of_folder, say_listed
from winnow.runners.stages.lists.whole_file import require_writable

LAYER = "image.pdq"
FLAT = "flat"

Found = tuple[str, bytes | None, str]
"""A picture's name, and its hash or why it has none."""


def write_hash_list(place: str, output: Path, console: Console) -> int:
    """Write the list, in the order of names, and say how many pictures it has."""
    require_writable("--output", output)
    left_out: Counter[str] = Counter()
    lines = []
    for name, digest, reason in _of_store(place) if is_of_store(place) else _of_folder(Path(place)):
        if digest is None:
            left_out[reason] += 1
        else:
            lines.append(f"{digest.hex()},{' '.join(name.split())}\n")
    output.write_text("".join(lines), encoding="utf-8")
    return say_listed(console, output, "hashes", Listed(len(lines), left_out))


def _of_folder(folder: Path) -> Iterator[Found]:
    for one in pictures_of_folder(folder):
        if one.still is None:
            yield one.name, None, one.reason
            continue
        found = pdq(one.still.pixels)
        yield one.name, found.bits if found.quality >= MIN_QUALITY else None, FLAT


def _of_store(place: str) -> Iterator[Found]:
    for name, values in items_of_store(place, LAYER, "hash", "quality"):
        digest, quality = values["hash"], values["quality"]
        good = digest is not None and quality is not None and quality >= MIN_QUALITY
        yield name, digest if good else None, FLAT if digest else "not decoded"
