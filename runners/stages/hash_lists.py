"""Writes lists of PDQ hashes: of the pictures of a folder, or of those that a store has measured.

Pictures are decoded under the same limits as in a store. Those that cannot be decoded, and flat ones, whose hashes
match strangers, are left out and counted by reason.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from winnow.filters.duplicates.pdq import MIN_QUALITY, pdq
from winnow.filters.image.decode.stills import DecodeLimits, UndecodableError, require_decoders
from winnow.filters.web.sniff import sniff
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.media.isolation import decode_isolated
from winnow.pipelines.store import layout
from winnow.runners.commands.opening import open_place
from winnow.runners.terminal.tables import print_line
from winnow.schemas.errors import StoreError, WinnowError

LAYER = "image.pdq"
FLAT = "flat"
_HEAD_BYTES = 4096  # enough to tell a picture's type

Found = tuple[str, bytes | None, str]
"""A picture's name, and its hash or why it has none."""


def write_hash_list(place: str, output: Path, console: Console) -> int:
    """Write the list, in the order of names, and say how many pictures it has."""
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise WinnowError(f"--output {output}: is not a regular file; give a file name in an existing folder")
    folder = Path(place)
    of_store = "://" in place or folder.is_file() or (folder / "store.json").is_file()
    if not of_store and not folder.is_dir():
        raise WinnowError(f"{place}: expected a folder with pictures, a recipe or a store, but nothing exists there")
    left_out: Counter[str] = Counter()
    lines = []
    for name, digest, reason in _of_store(place) if of_store else _of_folder(folder):
        if digest is None:
            left_out[reason] += 1
        else:
            lines.append(f"{digest.hex()},{_on_one_line(name)}\n")
    output.write_text("".join(lines), encoding="utf-8")
    print_line(console, f"{output}: {len(lines):,} hashes of pictures")
    for reason, count in sorted(left_out.items()):
        print_line(console, f"left out: {count:,} {reason}")
    return 0 if lines else 3


def _of_folder(folder: Path) -> Iterator[Found]:
    require_decoders()
    limits = DecodeLimits()
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file() or path.stat().st_size > limits.max_bytes:
                yield shown, None, "not a file, or too large"
                continue
            content = path.read_bytes()
            mime = sniff(content[:_HEAD_BYTES], None, None).mime
            if not mime.startswith("image/"):
                yield shown, None, "no picture"
                continue
            try:
                found = pdq(decode_isolated(content, mime, limits).pixels)
            except UndecodableError as error:
                yield shown, None, error.reason
                continue
            yield shown, found.bits if found.quality >= MIN_QUALITY else None, FLAT


def _of_store(place: str) -> Iterator[Found]:
    _, store = open_place(place)
    generation = store.require_latest()
    if LAYER not in generation.layers:
        raise StoreError(f"{store.root}: has no layer {LAYER}; add image.pdq to 'annotate' and run: winnow run RECIPE")
    hidden = hidden_rows(store, generation)
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES)}
    for row in store.manifest(generation, LAYER):
        ids = store.batches(samples[row.shard], ["id"])
        hashes = store.batches(row, ["hash", "quality"])
        names = enumerate(identity.hex() for batch in ids for identity in batch["id"].to_pylist())
        gone = set(hidden[row.shard].rows.tolist()) if row.shard in hidden else set[int]()
        for values in hashes:
            lists = zip(values["hash"].to_pylist(), values["quality"].to_pylist(), strict=True)
            for (found, quality), (number, name) in zip(lists, names, strict=False):
                if number in gone:
                    continue
                for item, (digest, measured) in enumerate(zip(found or (), quality or (), strict=True)):
                    good = digest is not None and measured is not None and measured >= MIN_QUALITY
                    yield f"{name}.{item}", digest if good else None, FLAT if digest else "not decoded"


def _on_one_line(name: str) -> str:
    return " ".join(name.split())
