"""A crawl's columnar index: Parquet files in a folder, a bucket or on a web server, of which little is read.

DuckDB sees the files as one table that this process reads for it, so its own access to files and the network stays
off: it asks for columns and conditions, row groups whose statistics rule these out are not read, and requests are
counted. The layout is Common Crawl's: `crawl=…/subset=…/part-….parquet`, and `crawl-data/CRAWL/cc-index-table.paths.gz`
lists the files where there is no listing.
"""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pf

from winnow.pipelines.fetch.archives.places import is_web, open_file, open_place
from winnow.pipelines.store.concurrency import map_in_order
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.damage import first_line
from winnow.schemas.errors import SourceError, StoreError
from winnow.schemas.recipe.fetch import ArchiveQuery

CAPTURES: Final = "warc"
ROBOTS: Final = "robotstxt"
TABLE: Final = "cc-index/table/cc-main/warc"  # where Common Crawl has its index, in its bucket
LISTED: Final = "crawl-data/{crawl}/cc-index-table.paths.gz"
NEEDED: Final = ("url", "warc_filename", "warc_record_offset", "warc_record_length")

_PART: Final = re.compile(r"(?:^|/)(crawl|subset)=([^/]+)(?=/)")
_MOST_PATHS_BYTES: Final = 64 << 20
_READERS: Final = 16


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One Parquet file of an index."""

    path: str
    size: int | None  # None: not known until it is opened

    def part(self, name: str) -> str | None:
        """The value of `crawl` or `subset` in its path."""
        return dict(_PART.findall(self.path)).get(name)


@dataclass(slots=True)
class Reads:
    """What an index was asked."""

    requests: int = 0
    bytes: int = 0
    lock: Lock = field(default_factory=Lock)

    def add(self, count: int) -> None:
        """Counts one request."""
        with self.lock:
            self.requests += 1
            self.bytes += count


@dataclass(frozen=True)
class Index:
    """The files of an index."""

    objects: ObjectStore
    files: tuple[IndexFile, ...]
    reads: Reads
    named: str  # as the recipe names it
    beside: "Index | None" = None  # the crawl's own, if this is of a list of captures

    def subset(self, names: Sequence[str] | None) -> "Index":
        """Its files of these subsets; a file whose path names none is of the captures. None: all but robots.txt."""
        chosen = [one for one in self.files if _is_in(one.part("subset") or CAPTURES, names)]
        return replace(self, files=tuple(chosen))

    def table(self, keeps: Callable[[ds.ParquetFileFragment], list[int]] | None = None) -> ds.Dataset:
        """The files as a table; `keeps` says which row groups of a file are worth reading."""
        filesystem = pf.PyFileSystem(_Files(self.objects, {one.path: one.size for one in self.files}, self.reads))
        options = ds.ParquetFragmentScanOptions(pre_buffer=True)
        form = ds.ParquetFileFormat(default_fragment_scan_options=options)
        paths = [one.path for one in self.files]
        try:
            found = ds.dataset(paths, filesystem=filesystem, format=form, partitioning="hive")
            if keeps is None:
                return found
            parts = list(
                map_in_order(lambda one: one.subset(row_group_ids=keeps(one)), found.get_fragments(), _READERS)
            )
            return ds.FileSystemDataset([one for one in parts if one.row_groups], found.schema, form, filesystem)
        except (OSError, pa.ArrowException, StoreError) as error:
            raise SourceError(f"{self.objects.root}: the index cannot be read: {first_line(error)[:300]}") from None


def _is_in(subset: str, names: Sequence[str] | None) -> bool:
    return subset != ROBOTS if names is None else subset in names


def open_index(query: ArchiveQuery) -> Index:
    """The index of a query; SourceError if there are no files."""
    place = query.index or _place_of(query)
    reads = Reads()
    if place.endswith((".paths.gz", ".paths")):
        objects, files = open_place(query.data), _listed(place, query.crawl, reads)
    elif place.endswith(".parquet"):
        objects, name = open_file(place)
        files = [IndexFile(name, None)]
    elif is_web(place):
        raise SourceError(
            f"{place}: a web server lists no files; name a .parquet file, or a list of files as Common Crawl's "
            "cc-index-table.paths.gz"
        )
    else:
        objects = open_place(place)
        found = _files_under(objects, f"crawl={query.crawl}/") if query.crawl else []
        found = found or _files_under(objects, "")
        reads.add(0)
        files = [one for one in found if query.crawl is None or one.part("crawl") in (None, query.crawl)]
        if found and not files:
            crawls = sorted({one.part("crawl") or "" for one in found})
            raise SourceError(f"{place}: no files of {query.crawl}; there are {', '.join(crawls[:10])}")
    if not files:
        raise SourceError(f"{place}: no Parquet files of an index")
    return Index(objects, tuple(sorted(files, key=lambda one: one.path)), reads, place)


def _files_under(objects: ObjectStore, prefix: str) -> list[IndexFile]:
    return [IndexFile(one.path, one.size) for one in objects.list(prefix) if one.path.endswith(".parquet")]


def _place_of(query: ArchiveQuery) -> str:
    """Where a crawl's index is if the recipe does not say."""
    data = query.data.rstrip("/")
    return f"{data}/{LISTED.format(crawl=query.crawl)}" if is_web(data) else f"{data}/{TABLE}"


def _listed(place: str, crawl: str | None, reads: Reads) -> list[IndexFile]:
    objects, name = open_file(place)
    try:
        raw = objects.read(name)
        reads.add(len(raw))
        text = _unpacked(raw) if raw.startswith(b"\x1f\x8b") else raw
        paths = text.decode().split()
    except FileNotFoundError:
        named = f"no crawl {crawl}, or no index of it: " if crawl else ""
        raise SourceError(f"{named}{place} does not exist") from None
    except (EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        raise SourceError(f"{place}: not a list of files ({error})") from None
    return [IndexFile(path, None) for path in paths if path.endswith(".parquet")]


def _unpacked(raw: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        found = stream.read(_MOST_PATHS_BYTES + 1)
    if len(found) > _MOST_PATHS_BYTES:
        raise OSError(f"it unpacks to more than {_MOST_PATHS_BYTES} bytes")
    return found


class _Ranged(io.RawIOBase):
    """A file of an object store, of which each read is one request."""

    def __init__(self, objects: ObjectStore, path: str, size: int, reads: Reads) -> None:
        self._objects = objects
        self._path = path
        self._size = size
        self._reads = reads
        self._at = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._at

    def size(self) -> int:
        """The file's size."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position; asks for nothing."""
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def read(self, count: int | None = -1) -> bytes:
        """Reads in one request."""
        left = max(0, self._size - self._at)
        wanted = left if count is None or count < 0 else min(count, left)
        if not wanted:
            return b""
        found = self._objects.read(self._path, self._at, wanted)
        self._reads.add(len(found))
        self._at += len(found)
        return found


class _Files(pf.FileSystemHandler):
    """The files of an index for Arrow: known by name, and only read."""

    def __init__(self, objects: ObjectStore, sizes: dict[str, int | None], reads: Reads) -> None:
        self._objects = objects
        self._sizes = sizes
        self._reads = reads

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    def get_type_name(self) -> str:
        """What these are called in messages."""
        return "winnow-index"

    def normalize_path(self, path: str) -> str:
        """Paths are as they are."""
        return path

    def get_file_info(self, paths: Iterable[str]) -> list[pf.FileInfo]:
        """Every file of the index is there until it is read."""
        return [pf.FileInfo(path, pf.FileType.File) for path in paths]

    def get_file_info_selector(self, selector: pf.FileSelector) -> list[pf.FileInfo]:  # noqa: ARG002 - Arrow's
        """No folders are looked into."""
        return []

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Opens one of the files."""
        size = self._sizes[path]
        if size is None:
            size = self._sizes[path] = self._objects.size(path)
            self._reads.add(0)
        return pa.PythonFile(_Ranged(self._objects, path, size, self._reads), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """The same."""
        return self.open_input_file(path)

    def _refuse(self, *_: object) -> None:
        raise NotImplementedError("an index is only read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse
