"""Decides how many files an export has, from the draw alone, and says where in the order they are cut.

Shards of an output hold equal numbers of samples, give or take one: shard j begins at sample j*N//K of all N.
K is the smallest number for which no shard exceeds the cap. Memory does not grow with N: bytes
are summed in a histogram of the order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.changes.change import estimated_bytes
from winnow.filters.image.changes.options import PictureChanges
from winnow.pipelines.media.references import referred_bytes
from winnow.pipelines.mix.draws import Draw, copies_of
from winnow.pipelines.mix.dropped_media import DroppedMedia, read_draw
from winnow.pipelines.reading.columns import MEDIA, read_aligned
from winnow.pipelines.reading.item_lists import SHOWN, media_of
from winnow.pipelines.running.shard_groups import group_shards
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_batches
from winnow.schemas.errors import ExportError
from winnow.schemas.rows.interleaved import LAYER
from winnow.schemas.uint128 import Words, words_of
from winnow.scoring.mixture.orders import Key, export_order, key_of

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

MOST_FILES = 10_000_000
"""The most files of an output: the driver keeps the boundary, the place and the commit of each."""

SAMPLE_BYTES = 512
"""Bytes of a sample besides its text: ids, names and headers, before compression."""

_SIDES = ("width", "height")

BINS = 1 << 20
SHIFT = np.uint64(64 - 20)  # from an order to its bin
DRAW = "draw"
"""The name of a shard's draw among its objects."""

_COLUMNS = ["output", "row", "id", "first", "copies", "bytes"]
_REFERRED = [
    f"media.list.element.{leaf}" for leaf in ("bytes", "mime", "ref.length", "width", "height", "seconds", "clip.start")
]
_CLIP_BYTES_A_SECOND = 500_000  # 4 Mbit/s: 720p to 1080p on the web

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class OutputSize:
    """One output of a plan, cut into shards."""

    output: str
    counts: tuple[int, ...]  # the samples of each shard; empty if the output is
    boundaries: tuple[int, ...]  # the order value at which each shard but the first begins
    over: int = 0  # samples that alone exceed the cap
    bytes: int = 0  # of all samples, before compression

    @property
    def samples(self) -> int:
        """The total over its shards."""
        return sum(self.counts)

    def shard_of(self, order: Words) -> NDArray[np.int64]:
        """The shard of each sample."""
        return np.searchsorted(np.array(self.boundaries, np.uint64), order, side="right").astype(np.int64)


class Measured(NamedTuple):
    """Which media of rows count, and what is done to pictures."""

    pictures: str  # `PictureChanges.to_json`
    documents: bool = False


class Way(NamedTuple):
    """How rows travel; exports with the same way share them."""

    cap: int  # bytes of the largest allowed shard
    media: bool = False  # whether the bytes of media are included
    pictures: str = ""  # what is done to pictures: `PictureChanges.to_json`
    clips: str = ""  # how parts of videos are written: `ClipFile.to_json`; empty where no videos are
    documents: bool = False  # whether rows have their nodes, and pages the pictures that they show

    @property
    def measured(self) -> "Measured":
        """What its media's bytes depend on."""
        return Measured(self.pictures, self.documents)


@dataclass(frozen=True)
class Cutting:
    """A way, with every output of the plan cut by its cap."""

    way: Way
    outputs: tuple[OutputSize, ...]

    @property
    def shards(self) -> int:
        """The number of shards of all outputs."""
        return sum(len(output.counts) for output in self.outputs)


def order_key(seed: int) -> Key:
    """The key that determines the order of an export."""
    return key_of(seed, "export")


def list_draw(steps: "JobSteps", draw: Draw) -> ShardList[ListedShard]:
    """Lists the shards of a draw for the tasks of a pass, each with the object of its draw as `DRAW`."""
    listed = (
        ListedShard(
            one.shard,
            one.source,
            one.drawn,
            {DRAW: one.draw, **{name: one.objects[name] for name in (layout.SAMPLES, LAYER) if name in one.objects}},
        )
        for one in draw.shards
    )
    return group_shards(steps, ListedShard, listed, {})


class Some(NamedTuple):
    """Some of the copies that an output contains."""

    output: int
    order: Words
    held: Counts  # of each, in bytes
    with_media: Mapping[Measured, Counts]


def samples_of(objects: ObjectStore, seed: int, shard: ListedShard, changes: Sequence[Measured]) -> Iterator[Some]:
    """Yields the order and the bytes of each output's copies, in batches; with media for each of these changes.

    `shard`: with the object of its draw as `DRAW`.
    """
    key = order_key(seed)
    referred = _referred(objects, shard, changes) if changes else {}
    for batch in read_batches(objects, shard.objects[DRAW], _COLUMNS):
        outputs = batch["output"].to_numpy()
        for output in np.unique(outputs):
            first, last = (int(np.searchsorted(outputs, output, side=side)) for side in ("left", "right"))
            yield from _orders(int(output), batch.slice(first, last - first), key, referred)


def _orders(output: int, part: pa.RecordBatch, key: Key, referred: Mapping[Measured, Counts]) -> Iterator[Some]:
    high, low = words_of(part["id"])
    held = part["bytes"].to_numpy() + SAMPLE_BYTES
    with_media = {changes: held + sizes[part["row"].to_numpy()] for changes, sizes in referred.items()}
    for rows, copies in copies_of(part):
        order = export_order((high[rows], low[rows]), key, copies)
        yield Some(output, order, held[rows], {changes: sizes[rows] for changes, sizes in with_media.items()})


def _referred(objects: ObjectStore, shard: ListedShard, changes: Sequence[Measured]) -> dict[Measured, Counts]:
    """For each of these, the bytes of media of each row of a shard."""
    found: dict[Measured, Counts] = {}
    if own := [one for one in changes if not one.documents]:
        found |= _sizes(
            objects,
            shard,
            own,
            (batch["media"] for batch in read_batches(objects, shard.objects[layout.SAMPLES], _REFERRED)),
        )
    if shown := [one for one in changes if one.documents]:
        blocks = read_aligned(objects, shard.objects, (MEDIA, SHOWN), ROW_GROUP_ROWS)
        found |= _sizes(objects, shard, shown, map(media_of, blocks))
    return found


def _sizes(
    objects: ObjectStore, shard: ListedShard, changes: Sequence[Measured], lists: Iterator[pa.ListArray]
) -> dict[Measured, Counts]:
    read = {one: PictureChanges.from_json(one.pictures) for one in changes}
    counts: dict[Measured, list[Counts]] = {one: [np.zeros(0, np.int64)] for one in changes}
    dropped, at = DroppedMedia.drawn(read_draw(objects, shard.objects[DRAW], ("row", "dropped"))), 0
    for whole in lists:
        media = dropped.left(whole, np.arange(at, at + len(whole)))
        at += len(whole)
        items = media.flatten()
        lengths = referred_bytes(items).to_numpy(zero_copy_only=False)
        sides = [pc.fill_null(pc.struct_field(items, name), 0).to_numpy(zero_copy_only=False) for name in _SIDES]
        pictures = np.asarray(pc.starts_with(pc.struct_field(items, "mime"), "image/"), np.bool_)
        ends = np.cumsum(pc.list_value_length(media).to_numpy(zero_copy_only=False), dtype=np.int64)
        for one, change in read.items():
            sizes = _estimated_clips(items, lengths)
            sizes = np.where(pictures, estimated_bytes(change, lengths, sides[0], sides[1]), sizes)
            total = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
            counts[one].append(np.diff(total[ends], prepend=0))
    return {one: np.concatenate(found) for one, found in counts.items()}


def _estimated_clips(items: pa.StructArray, lengths: Counts) -> Counts:
    """The lengths; those of clips are estimates, at most their video's length."""
    if items.type.get_field_index("clip") < 0:  # of a store from before there were clips
        return lengths
    is_clip = np.asarray(pc.struct_field(items, "clip").is_valid(), np.bool_)
    seconds = pc.fill_null(pc.struct_field(items, "seconds"), 0.0).to_numpy(zero_copy_only=False)
    estimate = np.minimum(lengths, (seconds * _CLIP_BYTES_A_SECOND).astype(np.int64) + 1)
    return np.where(is_clip, estimate, lengths)


@dataclass
class Histogram:
    """Samples and bytes along the order. Bytes of a sample that alone exceeds the cap do not count."""

    cap: int
    counts: Counts = field(default_factory=lambda: np.zeros(BINS, np.int64))
    held: Counts = field(default_factory=lambda: np.zeros(BINS, np.int64))
    over: int = 0
    bytes: int = 0

    def add(self, order: Words, held: Counts) -> None:
        """Adds a batch of samples."""
        bins = (order >> SHIFT).astype(np.int64)
        large = held > self.cap
        self.over += int(large.sum())
        self.bytes += int(held.sum())
        np.add.at(self.counts, bins, 1)
        np.add.at(self.held, bins, np.where(large, 0, held))

    @property
    def total(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    def before(self) -> Counts:
        """The number of samples before each bin, and of all."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])


def places_of(histogram: Histogram) -> Counts:
    """The first positions of all shards but the first, for the smallest number of shards that keeps the cap.

    Raises:
        ExportError: They would be more than `MOST_FILES`.
    """
    before = histogram.before()
    total = int(before[-1])
    if not total:
        return np.zeros(0, np.int64)
    held = np.concatenate([np.zeros(1, np.int64), np.cumsum(histogram.held)])
    number = min(total, max(1, -(-(int(held[-1]) + histogram.over * histogram.cap) // histogram.cap)))
    while True:
        if number > MOST_FILES:
            raise ExportError(
                f"files of at most {histogram.cap:,} bytes would be more than {MOST_FILES:,} of one output; raise "
                "shard_bytes"
            )
        places = np.arange(1, number) * total // number
        bins = np.searchsorted(before, places, side="right") - 1
        least = np.concatenate([[0], held[bins], held[-1:]])
        most = np.concatenate([[0], held[bins + (before[bins] < places)], held[-1:]])
        if number == total or int((most[1:] - least[:-1]).max()) <= histogram.cap:
            return places
        # In steps of one while there are few, then by a fraction, so that the search ends even for uneven texts.
        number = min(total, number + max(1, number >> 6))


def notes_of(cutting: Cutting) -> list[str]:
    """Notes about shards that cannot keep their cap."""
    return [
        f"{one.output}: {one.over:,} samples alone exceed shard_bytes ({cutting.way.cap:,}); their shards exceed it too"
        for one in cutting.outputs
        if one.over
    ]
