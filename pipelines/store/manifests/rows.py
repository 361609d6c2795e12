"""The rows of a manifest, kept as columns: a row becomes an object when it is asked for, and is not kept.

A store has a row for each layer of each shard, and a driver holds the manifests of all layers. Names that repeat are
kept once, and of a path only what its row does not say already: the hash of its content, and its place, in which `\\0`
stands for the shard and the hash.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.schemas.records import values_hash

MANIFEST = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("shard", pa.string(), nullable=False),
        pa.field("task", pa.string()),
        pa.field("object", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("values", pa.string(), nullable=False),
        pa.field("samples", pa.string(), nullable=False),
        pa.field("statistics", pa.string(), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
    ]
)
"""The columns of a manifest as it is stored, and the fields of its rows."""


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One object of one layer in a generation."""

    source: str
    key: str
    shard: str
    task: str | None
    object: str
    rows: int
    bytes: int
    values: str
    samples: str  # the object whose rows these are aligned with
    statistics: str
    fingerprint: str


_AT_ONCE = 2_048  # rows that are objects, or decoded, at the same time
_NEAR = 64  # rows that are decoded when they are asked for one after another
_FORM = r"^(?P<before>(?s:.*/)?)(?P<shard>[^/]+)\.(?P<content>[0-9a-f]{16})(?P<after>(?s:\.[^/]*)?)$"
_NO_DIGITS = "0" * 16
_FEW = pa.dictionary(pa.int32(), pa.string())
_REPEATED = ("source", "key", "fingerprint")
_PATHS = ("object", "samples", "statistics")
_KEPT = pa.schema(
    [
        *((name, _FEW) for name in _REPEATED),
        *(MANIFEST.field(name) for name in ("shard", "task", "rows", "bytes", "values")),
        *((f"{name}.place", _FEW) for name in _PATHS),
        *((f"{name}.content", pa.binary(8)) for name in _PATHS),
    ]
)


class ManifestRows(Sequence[ManifestRow]):
    """Rows of manifests, ordered by shard and key."""

    def __init__(self, kept: pa.Table) -> None:
        """`kept`: ordered rows, as `of_batches` makes them."""
        self._kept = kept
        self._near: tuple[int, list[ManifestRow]] = (0, [])  # the row that was asked for last, and some after it

    @classmethod
    def of_batches(cls, batches: Iterable[pa.RecordBatch]) -> Self:
        """The rows of a stored manifest, which is ordered."""
        kept = pa.Table.from_batches(
            [_kept(batch.slice(at, _AT_ONCE)) for batch in batches for at in range(0, len(batch), _AT_ONCE)], _KEPT
        )
        return cls(kept.unify_dictionaries().combine_chunks())

    @classmethod
    def of(cls, rows: Iterable[ManifestRow]) -> "ManifestRows":
        """These rows, in any order."""
        return cls.of_batches(_as_stored(some) for some in _batches(rows))._ordered()

    @classmethod
    def joined(cls, parts: Iterable["ManifestRows"]) -> "ManifestRows":
        """The rows of all parts."""
        some = [part for part in parts if len(part)]
        if len(some) == 1:
            return some[0]
        kept = pa.concat_tables([_KEPT.empty_table(), *(part._kept for part in some)])
        return cls(kept.unify_dictionaries().combine_chunks())._ordered()

    def _ordered(self) -> "ManifestRows":
        keys = pa.table({"shard": self._kept["shard"], "key": self._kept["key"].cast(pa.string())})
        order = pc.sort_indices(keys, [("shard", "ascending"), ("key", "ascending")]).to_numpy().astype(np.int64)
        return self if bool((np.diff(order) > 0).all()) else self._taken(order)

    @property
    def keys(self) -> list[str]:
        """Every key, once."""
        return sorted(set(self._texts("key")))

    @property
    def sources(self) -> tuple[str, ...]:
        """Every source, once."""
        return tuple(sorted(set(self._texts("source"))))

    @property
    def environments(self) -> dict[str, int]:
        """The number of objects by fingerprint."""
        return dict(sorted(Counter(self._texts("fingerprint")).items()))

    @property
    def key_of_source(self) -> dict[str, str]:
        """The key of each source; the rows of a source have one."""
        return dict(sorted(set(zip(self._texts("source"), self._texts("key"), strict=True))))

    @property
    def bytes(self) -> int:
        """The bytes of all objects."""
        return int(pc.sum(self._kept["bytes"]).as_py() or 0)

    @property
    def rows(self) -> int:
        """The rows of all objects."""
        return int(pc.sum(self._kept["rows"]).as_py() or 0)

    def numbers(self, name: Literal["rows", "bytes"]) -> NDArray[np.int64]:
        """A number of each row; no row is made for it."""
        found: NDArray[np.int64] = self._column(name).to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def texts(self, name: Literal["shard", "source"]) -> list[str]:
        """A text of each row."""
        return self._texts(name) if name == "source" else [text for part in self._pieces(name) for text in part]

    @property
    def hash(self) -> str:
        """One hash for the values of all objects, which have one key."""
        pieces = zip(self._pieces("shard"), self._pieces("values"), strict=True)
        return values_hash(itertools.chain.from_iterable(zip(*piece, strict=True) for piece in pieces))

    def read_by(self, keys: Mapping[str, str]) -> "ManifestRows":
        """The rows that have the key of their source."""
        return self.where(
            keys.get(source) == key for source, key in zip(self._texts("source"), self._texts("key"), strict=True)
        )

    def by_key(self) -> "dict[str, ManifestRows]":
        """The rows of each key."""
        return {key: self.where(text == key for text in self._texts("key")) for key in self.keys}

    def where(self, wanted: Iterable[bool]) -> "ManifestRows":
        """The rows for which it is true, one value a row."""
        mask = np.fromiter(wanted, np.bool_, len(self))
        return self if mask.all() else self._taken(np.flatnonzero(mask))

    def last_of_each_shard(self) -> "ManifestRows":
        """The rows without those that a later one of the same shard follows."""
        shards = self._kept["shard"]
        differs = pc.not_equal(shards.slice(1), shards.slice(0, max(len(self) - 1, 0))).to_numpy()
        return self.where([*differs.tolist(), True] if len(self) else [])

    @cached_property
    def by_shard(self) -> Mapping[str, ManifestRow]:
        """The rows by shard, if all are of different ones; the next shard's row is found soonest."""
        return _ByShard(self)

    @cached_property
    def objects(self) -> Mapping[str, str]:
        """The object of each shard, if all rows are of different ones."""
        return _Objects(self)

    def stored(self) -> Iterator[pa.RecordBatch]:
        """The rows as a manifest stores them."""
        return map(_as_stored, _batches(self))

    def alike(self, other: "ManifestRows", names: Iterable[str]) -> bool:
        """Whether both have the same values in these columns, in the same order."""
        parts = [
            part for name in names for part in ([f"{name}.place", f"{name}.content"] if name in _PATHS else [name])
        ]
        return len(self) == len(other) and all(self._plain(part).equals(other._plain(part)) for part in parts)

    def aligned(self, samples: "ManifestRows") -> bool:
        """Whether these are objects over those of the samples: as many shards, in their order, with as many rows."""
        return self.alike(samples, ("shard", "rows")) and all(
            self._plain(f"samples.{part}").equals(samples._plain(f"object.{part}")) for part in ("place", "content")
        )

    def shared_paths(self, other: "ManifestRows", name: str) -> int:
        """How many rows have the path in a column that the row at the same place of others, of as many, has."""
        place, content = (
            pc.equal(self._plain(part), other._plain(part)) for part in (f"{name}.place", f"{name}.content")
        )
        return int(pc.sum(pc.and_(place, content)).as_py() or 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManifestRows):
            return NotImplemented
        return self.alike(other, MANIFEST.names)

    __hash__ = None  # type: ignore[assignment]

    def _plain(self, name: str) -> pa.ChunkedArray:
        return self._kept[name].cast(pa.string()) if _KEPT.field(name).type == _FEW else self._kept[name]

    def _pieces(self, name: str) -> Iterator[list[str]]:
        column = self._column(name)
        return (column[at : at + _AT_ONCE].to_pylist() for at in range(0, len(self), _AT_ONCE))

    def __len__(self) -> int:
        return int(self._kept.num_rows)

    def __iter__(self) -> Iterator[ManifestRow]:
        for at in range(0, len(self), _AT_ONCE):
            yield from self._rows(at, min(at + _AT_ONCE, len(self)))

    @overload
    def __getitem__(self, at: int) -> ManifestRow: ...
    @overload
    def __getitem__(self, at: slice) -> "ManifestRows": ...
    def __getitem__(self, at: int | slice) -> "ManifestRow | ManifestRows":
        if isinstance(at, slice):
            return self._taken(np.arange(len(self))[at])
        number = at + len(self) if at < 0 else at
        if not 0 <= number < len(self):
            raise IndexError(at)
        start, rows = self._near
        if not start <= number < start + len(rows):
            most = _NEAR if number == start + len(rows) else 1  # after its neighbour, more will be asked for
            start, rows = self._near = number, list(self._rows(number, min(number + most, len(self))))
        return rows[number - start]

    def _rows(self, start: int, end: int) -> Iterator[ManifestRow]:
        shards = self._column("shard")[start:end].to_pylist()
        columns: dict[str, Sequence[Any]] = {"shard": shards}
        for name in ("task", "rows", "bytes", "values"):
            columns[name] = self._column(name)[start:end].to_pylist()
        for name in _REPEATED:
            columns[name] = self._texts(name, start, end)
        for name in _PATHS:
            places = self._texts(f"{name}.place", start, end)
            contents = self._column(f"{name}.content")[start:end].to_pylist()
            columns[name] = [_path(*parts) for parts in zip(places, shards, contents, strict=True)]
        return map(ManifestRow, *(columns[name] for name in MANIFEST.names))

    def _texts(self, name: str, start: int = 0, end: int | None = None) -> list[str]:
        """The values of a column that has few."""
        codes, texts = self._coded(name)
        return [texts[code] for code in codes[start:end].tolist()]

    def _coded(self, name: str) -> tuple[NDArray[np.int32], list[str]]:
        known = self._decoded.get(name)
        if known is None:
            column = self._column(name)
            known = self._decoded[name] = column.indices.to_numpy(), column.dictionary.to_pylist()
        return known

    @cached_property
    def _decoded(self) -> dict[str, tuple[NDArray[np.int32], list[str]]]:
        return {}

    def _column(self, name: str) -> pa.Array:
        column = self._kept[name]
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)

    def _taken(self, numbers: NDArray[np.int64]) -> "ManifestRows":
        return ManifestRows(self._kept.take(pa.array(numbers)).combine_chunks())


class _ByShard(Mapping[str, ManifestRow]):
    def __init__(self, rows: ManifestRows) -> None:
        self._rows = rows
        self._shards = rows._column("shard")
        self._next = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self._rows._pieces("shard"))

    def __getitem__(self, shard: str) -> ManifestRow:
        return self._rows[self._number(shard)]

    def __contains__(self, shard: object) -> bool:
        try:
            return isinstance(shard, str) and self._number(shard) >= 0
        except KeyError:
            return False

    def _number(self, shard: str) -> int:
        for at in (self._next, self._next - 1):  # it is often asked whether a shard is there first
            if 0 <= at < len(self) and self._shards[at].as_py() == shard:
                break
        else:
            at = bisect.bisect_left(self._shards, shard, key=pa.StringScalar.as_py)
            if at == len(self) or self._shards[at].as_py() != shard:
                raise KeyError(shard)
        self._next = at + 1
        return at


class _Objects(Mapping[str, str]):
    def __init__(self, rows: ManifestRows) -> None:
        self._rows = rows.by_shard

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, shard: object) -> bool:
        return shard in self._rows

    def __getitem__(self, shard: str) -> str:
        return self._rows[shard].object


def _batches(rows: Iterable[ManifestRow]) -> Iterator[list[ManifestRow]]:
    left = iter(rows)
    return iter(lambda: list(itertools.islice(left, _AT_ONCE)), [])


def _as_stored(rows: Sequence[ManifestRow]) -> pa.RecordBatch:
    columns = {name: [getattr(row, name) for row in rows] for name in MANIFEST.names}
    return pa.RecordBatch.from_pydict(columns, schema=MANIFEST)


def _kept(stored: pa.RecordBatch) -> pa.RecordBatch:
    columns = {name: stored[name] for name in ("shard", "task", "rows", "bytes", "values")}
    columns |= {name: stored[name].dictionary_encode() for name in _REPEATED}
    for name in _PATHS:
        places, contents = _split(stored[name], stored["shard"])
        columns[f"{name}.place"], columns[f"{name}.content"] = places.dictionary_encode(), contents
    return pa.RecordBatch.from_arrays([columns[name] for name in _KEPT.names], schema=_KEPT)


def _split(paths: pa.Array, shards: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The place of each path, and the hash of its content; of a path of another form, all of it and none."""
    parts = pc.extract_regex(paths, _FORM)
    of_form = pc.fill_null(pc.equal(pc.struct_field(parts, "shard"), shards), False)
    place = pc.binary_join_element_wise(pc.struct_field(parts, "before"), pc.struct_field(parts, "after"), "\0")
    digits = pc.fill_null(pc.if_else(of_form, pc.struct_field(parts, "content"), _NO_DIGITS), _NO_DIGITS)
    contents = pa.py_buffer(bytes.fromhex("".join(digits.to_pylist())))
    return pc.if_else(of_form, place, paths), pa.Array.from_buffers(pa.binary(8), len(paths), [None, contents])


def _path(place: str, shard: str, content: bytes) -> str:
    before, inside, after = place.partition("\0")
    return f"{before}{shard}.{content.hex()}{after}" if inside else place
