"""Which rows of which objects tombstones hide, known from looks that were taken and taken anew where none was.

A look is a small table that says, of some objects and some tombstones, which rows are meant. Objects never change and
neither do tombstones, so a look stays true. What no look covers is looked at when it is asked for: hiding never waits
for a writer.
"""

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.forgetting.matching import Matcher, merged_rows
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.neutral import is_neutral
from winnow.pipelines.store.tables import put_table, read_batches, read_table
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.records import from_json, to_json
from winnow.schemas.tombstones import Selectors, Tombstone

READERS = 16
_ATTEMPTS = 5

_ROWS = pa.list_(pa.field("item", pa.int32(), nullable=False))
LOOK = pa.schema(
    [
        pa.field("samples", pa.string(), nullable=False),  # the object of samples whose rows these are
        pa.field("object", pa.string(), nullable=False),  # what was looked at: it, or a layer beside it
        pa.field("rows", _ROWS, nullable=False),  # that are hidden
        pa.field("pending", _ROWS, nullable=False),  # those of them that still hold something
    ]
)
_TOMBSTONES = b"tombstones.2"  # another name whenever rows come to be meant that were not: older looks missed them


@dataclass(frozen=True)
class HiddenRows:
    """Numbers of rows of one shard, sorted."""

    rows: NDArray[np.int64]
    pending: NDArray[np.int64]  # those that still hold what is to be forgotten

    @classmethod
    def merged(cls, parts: Iterable["HiddenRows"]) -> "HiddenRows":
        """Those of all parts."""
        held = list(parts)
        return cls(merged_rows(part.rows for part in held), merged_rows(part.pending for part in held))


NOTHING = HiddenRows(merged_rows(()), merged_rows(()))


@dataclass(frozen=True)
class Look:
    """What was found in one object."""

    samples: str
    object: str
    found: HiddenRows


@dataclass
class Hiding:
    """The tombstones of a store, and the looks that were taken for them."""

    tombstones: Mapping[str, Selectors]  # by name
    looks: tuple[str, ...] = ()  # the objects that hold the looks
    _covered: dict[str, frozenset[str]] = field(default_factory=dict)  # tombstones, by the object looked at
    _found: dict[str, dict[str, HiddenRows]] = field(default_factory=dict)  # by samples and object looked at
    _matchers: dict[frozenset[str], Matcher] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __bool__(self) -> bool:
        return bool(self.tombstones)

    @cached_property
    def selectors(self) -> Selectors:
        """Those of all tombstones."""
        return Selectors.merged(self.tombstones.values())

    @cached_property
    def reads_texts(self) -> bool:
        """Whether some tombstone means texts by their hash: then extracted texts are looked at as well."""
        return any(one.sha256 for one in self.tombstones.values())

    def of(self, objects: ObjectStore, samples: str, texts: Sequence[str] = ()) -> HiddenRows:
        """The hidden rows of a shard.

        Args:
            objects: Where it is.
            samples: Its object of `samples`.
            texts: Its objects of extracted texts, as far as they are known.
        """
        if not self:
            return NOTHING
        self.take(objects, samples, texts)
        return HiddenRows.merged(self._found.get(samples, {}).values())

    def take(self, objects: ObjectStore, samples: str, texts: Sequence[str] = ()) -> list[tuple[frozenset[str], Look]]:
        """Look at what no look covers; returns what was seen, with the tombstones that were looked for."""
        taken = []
        every = frozenset(self.tombstones)
        for path in (samples, *(texts if self.reads_texts else ())):
            missing = every - self._covered.get(path, frozenset())
            if missing:
                matcher = self._matchers.get(missing)
                if matcher is None:
                    merged = Selectors.merged(self.tombstones[name] for name in sorted(missing))
                    matcher = self._matchers.setdefault(missing, Matcher(merged))
                look = look_at(objects, matcher, samples, path)
                self.add(missing, look)
                taken.append((missing, look))
        return taken

    def add(self, tombstones: frozenset[str], look: Look) -> None:
        """Take a look into account."""
        with self._lock:
            self._covered[look.object] = self._covered.get(look.object, frozenset()) | tombstones
            beside = self._found.setdefault(look.samples, {})
            known = beside.get(look.object)
            beside[look.object] = look.found if known is None else HiddenRows.merged((known, look.found))

    def look(self, samples: str, path: str) -> Look:
        """All that is known of an object that every tombstone was looked for in."""
        return Look(samples, path, self._found[samples][path])


def look_at(objects: ObjectStore, matcher: Matcher, samples: str, path: str) -> Look:
    """Look for selectors in the samples of a shard, or in the texts of a layer beside them."""
    rows: list[NDArray[np.int64]] = []
    pending: list[NDArray[np.int64]] = []
    at = 0
    for batch in read_batches(objects, path, matcher.columns if path == samples else ["text"]):
        if path == samples:
            marked = is_neutral(batch)
            meant = matcher.rows(batch) & ~marked
        else:
            meant = matcher.texts(batch["text"])
            marked = np.zeros(batch.num_rows, np.bool_)
        rows.append(np.flatnonzero(meant | marked) + at)
        pending.append(np.flatnonzero(meant) + at)
        at += batch.num_rows
    return Look(samples, path, HiddenRows(merged_rows(rows), merged_rows(pending)))


def put_tombstone(objects: ObjectStore, tombstone: Tombstone) -> tuple[str, bool]:
    """Put a tombstone; its name, and whether it is new. From here on what it means is hidden from every reader."""
    raw = to_json(tombstone)
    name = content_name(raw)
    for _ in range(_ATTEMPTS):
        try:
            return name, objects.put_if_absent(layout.tombstone(name), raw)
        except FileNotFoundError:  # a collector that cleared what dead writers left took our unfinished file for such
            continue
    raise StoreError(f"{objects.root}: the tombstone could not be put while a collector runs; forget again")


def load_tombstones(objects: ObjectStore) -> dict[str, Tombstone]:
    """Every tombstone by its name."""
    paths = [info.path for info in objects.list(layout.TOMBSTONES) if info.path.endswith(".json")]

    def load(path: str) -> tuple[str, Tombstone]:
        name = path.removeprefix(layout.TOMBSTONES).removesuffix(".json")
        return name, from_json(Tombstone, objects.read(path), f"{objects.root}/{path}")

    if not paths:
        return {}
    with ThreadPoolExecutor(READERS) as pool:
        return dict(pool.map(load, paths))


def put_looks(objects: ObjectStore, taken: Iterable[tuple[frozenset[str], Look]]) -> list[str]:
    """Write looks down, a table for each set of tombstones; returns where they are."""
    by_set: dict[frozenset[str], list[Look]] = {}
    for tombstones, look in taken:
        by_set.setdefault(tombstones, []).append(look)
    paths = []
    for tombstones in sorted(by_set, key=sorted):
        looks = sorted(by_set[tombstones], key=lambda look: (look.samples, look.object))
        columns: list[list[object]] = [
            [look.samples for look in looks],
            [look.object for look in looks],
            [look.found.rows.tolist() for look in looks],
            [look.found.pending.tolist() for look in looks],
        ]
        schema = LOOK.with_metadata({_TOMBSTONES: orjson.dumps(sorted(tombstones))})
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, LOOK, strict=True)]
        paths.append(put_table(objects, pa.Table.from_arrays(arrays, schema=schema), layout.hidden).path)
    return paths


_last: tuple[tuple[str, ...], tuple[str, ...], Hiding] | None = None


def load_hiding(objects: ObjectStore, *, fresh: bool = False) -> Hiding:
    """What is hidden, as of now. Tombstones and looks are named by their content, so equal names are read once.

    Args:
        objects: The store's.
        fresh: Know nothing but what is written down.
    """
    global _last
    names = tuple(info.path for info in objects.list(layout.TOMBSTONES))
    if not names:
        return Hiding({})
    looks = tuple(info.path for info in objects.list(layout.HIDDEN))
    if not fresh and _last is not None and _last[:2] == (names, looks):
        return _last[2]
    hiding = Hiding({name: Selectors.of(one) for name, one in load_tombstones(objects).items()}, looks)
    for path in looks:
        with contextlib.suppress(StoreError):  # lost, or collected since it was listed: its rows are looked at again
            _add(hiding, read_table(objects, path))
    _last = names, looks, hiding
    return hiding


def _add(hiding: Hiding, table: pa.Table) -> None:
    tombstones = frozenset(orjson.loads((table.schema.metadata or {}).get(_TOMBSTONES, b"[]")))
    columns = [table[name].combine_chunks() for name in LOOK.names]
    lengths = pc.list_value_length(columns[2]).to_numpy()
    empty = merged_rows(())
    for index, (samples, path) in enumerate(zip(columns[0].to_pylist(), columns[1].to_pylist(), strict=True)):
        found = NOTHING
        if lengths[index]:
            rows, pending = (column[index].values.to_numpy().astype(np.int64) for column in columns[2:])
            found = HiddenRows(rows, pending if len(pending) else empty)
        hiding.add(tombstones, Look(samples, path, found))
