"""Read whole lists from files of any size: five million plain lines in seconds, other lines by `entries`.

Files may be compressed with gzip or Zstandard. Memory is bounded: one block of the file, and about 50 bytes per entry
while entries are sorted.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import zstandard

from winnow.filters.web.url_lists.entries import MAX_LINE_BYTES, BadEntryError, Entry, Kind, entries_of
from winnow.filters.web.url_lists.hashing import Bytes, Hashes
from winnow.filters.web.url_lists.index import TABLES, Summary, UrlIndex, kind_counts
from winnow.filters.web.url_lists.lines import DOMAIN as PLAIN_DOMAIN
from winnow.filters.web.url_lists.lines import ODD, PATH, hash_names, read_lines, suffixes_of
from winnow.filters.web.url_lists.scanning import CLASSES
from winnow.filters.web.url_lists.table import made_table
from winnow.schemas.errors import RecipeError

MAX_LIST_BYTES = 4 << 30  # unpacked
MAX_ENTRIES = 20_000_000
MAX_PART_BYTES = 20_000  # of all `part:` entries together
MAX_INVALID_AT_FIRST = 100_000  # lines without any entry, after which a file is rejected

_BLOCK_BYTES = 8 << 20
_ZSTD_STEP_BYTES = 1 << 10  # unpacks to 32 MiB at most
_ZSTD_WINDOW_BYTES = 1 << 27
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF8_MARK, _UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_LABEL_COUNTS = 64


def read_list(stream: BinaryIO, name: str, suffixes: frozenset[str] | None = None) -> UrlIndex:
    """Read the list in a file.

    Args:
        stream: UTF-8 text with one entry per line, plain or compressed.
        name: The file's name in messages.
        suffixes: The public suffixes; None for all of the Public Suffix List and every single label.

    Raises:
        RecipeError: It is not a list, has no valid entry, or is too large.
    """
    reader = ListReader(name, suffixes)
    reader.add(stream)
    return reader.index()


@dataclass
class _Names:
    """Collects the finished hashes of one table's names."""

    places: list[Hashes] = field(default_factory=list)
    prints: list[Hashes] = field(default_factory=list)
    count: int = 0

    def add(self, places: Hashes, prints: Hashes) -> None:
        self.places.append(places)
        self.prints.append(prints)
        self.count += len(places)


class ListReader:
    """Reads files into one list."""

    def __init__(self, name: str, suffixes: frozenset[str] | None = None) -> None:
        self._name = name
        self._suffixes = suffixes_of(suffixes)
        self._names = {table: _Names() for table in TABLES}
        self._parts: set[str] = set()
        self._part_bytes = 0
        self._label_counts = 0
        self._depth = 0
        self._summary = Summary()

    def add(self, stream: BinaryIO) -> None:
        """Read one file of the list."""
        kept, overlong, total = b"", False, 0
        for number, block in enumerate(_unpacked(stream, self._name)):
            total += len(block)
            if total > MAX_LIST_BYTES:
                raise RecipeError(f"{self._name}: more than {MAX_LIST_BYTES:,} bytes; split the list")
            if number == 0:
                if block.startswith(_UTF16_MARKS):
                    raise RecipeError(f"{self._name}: text in UTF-16; expected UTF-8")
                block = block.removeprefix(_UTF8_MARK)
            end = block.rfind(b"\n") + 1
            if overlong and end == 0:
                continue
            if overlong:
                block, overlong = block[block.index(b"\n") + 1 :], False
                end = block.rfind(b"\n") + 1
            if end:
                self._read(kept + block[:end])
                kept = b""
            kept += block[end:]
            if len(kept) > MAX_LINE_BYTES:
                self._summary.lines += 1
                self._refuse(self._summary.lines, f"longer than {MAX_LINE_BYTES:,} bytes")
                kept, overlong = b"", True
        if kept:
            self._read(kept + b"\n")

    def index(self) -> UrlIndex:
        """The list, once all files are read."""
        tables = {}
        for table, names in self._names.items():
            empty = [np.zeros(0, np.uint64)]
            tables[table] = made_table(np.concatenate(names.places or empty), np.concatenate(names.prints or empty))
            names.places.clear()
            names.prints.clear()
        parts = tuple(sorted(self._parts))
        index = UrlIndex(tables, self._label_counts, self._depth, parts, self._summary)
        self._summary.entries = {kind: count for kind, count in kind_counts(index).items() if count}
        if not self._summary.total:
            raise RecipeError(self._no_entry())
        return index

    def _no_entry(self) -> str:
        why = f": {self._summary.invalid_shown()}" if self._summary.invalid else ""
        return (
            f"{self._name}: none of {self._summary.lines:,} lines is an entry; "
            f"expected one per line, such as example.com or word:casino{why}"
        )

    def _read(self, lines: bytes) -> None:
        """Read complete lines."""
        text = np.frombuffer(lines, np.uint8)
        ends = np.flatnonzero(text == 10)
        odd, parents = self._suffixes.odd, self._suffixes.parents
        kinds, places, prints, host_places, host_prints, dots, depth = read_lines(
            text,
            ends,
            CLASSES,
            self._suffixes.names is None,
            odd.starts,
            odd.prints,
            parents.starts,
            parents.prints,
        )
        domains, paths = kinds == PLAIN_DOMAIN, kinds == PATH
        self._names["domain"].add(places[domains], prints[domains])
        self._names["path"].add(places[paths], prints[paths])
        self._names["path_host"].add(host_places[paths], host_prints[paths])
        self._count_labels(dots[domains])
        self._depth = max(self._depth, int(depth))
        before = self._summary.lines
        entries: list[Entry] = []
        for line in np.flatnonzero(kinds == ODD).tolist():
            start = int(ends[line - 1]) + 1 if line else 0
            entries += self._odd(lines[start : ends[line]], before + line + 1)
        self._summary.lines = before + len(ends)
        self._add(entries)
        if sum(names.count for names in self._names.values()) > MAX_ENTRIES:
            raise RecipeError(f"{self._name}: more than {MAX_ENTRIES:,} entries; split the list")

    def _odd(self, line: bytes, number: int) -> list[Entry]:
        """Read a line that kernels leave out."""
        if len(line) > MAX_LINE_BYTES:
            self._refuse(number, f"longer than {MAX_LINE_BYTES:,} bytes")
            return []
        try:
            found = entries_of(line.decode(), self._suffixes.names)
        except UnicodeDecodeError:
            self._refuse(number, "not UTF-8")
            return []
        except BadEntryError as error:
            self._refuse(number, str(error))
            return []
        for entry in found:
            if entry.narrowed:
                self._summary.narrow(entry.text)
        return found

    def _refuse(self, line: int, why: str) -> None:
        self._summary.refuse(line, why)
        found = self._parts or any(names.count for names in self._names.values())
        if self._summary.invalid >= MAX_INVALID_AT_FIRST and not found:
            self._summary.lines = max(line, self._summary.lines)
            raise RecipeError(self._no_entry())

    def _add(self, entries: list[Entry]) -> None:
        by_kind: dict[Kind, list[str]] = {}
        for entry in entries:
            by_kind.setdefault(entry.kind, []).append(entry.text)
        for kind, texts in by_kind.items():
            if kind == Kind.PART:
                self._add_parts(texts)
                continue
            text, offsets = _joined(texts, backwards=kind in (Kind.WORD, Kind.SOFT))
            if kind == Kind.PATH:
                lengths = [len(entry.partition("/")[0]) for entry in texts]
                places, prints, depth = hash_names(text, offsets, offsets[:-1] + np.array(lengths, np.int64))
                self._names["path"].add(places, prints)
                self._depth = max(self._depth, int(depth))
                text, offsets = _joined([entry.partition("/")[0] for entry in texts])
            places, prints, _ = hash_names(text, offsets, offsets[1:])
            table = "path_host" if kind == Kind.PATH else kind.name.lower()
            self._names[table].add(places, prints)
            if kind == Kind.DOMAIN:
                self._count_labels(np.array([host.count(".") for host in texts]))

    def _add_parts(self, parts: list[str]) -> None:
        for part in parts:
            if part not in self._parts:
                self._parts.add(part)
                self._part_bytes += len(part.encode())
        if self._part_bytes > MAX_PART_BYTES:
            raise RecipeError(f"{self._name}: more than {MAX_PART_BYTES:,} bytes of part: entries")

    def _count_labels(self, dots: "np.typing.NDArray[np.int64]") -> None:
        for count in np.unique(np.minimum(dots + 1, _LABEL_COUNTS - 1)).tolist():
            self._label_counts |= 1 << count


def _joined(texts: list[str], backwards: bool = False) -> tuple[Bytes, "np.typing.NDArray[np.int64]"]:
    """Concatenate names; words are reversed, as they are hashed from their first byte and hosts from their last."""
    encoded = [text.encode()[:: -1 if backwards else 1] for text in texts]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64)


def _unpacked(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The decompressed blocks of a file; its first bytes give the format."""
    head = stream.read(4)
    stream.seek(-len(head), 1)
    try:
        if head.startswith(_GZIP):
            with gzip.GzipFile(fileobj=stream) as unpacking:
                yield from _blocks(iter(lambda: unpacking.read(_BLOCK_BYTES), b""))
        elif head == _ZSTD:
            yield from _blocks(_zstd(stream))
        else:
            yield from _blocks(iter(lambda: stream.read(_BLOCK_BYTES), b""))
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise RecipeError(f"{name}: cannot be unpacked: {error}") from error


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces into blocks of a minimum size, except the last."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _BLOCK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _zstd(stream: BinaryIO) -> Iterator[bytes]:
    frames = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = frames.decompressobj()
    begun = False
    while packed := stream.read(_ZSTD_STEP_BYTES):
        while packed:
            begun = True
            yield frame.decompress(packed)
            packed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame, begun = frames.decompressobj(), False
    if begun:
        raise EOFError("it ends early")
