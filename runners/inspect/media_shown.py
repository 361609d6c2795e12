"""Which rows have pictures or videos, and what a grid of them says of each: the first of a row stands for all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.media.thumbnails import NSFW_LAYER, NSFW_OF_VIDEOS
from winnow.pipelines.reading.columns import MEDIA
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import read_rows
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.measures import map_blocks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block
from winnow.runners.inspect.pictures import blurred_items
from winnow.schemas.identity import Json


@dataclass(frozen=True)
class _WithMedia:
    """Which rows have any."""

    marks: Marks

    @property
    def nbytes(self) -> int:
        """A byte a row."""
        return int(self.marks.nbytes)


def rows_with_media(opened: Opened, frame: Frame) -> Marks:
    """The rows that have a picture or a video, read from the store when they are first asked for."""
    return opened.kept.get("rows with media", lambda: _WithMedia(_read(opened, frame))).marks


def _read(opened: Opened, frame: Frame) -> Marks:
    marks = np.zeros(frame.rows, np.bool_)

    def read(at: int, block: Block) -> None:
        counts = pc.fill_null(pc.list_value_length(block[MEDIA.name]), 0)
        marks[at : at + len(counts)] = counts.to_numpy(zero_copy_only=False) > 0

    for _ in map_blocks(opened, frame, [MEDIA], read):
        pass
    return marks


def first_media(opened: Opened, frame: Frame, rows: NDArray[np.int64]) -> list[dict[str, Json]]:
    """Of each of these rows how many pictures and videos it has, and of the first what it is and whether it is blurred
    until it is asked for."""
    places = [frame.place(row) for row in rows.tolist()]
    wanted: dict[str, set[int]] = {}
    for shard, row in places:
        wanted.setdefault(shard.shard, set()).add(row)
    found: dict[tuple[str, int], dict[str, Json]] = {}
    for name, numbers in sorted(wanted.items()):
        own = sorted(numbers)
        layers = _layers(opened, name, own)
        for at, row in enumerate(own):
            one = {layer: table.slice(at, 1).combine_chunks().to_batches()[0] for layer, table in layers.items()}
            items = one[layout.SAMPLES].column("media")[0].as_py()
            found[name, row] = {
                "items": len(items),
                "mime": items[0]["mime"] if items else None,
                "blurred": bool(items) and 0 in blurred_items(one),
            }
    return [found[shard.shard, row] for shard, row in places]


def _layers(opened: Opened, shard: str, rows: Sequence[int]) -> dict[str, pa.Table]:
    """The rows' media, and the layers that say what is not to be seen unasked."""
    store, generation = opened.store, opened.generation
    there = [layer for layer in (NSFW_LAYER, NSFW_OF_VIDEOS) if layer in generation.layers]
    objects = {layer: store.manifest(generation, layer).objects.get(shard) for layer in (layout.SAMPLES, *there)}
    return {
        layer: read_rows(store.objects, path, rows, ["media"] if layer == layout.SAMPLES else None)
        for layer, path in objects.items()
        if path is not None
    }
