"""Compares media with a recipe's lists of known harm while their bytes are at hand.

A match is never decoded again; decoding happens only for its hash, if a list has PDQ hashes. A picture that cannot be
decoded, or is too flat for PDQ, is compared by its digests alone.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from winnow.filters.duplicates.perceptual.pdq import pdq
from winnow.filters.image.decode.containers import Bytes
from winnow.filters.image.decode.stills import DecodeLimits, UndecodableError
from winnow.filters.known_harm.lists import HarmList, HashKind, read_hashes
from winnow.filters.known_harm.matching import HarmMatch, HarmMatcher, PdqLimits
from winnow.pipelines.decoding.isolation import decode_isolated
from winnow.schemas.environment.local_files import here
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import fingerprint_of

__all__ = ["KNOWN_HARM", "HarmListFile", "KnownHarm"]

KNOWN_HARM = "known_harm"
"""The reason for which a record is quarantined that has such a medium."""


@dataclass(frozen=True)
class HarmListFile:
    """One list of a recipe. Picklable: each worker reads the file itself."""

    name: str
    file: str
    digest: str  # of its content
    kind: HashKind | None
    radius: int
    min_quality: int

    @property
    def identity(self) -> str:
        """A hash of everything that decides what matches; not of the list's name or place."""
        return fingerprint_of(asdict(self) | {"name": "", "file": ""})

    def read(self) -> HarmList:
        """Its hashes; RecipeError if the file cannot be read, or is no list."""
        try:
            with Path(here(self.file)).open(encoding="utf-8", errors="replace") as text:
                return read_hashes(self.name, _lines(text, self.file), self.file, self.kind)
        except OSError as error:
            raise RecipeError(f"known_harm: {self.name}: {self.file}: {error.strerror or error}") from None


@dataclass(frozen=True)
class KnownHarm:
    """The lists of a recipe, and the decoding limits for hashing. Picklable."""

    lists: tuple[HarmListFile, ...]
    limits: DecodeLimits

    @property
    def kinds(self) -> frozenset[HashKind]:
        """The kinds of hashes that are compared."""
        return _matcher(self.lists).kinds

    def match(self, mime: str, sha256: str | None, content: Callable[[], Bytes | None]) -> HarmMatch | None:
        """The first list that names a medium.

        `sha256` is in hexadecimal digits, if it is known. `content` gives the bytes, if they are available; large media
        are read in pieces.
        """
        matcher = _matcher(self.lists)
        if sha256 is not None and (found := matcher.by_digest("sha256", bytes.fromhex(sha256))) is not None:
            return found
        if not matcher.kinds - {"sha256"} or (held := content()) is None:
            return None
        if "md5" in matcher.kinds and (found := matcher.by_digest("md5", _md5(held))) is not None:
            return found
        if "pdq" not in matcher.kinds or not mime.startswith("image/") or held.size > self.limits.max_bytes:
            return None
        try:
            hashed = pdq(decode_isolated(held.at(0, held.size), mime, self.limits).pixels)
        except UndecodableError:
            return None
        return matcher.by_pdq(hashed.bits, hashed.quality)


_PIECE = 1 << 20


def _md5(content: Bytes) -> bytes:
    state = hashlib.md5(usedforsecurity=False)
    for at in range(0, content.size, _PIECE):
        state.update(content.at(at, _PIECE))
    return state.digest()


_MOST_LINE = 4096


def _lines(text: TextIO, file: str) -> Iterator[str]:
    """The lines of a file, none of which may be endless."""
    for number in itertools.count(1):
        line = text.readline(_MOST_LINE)
        if len(line) == _MOST_LINE:
            raise RecipeError(f"{file}:{number}: the line is longer than {_MOST_LINE:,} characters")
        if not line:
            return
        yield line


@lru_cache(maxsize=2)
def _matcher(lists: tuple[HarmListFile, ...]) -> HarmMatcher:
    return HarmMatcher([one.read() for one in lists], [PdqLimits(one.radius, one.min_quality) for one in lists])
