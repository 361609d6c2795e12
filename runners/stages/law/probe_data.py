"""Training data of a probe: a file of bytes or tokens per family and split, written once and memory-mapped."""

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

from winnow.runners.stages.law.probe_texts import Texts
from winnow.runners.stages.law.probe_tokens import Encoded, Tokenizer
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.identity import digest, path_slug
from winnow.schemas.records import from_json
from winnow.scoring.probe.grid import Grid, grid_digest
from winnow.scoring.probe.streams import VOCABULARY, Stream, Tokens, document_bytes, is_held_out
from winnow.scoring.scaling_law.runs import MAX_FAMILIES

_PREFIX: Final = "data-"
_INDEX: Final = "families.json"
_TRAIN, _HELD_OUT = "train", "held-out"


@dataclass(frozen=True, slots=True)
class Packed:
    """One family's files."""

    family: str
    file: str  # the common start of both names
    documents: int
    train: int  # bytes, or tokens
    held_out: int
    content: str  # a hash of both
    unknown: int = 0  # number of unknown tokens
    left_out: int = 0  # characters without a token

    @property
    def unknown_share(self) -> float:
        """The share of the family's text that models cannot see."""
        return (self.unknown + self.left_out) / max(1, self.train + self.held_out + self.left_out)


@dataclass(frozen=True, slots=True)
class Index:
    """The content of a folder of packed texts."""

    families: tuple[Packed, ...]
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Packed texts on disk."""

    folder: Path
    index: Index
    tokenizer: Tokenizer | None  # None: bytes

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes or tokens to train on, by family."""
        return {family.family: family.train for family in self.index.families}

    @property
    def vocabulary(self) -> int:
        """The size of the vocabulary."""
        return VOCABULARY if self.tokenizer is None else self.tokenizer.vocabulary

    def streams(self, families: tuple[str, ...]) -> dict[str, Stream]:
        """The memory-mapped texts of some families."""
        return {
            family.family: Stream(family.family, self._mapped(family, _TRAIN), self._mapped(family, _HELD_OUT))
            for family in self.index.families
            if family.family in families
        }

    def content(self, families: tuple[str, ...]) -> str:
        """A hash of the texts of some families, and of the tokenizer."""
        chosen = [(family.family, family.content) for family in self.index.families if family.family in families]
        return digest(*(part for pair in chosen for part in pair), *_identity(self.tokenizer)).hex()

    def _mapped(self, packed: Packed, side: str) -> Tokens:
        file = self.folder / f"{packed.file}.{side}"
        dtype = _dtype(self.tokenizer)
        if not file.stat().st_size:
            return np.zeros(0, dtype)
        return np.memmap(file, dtype, "r")


def packed_texts(texts: Texts, grid: Grid, work: Path, tokenizer: Tokenizer | None = None) -> PackedTexts:
    """The packed texts in the work folder; packed now if they are missing, or if the texts or the tokenizer changed."""
    folder = work / f"{_PREFIX}{digest(texts.key, grid_digest(grid), *_identity(tokenizer), size=8).hex()}"
    index = folder / _INDEX
    if not index.is_file():
        unfinished = work / f".{folder.name}.{os.getpid()}"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            with _Packer(unfinished, grid, tokenizer) as packer:
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
    packed = PackedTexts(folder, from_json(Index, index.read_bytes(), str(index)), tokenizer)
    for one in packed.index.families:
        for side, size in ((_TRAIN, one.train), (_HELD_OUT, one.held_out)):
            file = folder / f"{one.file}.{side}"
            if not file.is_file() or file.stat().st_size != size * np.dtype(_dtype(tokenizer)).itemsize:
                raise WinnowError(f"{file}: is damaged; delete {folder} and run the command again")
    return packed


def _identity(tokenizer: Tokenizer | None) -> tuple[str, ...]:
    return () if tokenizer is None else ("tokenizer", tokenizer.digest)


def _dtype(tokenizer: Tokenizer | None) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    return np.uint8 if tokenizer is None else tokenizer.dtype


class _Packer:
    """Writes documents to the files of their family."""

    def __init__(self, folder: Path, grid: Grid, tokenizer: Tokenizer | None) -> None:
        self._folder, self._grid, self._tokenizer = folder, grid, tokenizer
        self._files: dict[str, _Family] = {}
        self._full: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, family: str, text: str) -> None:
        if self._grid.families and family not in self._grid.families:
            return
        one = self._files.get(family)
        if one is None:
            if len(self._files) == MAX_FAMILIES:
                raise SourceError(f"more than {MAX_FAMILIES} families; list the families to train on under `families`")
            name = f"{len(self._files):03}-{path_slug(family)}"
            one = self._files[family] = _Family(self._folder / name)
        if one.text_bytes >= self._grid.max_family_bytes:
            self._full["beyond max_family_bytes"] += 1
        elif text:
            document = document_bytes(text)
            one.add(document, self._encoded(document), held_out=is_held_out(document, self._grid.held_out_share))

    def _encoded(self, document: bytes) -> Encoded:
        if self._tokenizer is None:
            return Encoded(np.frombuffer(document, np.uint8))
        return self._tokenizer.encode(document[:-1].decode())

    def finish(self, lost: Counter[str]) -> Index:
        families = [one.finish(family) for family, one in sorted(self._files.items())]
        return Index(tuple(families), dict(sorted((lost + self._full).items())))


class _Family:
    """The two files of a family while they are written."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._train: BinaryIO = open(f"{place}.{_TRAIN}", "wb")  # noqa: SIM115, closed by the packer
        self._held_out: BinaryIO = open(f"{place}.{_HELD_OUT}", "wb")  # noqa: SIM115
        self._hashes = {side: hashlib.blake2b(digest_size=16) for side in (_TRAIN, _HELD_OUT)}
        self._sizes = Counter({_TRAIN: 0, _HELD_OUT: 0})
        self._documents = self._unknown = self._left_out = self.text_bytes = 0

    def add(self, document: bytes, encoded: Encoded, *, held_out: bool) -> None:
        side, raw = (_HELD_OUT if held_out else _TRAIN), encoded.tokens.tobytes()
        (self._held_out if held_out else self._train).write(raw)
        self._hashes[side].update(raw)
        self._sizes[side] += len(encoded.tokens)
        self._unknown += encoded.unknown
        self._left_out += encoded.left_out
        self.text_bytes += len(document)
        self._documents += 1

    def close(self) -> None:
        self._train.close()
        self._held_out.close()

    def finish(self, family: str) -> Packed:
        self.close()
        content = digest(*(one.digest() for one in self._hashes.values())).hex()
        sizes = (self._sizes[_TRAIN], self._sizes[_HELD_OUT])
        return Packed(family, self._place.name, self._documents, *sizes, content, self._unknown, self._left_out)
