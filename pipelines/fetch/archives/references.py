"""Records that stay where they are: `ingest` reads a list of their ranges as if it were the file that a copy would be.

`refs/NAME.SIZE.parquet` lists the ranges of `warc/NAME.warc.gz`, which has so many bytes; its metadata holds the first
record, which no archive has. Such a file is read like any other, by requests for neighbouring ranges.
"""

import io
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from heapq import merge
from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from winnow.pipelines.fetch.archives.places import open_place
from winnow.pipelines.fetch.archives.ranges import GAP_BYTES, RANGE_BYTES
from winnow.pipelines.fetch.archives.record_check import address_flaw
from winnow.pipelines.ingest.files import NOT_THERE
from winnow.pipelines.store.buckets.bucket_store import fetching
from winnow.pipelines.store.buckets.ranged import RangedReader, buffered
from winnow.pipelines.store.concurrency import map_in_order
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.layout import FETCHED_REFERENCES, FETCHED_WARCS
from winnow.schemas.errors import SourceError, StoreError

_HEAD: Final = b"winnow.first_record"
_DATA: Final = b"winnow.data"


def put_references(objects: ObjectStore, name: str, data: str, head: bytes, ranges: pa.Table) -> None:
    """Puts the list of a file's ranges: columns `url`, `origin`, `origin_offset` and `length`, in their order.

    Args:
        objects: The fetched folder.
        name: The file's.
        data: Where the archive's files are.
        head: The file's first record.
        ranges: What follows it.
    """
    size = len(head) + int(ranges["length"].to_numpy().sum())
    sink = pa.BufferOutputStream()
    pq.write_table(ranges.replace_schema_metadata({_HEAD: head, _DATA: data.encode()}), sink, compression="zstd")
    for info in list(objects.list(f"{FETCHED_REFERENCES}{name}.")):  # of an earlier run, whose file had another size
        objects.delete(info.path)
    objects.put(f"{FETCHED_REFERENCES}{name}.{size}.parquet", sink.getvalue().to_pybytes())


def file_sizes(data: str, names: Sequence[str], at_once: int) -> Iterator[int | None]:
    """The sizes of an archive's files; None for what is none of them, as an index that lies may name."""
    objects = open_place(data)

    def size(name: str) -> int | None:
        try:
            return objects.size(name)
        except NOT_THERE:
            return None
        except StoreError as error:
            if "not an object name" in str(error):
                return None
            raise

    return map_in_order(size, names, at_once)


def has_references(objects: ObjectStore) -> bool:
    """Whether a fetched folder refers to records instead of holding them."""
    return next(objects.list(FETCHED_REFERENCES), None) is not None


@dataclass(frozen=True)
class RangedObjects:
    """A fetched folder with the files that its references stand for. Picklable; only read.

    Its lists are looked for once, and again after `list`: a fetch may have come between.
    """

    inner: ObjectStore
    _found: "dict[str, _Listed]" = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        """Without what was found here."""
        return {"inner": self.inner, "_found": {}}

    @property
    def root(self) -> str:
        """The folder's."""
        return self.inner.root

    @property
    def owner(self) -> str:
        """The folder's."""
        return self.inner.owner

    def owned_by(self, owner: str) -> Self:
        """The same objects, as those of this store."""
        return replace(self, inner=self.inner.owned_by(owner))

    def open(self, path: str) -> BinaryIO:
        """A seekable reader, which asks for ranges ahead."""
        found = self._file(path)
        if found is None:
            return self.inner.open(path)
        return buffered(RangedReader(found.read, found.size, b"", fetching()))

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range."""
        found = self._file(path)
        if found is None:
            return self.inner.read(path, offset, length)
        return found.read(offset, found.size if length is None else min(found.size, offset + length))

    def flaw_of(self, path: str, offset: int, address: str | None) -> str | None:
        """Why a record of a file is not the one that the archive's index says is there; None if it is."""
        found = self._file(path)
        url = None if found is None else found.url_at(offset)
        return None if url is None else address_flaw(address or "", url)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Lists the folder's objects and the files that stand for others, sorted by path."""
        return merge(self.inner.list(prefix), self._listed(prefix), key=lambda info: info.path)

    def exists(self, path: str) -> bool:
        """Whether an object or a file has this name."""
        return self._file(path) is not None or self.inner.exists(path)

    def size(self, path: str) -> int:
        """Its size in bytes."""
        found = self._file(path)
        return self.inner.size(path) if found is None else found.size

    def put(self, path: str, content: bytes | Path) -> None:
        """Puts an object into the folder."""
        self.inner.put(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Puts an object into the folder if the name is free."""
        return self.inner.put_if_absent(path, content)

    def delete(self, path: str) -> None:
        """Removes an object of the folder."""
        self.inner.delete(path)

    def scratch(self) -> Path:
        """The folder's."""
        return self.inner.scratch()

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        """The folder's."""
        return self.inner.clear_unfinished(elsewhere=elsewhere)

    def _listed(self, prefix: str) -> Iterator[ObjectInfo]:
        stem = prefix.removeprefix(FETCHED_WARCS) if prefix.startswith(FETCHED_WARCS) else ""
        if not (prefix.startswith(FETCHED_WARCS) or FETCHED_WARCS.startswith(prefix)):
            return
        self._found.clear()
        for info in self.inner.list(f"{FETCHED_REFERENCES}{stem}".removesuffix(".warc.gz")):
            name, size = _parts(info.path)
            path = f"{FETCHED_WARCS}{name}.warc.gz"
            if path.startswith(prefix):
                yield ObjectInfo(path, size, info.version)

    def _file(self, path: str) -> "_Referred | None":
        if not (path.startswith(FETCHED_WARCS) and path.endswith(".warc.gz")):
            return None
        if not self._found:
            for info in self.inner.list(FETCHED_REFERENCES):
                self._found[_parts(info.path)[0]] = _Listed(self.inner, info.path, info.version)
        listed = self._found.get(path[len(FETCHED_WARCS) : -len(".warc.gz")])
        return None if listed is None else _referred(listed)


def _parts(path: str) -> tuple[str, int]:
    """The name and the size that a list's own name says."""
    name, _, size = path[len(FETCHED_REFERENCES) :].removesuffix(".parquet").rpartition(".")
    return name, int(size) if size.isdigit() else 0


@dataclass(frozen=True)
class _Referred:
    """The ranges of one file, each with where it begins in it."""

    objects: ObjectStore  # of the archive
    head: bytes
    urls: pa.ChunkedArray  # of their records, as the index says
    origins: list[str]
    offsets: NDArray[np.int64]
    begins: NDArray[np.int64]  # one more than there are ranges
    place: str

    @property
    def size(self) -> int:
        return int(self.begins[-1])

    def url_at(self, offset: int) -> str | None:
        """The address of the range that has this byte; None for the first record, which no archive has."""
        number = bisect_right(self.begins, offset) - 1
        url: str | None = self.urls[number].as_py() if 0 <= number < len(self.urls) else None
        return url

    def read(self, start: int, stop: int) -> bytes:
        """The bytes of a range of the file; neighbours in the archive are asked for together."""
        pieces = [self.head[start:stop]] if start < len(self.head) else []
        at = max(start, len(self.head))
        number = bisect_right(self.begins, at) - 1
        while at < min(stop, self.size):
            last = number
            origin = self.origins[number]
            first = int(self.offsets[number]) + at - int(self.begins[number])
            while (
                last + 1 < len(self.origins)
                and self.begins[last + 1] < stop
                and self.origins[last + 1] == origin
                and 0 <= self._gap(last) <= GAP_BYTES
                and self.offsets[last + 1] - first < RANGE_BYTES
            ):
                last += 1
            end = int(self.offsets[last]) + min(stop, int(self.begins[last + 1])) - int(self.begins[last])
            content = self._asked(origin, first, end)
            for one in range(number, last + 1):
                begin = max(at, int(self.begins[one]))
                length = min(stop, int(self.begins[one + 1])) - begin
                place = int(self.offsets[one]) + begin - int(self.begins[one]) - first
                piece = content[place : place + length]
                pieces.append(piece + b"\0" * (length - len(piece)))  # what the archive lacks is damage, not a shift
            at, number = min(stop, int(self.begins[last + 1])), last + 1
        return b"".join(pieces)

    def _gap(self, number: int) -> int:
        """The bytes of the archive between a range and the one after it."""
        length = int(self.begins[number + 1] - self.begins[number])
        return int(self.offsets[number + 1]) - int(self.offsets[number]) - length

    def _asked(self, origin: str, start: int, stop: int) -> bytes:
        try:
            return self.objects.read(origin, start, stop - start)
        except FileNotFoundError:
            raise SourceError(
                f"{self.place}: {self.objects.root} has no {origin} any more; fetch the source with 'fetch: copy'"
            ) from None


@dataclass(frozen=True)
class _Listed:
    """A list of ranges, by which what was read of it is found again."""

    objects: ObjectStore
    path: str
    version: str


@lru_cache(maxsize=4)
def _referred(listed: _Listed) -> _Referred:
    objects, path = listed.objects, listed.path
    table = pq.read_table(io.BytesIO(objects.read(path)))
    known = table.schema.metadata or {}
    head = known.get(_HEAD, b"")
    begins = np.concatenate([[len(head)], len(head) + np.cumsum(table["length"].to_numpy())]).astype(np.int64)
    data = open_place(known.get(_DATA, b"").decode())
    return _Referred(
        data,
        head,
        table["url"],
        table["origin"].to_pylist(),
        table["origin_offset"].to_numpy(),
        begins,
        f"{objects.root}/{path}",
    )
