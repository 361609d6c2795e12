"""The pictures of an evaluation set, to be listed: the files of a folder, or what a layer of a store has of them."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from winnow.filters.image.decode.stills import DecodeLimits, Still, UndecodableError, require_decoders
from winnow.filters.web.sniff import sniff
from winnow.pipelines.decoding.isolation import decode_isolated
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.runners.stages.opening import open_place
from winnow.runners.terminal.tables import print_line
from winnow.schemas.errors import StoreError, WinnowError

_HEAD_BYTES = 4096  # enough to tell a picture's type


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """A picture of a folder: its name there, and what was decoded of it or why nothing was."""

    name: str
    still: Still | None
    reason: str = ""
    mime: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """How many pictures a list has, and how many were left out by reason."""

    count: int
    left_out: Counter[str]


def is_of_store(place: str) -> bool:
    """Whether a place is a recipe or a store, and no folder with pictures; WinnowError if it is nothing."""
    folder = Path(place)
    of_store = "://" in place or folder.is_file() or (folder / "store.json").is_file()
    if not of_store and not folder.is_dir():
        raise WinnowError(f"{place}: expected a folder with pictures, a recipe or a store, but nothing exists there")
    return of_store


def pictures_of_folder(folder: Path, side: int | None = None) -> Iterator[DecodedFile]:
    """Every file below a folder, in the order of names, decoded for an operator that looks at this side."""
    require_decoders()
    limits = DecodeLimits()
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file() or path.stat().st_size > limits.max_bytes:
                yield DecodedFile(shown, None, "not a file, or too large")
                continue
            content = path.read_bytes()
            mime = sniff(content[:_HEAD_BYTES], None, None).mime
            if not mime.startswith("image/"):
                yield DecodedFile(shown, None, "no picture")
                continue
            try:
                still = decode_isolated(content, mime, limits, side)
            except UndecodableError as error:
                yield DecodedFile(shown, None, error.reason)
                continue
            yield DecodedFile(shown, still, mime=mime, size=len(content))


def items_of_store(place: str, layer: str, *columns: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The items of a layer that are not hidden, each with its name and its values in some columns of lists."""
    _, store = open_place(place)
    generation = store.require_latest()
    if layer not in generation.layers:
        raise StoreError(f"{store.root}: has no layer {layer}; add {layer} to 'annotate' and run: winnow run RECIPE")
    hidden = hidden_rows(store, generation)
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES)}
    for row in store.manifest(generation, layer):
        ids = store.batches(samples[row.shard], ["id"])
        names = enumerate(identity.hex() for batch in ids for identity in batch["id"].to_pylist())
        gone = set(hidden[row.shard].rows.tolist()) if row.shard in hidden else set[int]()
        for batch in store.batches(row, list(columns)):
            lists = zip(*(batch[column].to_pylist() for column in columns), strict=True)
            for values, (number, name) in zip(lists, names, strict=False):
                if number in gone:
                    continue
                for item, each in enumerate(zip(*(value or () for value in values), strict=True)):
                    yield f"{name}.{item}", dict(zip(columns, each, strict=True))


def say_listed(console: Console, output: Path, what: str, listed: Listed) -> int:
    """Say what was written; returns the exit status, 3 if there is nothing."""
    print_line(console, f"{output}: {listed.count:,} {what} of pictures")
    for reason, count in sorted(listed.left_out.items()):
        print_line(console, f"left out: {count:,} {reason}")
    return 0 if listed.count else 3
