"""A compiled list: tables of its entries, in one file that worker processes map and share, and a summary of them.

The file is a JSON header followed by arrays. It is validated: the arrays are compared with their hash, and no index in
them may be out of bounds.
"""

import hashlib
import json
import mmap
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from winnow.filters.web.url_lists.entries import Kind
from winnow.filters.web.url_lists.table import EMPTY, Table
from winnow.schemas.errors import RecipeError

SHOWN_LINES = 5


@dataclass
class Summary:
    """Counted while a list is read."""

    lines: int = 0
    entries: dict[str, int] = field(default_factory=dict)  # distinct entries by the kind's name
    invalid: int = 0
    first_invalid: list[tuple[int, str]] = field(default_factory=list)  # line number and reason of the first few
    narrowed: int = 0
    first_narrowed: list[str] = field(default_factory=list)

    def refuse(self, line: int, why: str) -> None:
        """Count an invalid line."""
        self.invalid += 1
        self.first_invalid = sorted([*self.first_invalid, (line, why)])[:SHOWN_LINES]

    def narrow(self, host: str) -> None:
        """Count a public suffix that is read as a host."""
        self.narrowed += 1
        if len(self.first_narrowed) < SHOWN_LINES:
            self.first_narrowed.append(host)

    @property
    def total(self) -> int:
        """The number of all entries."""
        return sum(self.entries.values())

    def remarks(self) -> list[str]:
        """Warnings for the user, one line each; empty if all is well."""
        found = []
        if self.invalid:
            found.append(f"{self.invalid:,} of {self.lines:,} lines are not entries ({self.invalid_shown()})")
        if self.narrowed:
            more = ", …" if self.narrowed > len(self.first_narrowed) else ""
            found.append(
                f"{self.narrowed:,} are public suffixes, below which anybody may register: "
                f"{', '.join(self.first_narrowed)}{more}; each means only that host, write *.NAME for all below"
            )
        return found

    def invalid_shown(self) -> str:
        """The first invalid lines."""
        more = ", …" if self.invalid > len(self.first_invalid) else ""
        return ", ".join(f"line {number}: {why}" for number, why in self.first_invalid) + more


MAGIC = b"winnow url list\0"
FORMAT = 1
"""Goes up when compiled bytes would change, together with the versions of the assets that are such lists."""

TABLES = ("domain", "host", "path_host", "path", "word", "soft")
"""The sets of names: one for each kind of entry except parts, and one for the hosts of entries with a path."""

_ALIGNED = 64
_HASH_BYTES = 16
_LEAD = len(MAGIC) + _HASH_BYTES + 8  # the bytes before the header: the hash of all that follows, the header's size
_MAX_HEADER_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class UrlIndex:
    """The entries of a list."""

    tables: dict[str, Table]  # by the names of TABLES
    label_counts: int = 0  # bit i: a domain of i labels is listed; the last bit covers all longer ones
    path_depth: int = 0  # the most parts of a listed path
    parts: tuple[str, ...] = ()
    summary: Summary = field(default_factory=Summary)

    @property
    def bytes(self) -> int:
        """The memory of its tables, which processes share."""
        return sum(table.bytes for table in self.tables.values())


def write_index(index: UrlIndex, target: Path) -> None:
    """Write a list for `open_index`; equal lists give equal bytes."""
    sections: dict[str, dict[str, int]] = {}
    payload = bytearray()
    for name in TABLES:
        table = index.tables.get(name, EMPTY)
        payload += bytes(-len(payload) % _ALIGNED)
        sections[name] = {"at": len(payload), "buckets": len(table.starts) - 1, "entries": len(table.prints)}
        payload += table.starts.astype("<u4", copy=False).tobytes()
        payload += bytes(-len(payload) % _ALIGNED)
        payload += table.prints.astype("<u8", copy=False).tobytes()
    header = {
        "format": FORMAT,
        "label_counts": index.label_counts,
        "path_depth": index.path_depth,
        "parts": index.parts,
        "summary": asdict(index.summary),
        "sections": sections,
    }
    encoded = json.dumps(header, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    head = len(encoded).to_bytes(8, "little") + encoded + bytes(-(_LEAD + len(encoded)) % _ALIGNED)
    seen = hashlib.blake2b(head, digest_size=_HASH_BYTES)
    seen.update(payload)
    with target.open("wb") as stream:
        stream.write(MAGIC + seen.digest() + head)
        stream.write(payload)


def is_index(path: str | Path) -> bool:
    """Whether a file is a compiled list, rather than a text list."""
    with open(path, "rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def open_index(path: str | Path) -> UrlIndex:
    """Open a compiled list, with its tables mapped read-only.

    Raises:
        RecipeError: The file is damaged, or was made by another version of winnow.
    """
    damaged = f"{path}: a damaged list of addresses; make it again (`winnow assets fetch NAME` for an asset)"
    with open(path, "rb") as stream:
        lead = stream.read(_LEAD)
        size = int.from_bytes(lead[len(MAGIC) + _HASH_BYTES :], "little")
        if len(lead) < _LEAD or not lead.startswith(MAGIC) or size > _MAX_HEADER_BYTES:
            raise RecipeError(damaged)
        encoded = stream.read(size)
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    written = memoryview(mapped)[_LEAD - 8 :]
    if hashlib.blake2b(written, digest_size=_HASH_BYTES).digest() != lead[len(MAGIC) :][:_HASH_BYTES]:
        raise RecipeError(damaged)
    try:
        header = json.loads(encoded)
        if header["format"] != FORMAT:
            raise RecipeError(f"{path}: a list of addresses that another version of winnow made; make it again")
        return _opened(header, mapped, _LEAD + size)
    except (KeyError, TypeError, ValueError, RecursionError) as error:  # JSON's and numpy's errors are ValueErrors
        raise RecipeError(damaged) from error


def _opened(header: dict[str, Any], mapped: mmap.mmap, lead: int) -> UrlIndex:
    first = lead + -lead % _ALIGNED
    tables = {}
    for name in TABLES:
        section = header["sections"][name]
        buckets, entries = int(section["buckets"]), int(section["entries"])
        starts = np.frombuffer(mapped, "<u4", buckets + 1, first + int(section["at"]))
        at = int(section["at"]) + starts.nbytes
        prints = np.frombuffer(mapped, "<u8", entries, first + at + -at % _ALIGNED)
        # Kernels check no bounds.
        if buckets < 1 or starts[0] != 0 or starts[-1] != entries or np.any(starts[1:] < starts[:-1]):
            raise ValueError("indices out of bounds")
        tables[name] = Table(starts, prints)
    summary = Summary(**header["summary"])
    summary.first_invalid = [(int(line), str(why)) for line, why in summary.first_invalid]
    parts = tuple(str(part) for part in header["parts"])
    return UrlIndex(tables, int(header["label_counts"]), int(header["path_depth"]), parts, summary)


def kind_counts(index: UrlIndex) -> dict[str, int]:
    """The number of distinct entries of each kind."""
    counts = {kind.name.lower(): len(index.tables[kind.name.lower()].prints) for kind in Kind if kind != Kind.PART}
    return {**counts, "part": len(index.parts)}
