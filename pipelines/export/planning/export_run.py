"""What the tasks of one export need: how outputs are cut, which shards are pending, and where files go.

The lists that grow with the store or the export are objects that workers read, never constants of the graph.
"""

import bisect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.export.formats.protocol import ExportFormat, ShardName
from winnow.pipelines.export.places.destination import Work
from winnow.pipelines.export.planning.sizing import Cutting, Way
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.reading.chosen_captions import SAMPLE_CAPTIONS
from winnow.pipelines.reading.columns import Column, column_of
from winnow.pipelines.reading.text_edits import BoundEdit
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.identity import canonical_json, content_name
from winnow.schemas.mixture import Stratum

FACES = Column("image.faces", "boxes")
"""Where the boxes of faces are, for exports that blur them."""


@dataclass(frozen=True)
class Destination:
    """One export as seen by its tasks. Picklable."""

    format: ExportFormat
    config: Any  # of the format's own type
    work: Work
    way: Way


@dataclass(frozen=True)
class Place:
    """The meaning of a partition of the exchange: a shard of an output, in one cutting."""

    way: Way
    output: int
    shard: ShardName
    samples: int


class Places:
    """The partitions: cuttings ascending, outputs in plan order, shards by number. They are made when asked for."""

    def __init__(self, cuttings: Mapping[Way, Cutting]) -> None:
        cut = ((way, *one) for way, cutting in sorted(cuttings.items()) for one in enumerate(cutting.outputs))
        self._cut = list(cut)
        ends = itertools.accumulate((len(size.counts) for _, _, size in self._cut), initial=0)
        *self._starts, self._count = ends
        self._first = {(way, output): start for (way, output, _), start in zip(self._cut, self._starts, strict=True)}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, partition: int) -> Place:
        at = bisect.bisect_right(self._starts, range(self._count)[partition]) - 1  # outputs without a shard come before
        way, output, size = self._cut[at]
        number = partition - self._starts[at]
        return Place(way, output, ShardName(size.output, number, len(size.counts)), size.counts[number])

    def first(self, way: Way, output: int) -> int:
        """The partition of an output's first shard."""
        return self._first[way, output]


class _Written(msgspec.Struct):
    cuttings: list[Cutting]
    strata: list[list[tuple[str, str, str, str, str]]]  # the fields of each stratum
    pending: list[int]


@dataclass(frozen=True)
class ExportDetails:
    """The lists that grow with the export: read once per process."""

    cuttings: Mapping[Way, Cutting]
    strata: tuple[tuple[Stratum, ...], ...]  # of each output, in order
    pending: NDArray[np.bool_]  # whether each partition is pending

    @cached_property
    def places(self) -> Places:
        """The partitions."""
        return Places(self.cuttings)

    @property
    def bands(self) -> bool:
        """Whether the plan has bands."""
        return any(one.band for strata in self.strata for one in strata)

    def to_json(self) -> bytes:
        """Serialises the details."""
        cuttings = [{**asdict(cutting), "way": list(way)} for way, cutting in sorted(self.cuttings.items())]
        strata = [[list(asdict(one).values()) for one in output] for output in self.strata]
        pending = np.flatnonzero(self.pending).tolist()
        return canonical_json({"cuttings": cuttings, "strata": strata, "pending": pending}).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> "ExportDetails":
        """The inverse of `to_json`."""
        read = msgspec.json.decode(raw, type=_Written)
        cuttings = {cutting.way: cutting for cutting in read.cuttings}
        strata = tuple(tuple(Stratum(*one) for one in output) for output in read.strata)
        pending = np.zeros(sum(cutting.shards for cutting in read.cuttings), np.bool_)
        pending[read.pending] = True
        return cls(cuttings, strata, pending)


@dataclass(frozen=True)
class ExportRun:
    """One run of the pipeline. Picklable and small."""

    store: Store
    scratch: ObjectStore  # removed with the export that it belongs to
    text: tuple[Column, ...]  # the first non-null one is a sample's text
    edits: tuple[BoundEdit, ...]
    destinations: tuple[Destination, ...]
    seed: int
    plan: str
    details_path: str
    media: PictureSource | None = None
    captions: tuple[Column, ...] = (SAMPLE_CAPTIONS,)  # those of the first that has any are a sample's
    images: Column | None = None  # what pages say of their images, for exports of documents

    @property
    def details(self) -> ExportDetails:
        """The details, read once per process."""
        return _details(self.scratch, self.details_path)


def put_details(scratch: ObjectStore, details: ExportDetails) -> str:
    """Writes the details; returns the object's path."""
    raw = details.to_json()
    path = f"details/{content_name(raw)}.json"
    scratch.put(path, raw)
    return path


_read: dict[tuple[str, str], ExportDetails] = {}  # the one in use by this process


def _details(scratch: ObjectStore, path: str) -> ExportDetails:
    known = _read.get((scratch.root, path))
    if known is None:
        known = ExportDetails.from_json(scratch.read(path))
        _read.clear()
        _read[scratch.root, path] = known
    return known


def text_columns(text: Sequence[str], layers: Sequence[str]) -> tuple[Column, ...]:
    """The columns that a recipe's `text` names, among those layers that exist."""
    return tuple(column for name in text if (column := column_of(name, layers)) is not None)
