"""Parquet objects of which every byte is checked when it is read, also where only some columns are.

The footer lists the hashes of the blocks before it, and the object's name holds the footer's hash. A reader checks
the footer against the name, and each block that it touches against the footer: a reader of one column hashes little
more than that column.
"""

import hashlib
import io
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.store.integrity.content import name_content
from winnow.pipelines.store.integrity.damage import damaged
from winnow.schemas.identity import content_name

HASHES = "winnow.blocks"
LEAST_BLOCK_BYTES = 64 << 10
MOST_BLOCKS = 1 << 10  # larger objects have larger blocks, so that footers stay small
TAIL_BYTES = 64 << 10  # read at once from the end: nearly always the whole footer

_END_BYTES = 8  # the footer's length, and the format's mark
_MARK = b"PAR1"
_DIGITS = 16


def close_checked(parquet: pq.ParquetWriter, file: Path) -> str:
    """Ends a file with the hashes of its blocks in its footer; returns the hash of the footer, for its name."""
    size = file.stat().st_size
    block = _block_bytes(size)
    with open(file, "rb") as stream:
        hashes = [_hash(stream.read(block)) for _ in range(0, size, block)]
    parquet.add_key_value_metadata({HASHES: f"{block}:{''.join(hashes)}"})
    parquet.close()
    with open(file, "rb") as stream:
        stream.seek(size)
        return content_name(stream.read())


class CheckedFile(io.RawIOBase):
    """A stored Parquet object as a file: reads what its name promises, or raises a DamagedError."""

    def __init__(self, stream: BinaryIO, root: str, path: str) -> None:
        """Reads and checks the footer."""
        self._stream = stream
        self._place = root, path
        self._at = 0
        self._size = stream.seek(0, io.SEEK_END)
        self._footer = self._read_footer()
        self._end = self._size - len(self._footer)  # of the blocks
        if content_name(self._footer) != name_content(path):
            raise damaged(root, path, f"its footer has the hash {content_name(self._footer)}")
        self.metadata: pq.FileMetaData = pq.read_metadata(pa.BufferReader(self._footer))
        listed = (self.metadata.metadata or {}).get(HASHES.encode(), b"")
        block, _, hashes = listed.decode().partition(":")
        self._block = int(block or LEAST_BLOCK_BYTES)
        self._hashes = [hashes[start : start + _DIGITS] for start in range(0, len(hashes), _DIGITS)]
        if len(self._hashes) != -(-self._end // self._block):
            raise damaged(root, path, f"it has {self._end:,} bytes before its footer")
        self._held = -1, b""  # the last block that was read, which the next read often needs too

    def check(self) -> None:
        """Reads everything, in bounded memory."""
        step = max(self._block, 1 << 20)
        for start in range(0, self._end, step):
            self._range(start, min(start + step, self._end))

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes | memoryview:
        """The next bytes; fewer only at the end."""
        start = self._at
        stop = self._size if size < 0 else min(start + size, self._size)
        self._at = max(start, stop)
        if start >= self._end:
            return self._footer[start - self._end : max(stop, start) - self._end]
        if stop <= self._end:
            return self._range(start, stop)
        return bytes(self._range(start, self._end)) + self._footer[: stop - self._end]

    def _range(self, start: int, stop: int) -> bytes | memoryview:
        """Bytes before the footer, from whole blocks that were checked; not copied if none of them was held."""
        if stop <= start:
            return b""
        first, last = start // self._block, (stop - 1) // self._block
        held, content = self._held
        if held != first:
            content = b""
        if (begin := first + bool(content)) <= last:
            content += self._blocks(begin, last)
            self._held = last, content[(last - first) * self._block :]
        offset = start - first * self._block
        return memoryview(content)[offset : offset + stop - start]

    def _blocks(self, first: int, last: int) -> bytes:
        begin, end = first * self._block, min((last + 1) * self._block, self._end)
        self._stream.seek(begin)
        content = self._stream.read(end - begin)
        for number in range(first, last + 1):
            offset = (number - first) * self._block
            if _hash(memoryview(content)[offset : offset + self._block]) != self._hashes[number]:
                at, until = number * self._block, min((number + 1) * self._block, self._end)
                raise damaged(*self._place, f"its bytes {at:,} to {until:,} have another hash")
        return content

    def _read_footer(self) -> bytes:
        """The footer with its length and mark."""
        tail = self._tail(TAIL_BYTES)
        length = int.from_bytes(tail[-_END_BYTES:-4], "little") + _END_BYTES
        if tail[-4:] != _MARK or length > self._size:
            raise damaged(*self._place, f"it has {self._size:,} bytes and does not end as a Parquet file")
        return tail[-length:] if length <= len(tail) else self._tail(length)

    def _tail(self, length: int) -> bytes:
        self._stream.seek(max(0, self._size - length))
        return self._stream.read(length)


def _block_bytes(size: int) -> int:
    block = LEAST_BLOCK_BYTES
    while block * MOST_BLOCKS < size:
        block *= 2
    return block


def _hash(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
