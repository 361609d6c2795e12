"""The addresses that are to be asked, in a file that is mapped: only the starts of hosts are in memory.

Rows lie by domain and host, so that a host's addresses are a span of rows.
"""

import weakref
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.pipelines.fetch.live.schedule import Span

_ROWS: Final = 16_384
QUEUE: Final = pa.schema(
    [
        pa.field("url", pa.string()),
        pa.field("canonical", pa.string()),
        pa.field("host", pa.string()),
        pa.field("domain", pa.string()),
        pa.field("etag", pa.string()),  # of the newest record of it
        pa.field("last_modified", pa.string()),
        pa.field("record_url", pa.string()),
        pa.field("recorded_at", pa.int64()),  # microseconds since 1970
    ]
)


@dataclass(frozen=True, slots=True)
class QueuedAddress:
    """An address that is to be asked."""

    url: str
    canonical: str
    host: str
    domain: str
    etag: str | None
    last_modified: str | None
    record_url: str | None
    recorded_at: int | None


class Queue:
    """The addresses to be asked, on the disk."""

    def __init__(self, folder: TemporaryDirectory[str], file: Path, starts: "array[int]", firsts: "array[int]") -> None:
        """Open what `write_queue` wrote: the first row of each host, and the first host of each domain."""
        weakref.finalize(self, folder.cleanup)  # what is mapped stays readable
        self._starts, self._firsts = starts, firsts
        self._file = pa.memory_map(str(file))
        self._reader = pa.ipc.open_file(self._file)
        self._batch = lru_cache(1_024)(self._reader.get_batch)  # of mapped bytes
        self._columns = lru_cache(1_024)(lambda number: self._batch(number).columns)

    @property
    def hosts(self) -> int:
        """How many hosts have addresses in it."""
        return len(self._starts) - 1

    @property
    def domains(self) -> int:
        """How many registered domains have."""
        return len(self._firsts) - 1

    def __len__(self) -> int:
        """How many addresses it has."""
        return self._starts[-1]

    def __getitem__(self, row: int) -> QueuedAddress:
        """One address."""
        return QueuedAddress(*(column[row % _ROWS].as_py() for column in self._columns(row // _ROWS)))

    def rows(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Addresses, many at a time."""
        while start < stop:
            batch, place = self._batch(start // _ROWS), start % _ROWS
            found = batch.slice(place, min(stop - start, _ROWS - place))
            yield found
            start += found.num_rows

    def domain_starts(self) -> npt.NDArray[np.int64]:
        """The first row of each domain, and the number of rows."""
        return np.frombuffer(self._starts, np.int64)[np.frombuffer(self._firsts, np.int64)]

    def spans(self) -> Iterator[Iterator[Span]]:
        """For each domain the spans of its hosts."""
        for first, last in zip(self._firsts, self._firsts[1:], strict=False):
            yield self._hosts_of(first, last)

    def _hosts_of(self, first: int, last: int) -> Iterator[Span]:
        for host in range(first, last):
            start, stop = self._starts[host], self._starts[host + 1]
            one = self[start]
            yield Span(one.host, one.domain, start, stop)


def write_queue(rows: pa.RecordBatchReader, folder: TemporaryDirectory[str], name: str) -> Queue:
    """Write rows of `QUEUE`, which are in order of domains and hosts, and note where these start."""
    file = Path(folder.name) / f"{name}.arrow"
    starts, firsts = array("q"), array("q")
    last: tuple[str, str] | None = None
    row = 0
    with pa.ipc.new_file(str(file), QUEUE) as writer:
        for batch in _even(rows):
            for host in zip(batch.column("domain").to_pylist(), batch.column("host").to_pylist(), strict=True):
                if host != last:
                    if last is None or host[0] != last[0]:
                        firsts.append(len(starts))
                    starts.append(row)
                    last = host
                row += 1
            writer.write_batch(batch)
    firsts.append(len(starts))
    starts.append(row)
    return Queue(folder, file, starts, firsts)


def _even(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of equal size, so that a row's batch is known by its number."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for one in batches:
        batch = one
        while rows + batch.num_rows >= _ROWS:
            held.append(batch.slice(0, _ROWS - rows))
            batch, rows = batch.slice(_ROWS - rows), 0
            yield from pa.Table.from_batches(held).cast(QUEUE).combine_chunks().to_batches()
            held = []
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
    if held:
        yield from pa.Table.from_batches(held).cast(QUEUE).combine_chunks().to_batches()
