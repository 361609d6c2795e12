"""The files of a source, as a listing says them: columns, of which a file becomes an object when it is asked for."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix
from typing import Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.hash_set import HashSet
from winnow.schemas.errors import SourceError

_FILES = pa.schema([("path", pa.string()), ("size", pa.int64()), ("version", pa.string())])
_AT_ONCE = 1_024  # files that are objects at the same time


class ListedFiles(Sequence[ObjectInfo]):
    """Files of a listing, in its order."""

    def __init__(self, kept: pa.Table) -> None:
        """`kept`: the files, as `of` makes them."""
        self._kept = kept

    @classmethod
    def of(cls, files: Iterable[ObjectInfo]) -> Self:
        """These files."""
        left = iter(files)
        some = iter(lambda: list(itertools.islice(left, _AT_ONCE)), [])
        return cls(pa.Table.from_batches(map(_batch, some), _FILES).combine_chunks())

    @property
    def paths(self) -> pa.ChunkedArray:
        """The path of each."""
        return self._kept["path"]

    @property
    def bytes(self) -> int:
        """The size of all."""
        return int(pc.sum(self._kept["size"]).as_py() or 0)

    def differ(self, numbers: pa.Array, sizes: pa.ChunkedArray, versions: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Whether the files with these numbers have other sizes or versions than these."""
        found = self._kept.take(numbers)
        other = pc.or_(pc.not_equal(found["size"], sizes), pc.not_equal(found["version"], versions))
        changed: NDArray[np.bool_] = other.to_numpy()
        return changed

    def inside(self, paths: "pa.Array | pa.ChunkedArray") -> "ListedFiles":
        """The files that have one of these paths."""
        return ListedFiles(self._kept.filter(pc.is_in(self.paths, value_set=paths)))

    def outside(self, paths: pa.ChunkedArray) -> "ListedFiles":
        """The files that have none of these paths."""
        return ListedFiles(self._kept.filter(pc.invert(pc.is_in(self.paths, value_set=paths))))

    def __len__(self) -> int:
        return int(self._kept.num_rows)

    def __iter__(self) -> Iterator[ObjectInfo]:
        for at in range(0, len(self), _AT_ONCE):
            yield from _files(self._kept.slice(at, _AT_ONCE))

    @overload
    def __getitem__(self, at: int) -> ObjectInfo: ...
    @overload
    def __getitem__(self, at: slice) -> "ListedFiles": ...
    def __getitem__(self, at: int | slice) -> "ObjectInfo | ListedFiles":
        numbers = range(len(self))[at]
        if isinstance(numbers, int):
            return next(_files(self._kept.slice(numbers, 1)))
        return ListedFiles(self._kept.take(pa.array(numbers, pa.int64())))


@dataclass(frozen=True, slots=True)
class Listing:
    """The matching files of one source, sorted by path."""

    source: str
    files: ListedFiles
    unmatched: tuple[str, ...] = ()  # patterns that no file matches, beside others that some do

    @property
    def bytes(self) -> int:
        """Their total size."""
        return self.files.bytes


def list_source(
    source: str, objects: ObjectStore, patterns: Sequence[str], named: str = "", fetched_by: str = ""
) -> Listing:
    """Lists a source; SourceError if no file matches, because that nearly always means a wrong path.

    `objects` is its root; `named` is its name in messages, such as `recipe.yaml:4: sources.crawl`; `fetched_by` is the
    command that writes its files, if there is one.
    """
    unmatched = list(patterns)

    def matching() -> Iterator[ObjectInfo]:
        for info in objects.list(_beginning(patterns)):
            if matches(info.path, patterns):
                if unmatched:
                    unmatched[:] = [pattern for pattern in unmatched if not matches(info.path, [pattern])]
                yield info

    files = ListedFiles.of(matching())
    if fetched_by:  # a file without its rows is of a fetch that was killed
        logs = HashSet(info.path for info in objects.list(layout.FETCHED_LOGS))
        files = ListedFiles.of(info for info in files if layout.fetched_log(info.path) in logs)
        if not files and len(logs):
            raise SourceError(
                f"{named or f'sources.{source}'}: winnow fetch ran, and no address gave a record: each was refused, "
                f"failed or left out, as {objects.root}/{layout.FETCHED_LOGS} says; to ask again for what may pass, "
                f"run: {fetched_by}"
            )
    if not files and fetched_by:
        raise SourceError(f"{named or f'sources.{source}'}: nothing is fetched yet; run: {fetched_by}")
    if not files:
        raise SourceError(
            f"{named or f'sources.{source}'}.files: no file under {objects.root} matches {', '.join(patterns)}; check "
            "'root' and 'files'"
        )
    return Listing(source, files, tuple(unmatched))


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path relative to the root matches a pattern: `**` crosses folders, `*` does not.

    As in a shell, no wildcard stands for the dot at the beginning of a hidden file or folder.
    """
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


def _beginning(patterns: Sequence[str]) -> str:
    """What the first name of every path that matches begins with: a root may hold a million other files."""
    return commonprefix([re.split(r"[*?/]", pattern, maxsplit=1)[0] for pattern in patterns])  # noqa: RUF071  of characters, as stores list


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    names = [before.endswith("/") for before in ("/", *pieces[:-1])]
    return re.compile("".join(map(_expression, pieces, names)), re.DOTALL)


def _expression(piece: str, begins_name: bool) -> str:
    """The regular expression of a piece of a pattern, which may be at the beginning of a file's or folder's name."""
    shown = r"(?!\.)" if begins_name else ""
    special = {
        "**/": rf"(?:{shown}[^/]+/(?:(?!\.)[^/]+/)*)?",
        "**": rf"{shown}[^/]*(?:/(?!\.)[^/]*)*",
        "*": f"{shown}[^/]*",
        "?": f"{shown}[^/]",
    }
    return special.get(piece) or re.escape(piece)


def _batch(files: Sequence[ObjectInfo]) -> pa.RecordBatch:
    columns = zip(*((file.path, file.size, file.version) for file in files), strict=True)
    return pa.RecordBatch.from_pydict(dict(zip(_FILES.names, map(list, columns), strict=True)), schema=_FILES)


def _files(kept: pa.Table) -> Iterator[ObjectInfo]:
    return map(ObjectInfo, *(kept[name].to_pylist() for name in _FILES.names))
