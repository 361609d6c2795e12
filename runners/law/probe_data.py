"""Streams of a probe: one file of bytes a family and side, packed once into the work folder and mapped from there."""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np

from winnow.runners.law.probe_texts import Texts
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.identity import digest, path_slug
from winnow.schemas.records import from_json
from winnow.scoring.probe.grid import Grid, grid_digest
from winnow.scoring.probe.streams import Stream, document_bytes, is_held_out
from winnow.scoring.scaling_law.runs import MAX_FAMILIES

_PREFIX: Final = "data-"
_INDEX: Final = "families.json"
_TRAIN, _HELD_OUT = "train", "held-out"


@dataclass(frozen=True, slots=True)
class Packed:
    """One family's files."""

    family: str
    file: str  # the beginning of both names
    documents: int
    train: int  # bytes
    held_out: int
    content: str  # a hash of both


@dataclass(frozen=True, slots=True)
class Index:
    """What a folder of packed texts holds."""

    families: tuple[Packed, ...]
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Packed texts on disk."""

    folder: Path
    index: Index

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes to train on, by family."""
        return {one.family: one.train for one in self.index.families}

    def streams(self, families: tuple[str, ...]) -> dict[str, Stream]:
        """The bytes of some families, mapped: they are read when windows are."""
        return {
            one.family: Stream(one.family, _mapped(self.folder, one, _TRAIN), _mapped(self.folder, one, _HELD_OUT))
            for one in self.index.families
            if one.family in families
        }

    def content(self, families: tuple[str, ...]) -> str:
        """A name for the bytes of some families."""
        chosen = [(one.family, one.content) for one in self.index.families if one.family in families]
        return digest(*(part for pair in chosen for part in pair)).hex()


def packed_texts(texts: Texts, grid: Grid, work: Path) -> PackedTexts:
    """The packed texts in the work folder, made if they are not there or are of other texts."""
    folder = work / f"{_PREFIX}{digest(texts.key, grid_digest(grid), size=8).hex()}"
    index = folder / _INDEX
    if not index.is_file():
        unfinished = work / f".{folder.name}.{os.getpid()}"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            with _Packer(unfinished, grid) as packer:
                for family, text in texts.read():
                    packer.add(family, text)
                found = packer.finish(texts.lost)
            (unfinished / _INDEX).write_text(json.dumps(asdict(found), ensure_ascii=False), encoding="utf-8")
            os.replace(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        for other in work.glob(f"{_PREFIX}*"):
            if other != folder:
                shutil.rmtree(other)
    packed = PackedTexts(folder, from_json(Index, index.read_bytes(), str(index)))
    for one in packed.index.families:
        for side, size in ((_TRAIN, one.train), (_HELD_OUT, one.held_out)):
            file = folder / f"{one.file}.{side}"
            if not file.is_file() or file.stat().st_size != size:
                raise WinnowError(f"{file}: is damaged; remove {folder}, it is made again")
    return packed


class _Packer:
    """Writes documents to the files of their family."""

    def __init__(self, folder: Path, grid: Grid) -> None:
        self._folder, self._grid = folder, grid
        self._files: dict[str, _Family] = {}
        self._full: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._files.values():
            one.close()

    def add(self, family: str, text: str) -> None:
        if self._grid.families and family not in self._grid.families:
            return
        one = self._files.get(family)
        if one is None:
            if len(self._files) == MAX_FAMILIES:
                raise SourceError(f"more than {MAX_FAMILIES} families; name those to train on under `families`")
            name = f"{len(self._files):03}-{path_slug(family)}"
            one = self._files[family] = _Family(self._folder / name)
        if one.size >= self._grid.max_family_bytes:
            self._full["beyond max_family_bytes"] += 1
        elif text:
            document = document_bytes(text)
            one.add(document, held_out=is_held_out(document, self._grid.held_out_share))

    def finish(self, lost: Counter[str]) -> Index:
        families = [one.finish(family) for family, one in sorted(self._files.items())]
        return Index(tuple(families), dict(sorted((lost + self._full).items())))


class _Family:
    """The two files of a family that are being written."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._train: BinaryIO = open(f"{place}.{_TRAIN}", "wb")  # noqa: SIM115, closed by the packer
        self._held_out: BinaryIO = open(f"{place}.{_HELD_OUT}", "wb")  # noqa: SIM115
        self._hashes = {side: hashlib.blake2b(digest_size=16) for side in (_TRAIN, _HELD_OUT)}
        self._sizes = Counter({_TRAIN: 0, _HELD_OUT: 0})
        self._documents = 0

    @property
    def size(self) -> int:
        return self._sizes.total()

    def add(self, document: bytes, *, held_out: bool) -> None:
        side = _HELD_OUT if held_out else _TRAIN
        (self._held_out if held_out else self._train).write(document)
        self._hashes[side].update(document)
        self._sizes[side] += len(document)
        self._documents += 1

    def close(self) -> None:
        self._train.close()
        self._held_out.close()

    def finish(self, family: str) -> Packed:
        self.close()
        content = digest(*(one.digest() for one in self._hashes.values())).hex()
        return Packed(family, self._place.name, self._documents, self._sizes[_TRAIN], self._sizes[_HELD_OUT], content)


def _mapped(folder: Path, one: Packed, side: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    file = folder / f"{one.file}.{side}"
    if not file.stat().st_size:
        return np.zeros(0, np.uint8)
    return np.memmap(file, np.uint8, "r")
