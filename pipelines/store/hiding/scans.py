"""Determines which rows of which objects tombstones hide, from stored scan results or a new scan.

A stored scan is a small table: for some objects and some tombstones, the rows that match. Objects and tombstones never
change, so a scan stays valid. Objects that no scan covers are scanned when needed: hiding never waits
for a writer.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hiding.matching import Matcher, merged_rows
from winnow.pipelines.store.hiding.redaction import is_redacted
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError, missing
from winnow.pipelines.store.tables import put_table, read_batches, read_table
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.records import from_json, to_json
from winnow.schemas.tombstones import Selectors, Tombstone

READERS = 16
_ATTEMPTS = 5

_ROWS = pa.list_(pa.field("item", pa.int32(), nullable=False))
SCAN = pa.schema(
    [
        pa.field("samples", pa.string(), nullable=False),  # the samples object that has these rows
        pa.field("object", pa.string(), nullable=False),  # the scanned object: the same, or a layer beside it
        pa.field("rows", _ROWS, nullable=False),  # the hidden rows
        pa.field("pending", _ROWS, nullable=False),  # those of them that still have content
    ]
)
TAKEN = pa.schema([*SCAN, pa.field("tombstones", pa.list_(pa.string()), nullable=False)])
_TOMBSTONES = b"tombstones.2"  # renamed whenever matching covers more rows, because older scans missed them


@dataclass(frozen=True)
class HiddenRows:
    """Sorted row numbers of one shard."""

    rows: NDArray[np.int64]
    pending: NDArray[np.int64]  # those that still have content to forget

    @classmethod
    def merged(cls, parts: Iterable["HiddenRows"]) -> "HiddenRows":
        """The union of the parts."""
        held = list(parts)
        return cls(merged_rows(part.rows for part in held), merged_rows(part.pending for part in held))


NOTHING = HiddenRows(merged_rows(()), merged_rows(()))


@dataclass(frozen=True)
class Scan:
    """The scan result for one object."""

    samples: str
    object: str
    found: HiddenRows


@dataclass
class Hiding:
    """The tombstones of a store, and their stored scans."""

    tombstones: Mapping[str, Selectors]  # by name
    scans: tuple[str, ...] = ()  # the objects of the scans
    _covered: dict[str, frozenset[str]] = field(default_factory=dict)  # tombstones, by scanned object
    _found: dict[str, dict[str, HiddenRows]] = field(default_factory=dict)  # by samples object and scanned object
    _matchers: dict[frozenset[str], Matcher] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __bool__(self) -> bool:
        return bool(self.tombstones)

    @cached_property
    def selectors(self) -> Selectors:
        """The selectors of all tombstones."""
        return Selectors.merged(self.tombstones.values())

    @cached_property
    def reads_texts(self) -> bool:
        """Whether a tombstone selects texts by hash, so that extracted texts are scanned too."""
        return any(tombstone.sha256 for tombstone in self.tombstones.values())

    def of(self, objects: ObjectStore, samples: str, texts: Sequence[str] = ()) -> HiddenRows:
        """The hidden rows of a shard, given its samples object and its known objects of extracted texts."""
        if not self:
            return NOTHING
        self.scan_missing(objects, samples, texts)
        return HiddenRows.merged(self._found.get(samples, {}).values())

    def lacks(self, samples: str, texts: Sequence[str] = ()) -> bool:
        """Whether a scan is missing for a shard."""
        every = self.tombstones.keys()
        paths = (samples, *(texts if self.reads_texts else ()))
        return any(not every <= self._covered.get(path, frozenset()) for path in paths)

    def scan_missing(
        self, objects: ObjectStore, samples: str, texts: Sequence[str] = ()
    ) -> list[tuple[frozenset[str], Scan]]:
        """Scans objects that no scan covers; returns the results, with the tombstones searched for."""
        taken = []
        every = frozenset(self.tombstones)
        for path in (samples, *(texts if self.reads_texts else ())):
            missing = every - self._covered.get(path, frozenset())
            if missing:
                matcher = self._matchers.get(missing)
                if matcher is None:
                    merged = Selectors.merged(self.tombstones[name] for name in sorted(missing))
                    matcher = self._matchers.setdefault(missing, Matcher(merged))
                scan = scan_object(objects, matcher, samples, path)
                self.add(missing, scan)
                taken.append((missing, scan))
        return taken

    def add(self, tombstones: frozenset[str], scan: Scan) -> None:
        """Adds the result of a scan."""
        with self._lock:
            self._covered[scan.object] = self._covered.get(scan.object, frozenset()) | tombstones
            by_object = self._found.setdefault(scan.samples, {})
            known = by_object.get(scan.object)
            by_object[scan.object] = scan.found if known is None else HiddenRows.merged((known, scan.found))

    def scanned(self, samples: str, path: str) -> Scan:
        """The combined result for an object that was scanned for every tombstone."""
        return Scan(samples, path, self._found[samples][path])


def scan_object(objects: ObjectStore, matcher: Matcher, samples: str, path: str) -> Scan:
    """Scans the samples of a shard, or the texts of a layer beside them, for selectors."""
    rows: list[NDArray[np.int64]] = []
    pending: list[NDArray[np.int64]] = []
    at = 0
    for batch in read_batches(objects, path, matcher.columns if path == samples else ["text"]):
        if path == samples:
            marked = is_redacted(batch)
            meant = matcher.rows(batch) & ~marked
        else:
            meant = matcher.texts(batch["text"])
            marked = np.zeros(batch.num_rows, np.bool_)
        rows.append(np.flatnonzero(meant | marked) + at)
        pending.append(np.flatnonzero(meant) + at)
        at += batch.num_rows
    return Scan(samples, path, HiddenRows(merged_rows(rows), merged_rows(pending)))


def put_tombstone(objects: ObjectStore, tombstone: Tombstone) -> tuple[str, bool]:
    """Puts a tombstone; returns its name, and whether it is new. The rows it selects are hidden from now on."""
    raw = to_json(tombstone)
    name = content_name(raw)
    for _ in range(_ATTEMPTS):
        try:
            return name, objects.put_if_absent(layout.tombstone(name), raw)
        except FileNotFoundError:  # a collector mistook our unfinished file for one of a dead writer
            continue
    raise StoreError(f"{objects.root}: the tombstone could not be put while a collector runs; forget again")


def load_tombstones(objects: ObjectStore) -> dict[str, Tombstone]:
    """Every tombstone by name."""
    paths = [info.path for info in objects.list(layout.TOMBSTONES) if info.path.endswith(".json")]

    def load(path: str) -> tuple[str, Tombstone]:
        name = path.removeprefix(layout.TOMBSTONES).removesuffix(".json")
        return name, from_json(Tombstone, read_content(objects, path), f"{objects.root}/{path}")

    if not paths:
        return {}
    with ThreadPoolExecutor(READERS) as pool:
        return dict(pool.map(load, paths))


def store_scans(objects: ObjectStore, taken: Iterable[tuple[frozenset[str], Scan]]) -> list[str]:
    """Stores scans, one table per set of tombstones; returns their paths."""
    by_set: dict[frozenset[str], list[Scan]] = {}
    for tombstones, scan in taken:
        by_set.setdefault(tombstones, []).append(scan)
    paths = []
    for tombstones in sorted(by_set, key=sorted):
        scans = sorted(by_set[tombstones], key=lambda scan: (scan.samples, scan.object))
        schema = SCAN.with_metadata({_TOMBSTONES: orjson.dumps(sorted(tombstones))})
        table = pa.Table.from_arrays(_columns(scans), schema=schema)
        paths.append(put_table(objects, table, layout.hidden).path)
    return paths


def taken_batch(taken: Iterable[tuple[frozenset[str], Scan]]) -> pa.RecordBatch:
    """Scans on their way from a task, each with the tombstones that it searched for."""
    held = list(taken)
    names = pa.array([sorted(tombstones) for tombstones, _ in held], TAKEN.field("tombstones").type)
    return pa.RecordBatch.from_arrays([*_columns([scan for _, scan in held]), names], schema=TAKEN)


def taken_of(batch: pa.RecordBatch) -> Iterator[tuple[frozenset[str], Scan]]:
    """The inverse of `taken_batch`."""
    return zip(map(frozenset, batch["tombstones"].to_pylist()), _scans(batch), strict=True)


def _columns(scans: Sequence[Scan]) -> list[pa.Array]:
    return [
        pa.array([scan.samples for scan in scans], pa.string()),
        pa.array([scan.object for scan in scans], pa.string()),
        _lists([scan.found.rows for scan in scans]),
        _lists([scan.found.pending for scan in scans]),
    ]


def _lists(rows: Sequence[NDArray[np.int64]]) -> pa.ListArray:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    values = np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=_ROWS)


_last: tuple[tuple[str, ...], tuple[str, ...], Hiding] | None = None
_unhidden: set[str] = set()  # stores that have no tombstone, and no scan that names a lost one


def load_hiding(objects: ObjectStore, *, fresh: bool = False) -> Hiding:
    """The current tombstones and scans; `fresh` ignores this process's cache.

    Both are named by content, so an unchanged set is read once. A scan names the tombstones that it searched for, so a
    lost tombstone is noticed: its rows stay hidden, or reading them is an error.
    """
    global _last
    names = tuple(info.path for info in objects.list(layout.TOMBSTONES))
    address = objects.root if "://" in objects.root else os.path.abspath(objects.root)
    if not names and address in _unhidden:
        return Hiding({})
    scans = tuple(info.path for info in objects.list(layout.HIDDEN))
    if not fresh and _last is not None and _last[:2] == (names, scans):
        return _last[2]
    hiding = Hiding({name: Selectors.of(one) for name, one in load_tombstones(objects).items()}, scans)
    for path in scans:
        try:
            table = read_table(objects, path)
        except (DamagedError, MissingError):  # also if collected since it was listed: its objects are scanned again
            continue
        tombstones = frozenset(orjson.loads((table.schema.metadata or {}).get(_TOMBSTONES, b"[]")))
        if lost := sorted(tombstones - hiding.tombstones.keys()):
            raise missing(objects.root, layout.tombstone(lost[0]))
        _add(hiding, tombstones, table)
    if not names:
        _unhidden.add(address)
    _last = names, scans, hiding
    return hiding


def _add(hiding: Hiding, tombstones: frozenset[str], table: pa.Table) -> None:
    for batch in table.combine_chunks().to_batches():
        for scan in _scans(batch):
            hiding.add(tombstones, scan)


def _scans(batch: pa.RecordBatch) -> Iterator[Scan]:
    columns = [batch[name] for name in SCAN.names]
    lengths = pc.list_value_length(columns[2]).to_numpy(zero_copy_only=False)
    empty = merged_rows(())
    for index, (samples, path) in enumerate(zip(columns[0].to_pylist(), columns[1].to_pylist(), strict=True)):
        found = NOTHING
        if lengths[index]:
            rows, pending = (column[index].values.to_numpy().astype(np.int64) for column in columns[2:])
            found = HiddenRows(rows, pending if len(pending) else empty)
        yield Scan(samples, path, found)
