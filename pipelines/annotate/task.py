"""Annotates one shard in one pass: reads its rows once, runs every operator whose layer is missing, and commits."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import apache_beam as beam
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import TEXT, Kernel, PictureOperator
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.pipelines.annotate.item_rows import watch_items
from winnow.pipelines.annotate.meeting import Meeting
from winnow.pipelines.annotate.one_layer import layer_of_batch, selected
from winnow.pipelines.annotate.rows import BatchRows, Excluded
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.media.pictures import Pictures, PictureSource, decoded_bytes
from winnow.pipelines.media.videos.videos import Videos, VideoSource
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import MEDIA
from winnow.pipelines.running.counters import note_times
from winnow.pipelines.running.ledger.crashes import CrashedPictures, CrashedVideos
from winnow.pipelines.running.row_layers import RowLayerTask, write_layers
from winnow.pipelines.running.shard_rows import BATCH_BYTES, Part, read_parts
from winnow.pipelines.running.worker import HeartbeatWriter, prepare_worker
from winnow.pipelines.store.generations import Store

ANNOTATE = "annotate/"
"""The prefix for strikes and poison records of this stage: a row that kills a measurement stays a sample."""


@dataclass(frozen=True)
class AnnotationContext:
    """Everything that a pass's values depend on, and the store that they are written to."""

    store: Store
    operators: tuple[BoundOperator, ...]  # in the order in which they run
    pictures: PictureSource | None = None  # None if no operator looks at pictures
    meetings: Mapping[str, Meeting] = field(default_factory=dict)  # by layer; of operators that look across rows
    videos: VideoSource | None = None  # None if no operator watches videos


@dataclass
class LoadedOperators:
    """What the operators of a pass have loaded, once a process, by layer."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    makers: dict[str, Callable[[], Watcher]] = field(default_factory=dict)  # of watchers

    def load(self, bound: BoundOperator) -> None:
        """Load an operator, unless it has been."""
        kept = self.makers if isinstance(bound.operator, VideoOperator) else self.kernels
        if bound.layer not in kept:
            kept[bound.layer] = bound.operator.load(bound.config, bound.assets)


def annotate_shard(
    context: AnnotationContext, loaded: LoadedOperators, task: RowLayerTask, heartbeat: HeartbeatWriter
) -> None:
    """Compute and commit the layers that a shard lacks; `loaded` holds what their operators have loaded."""
    pending = [bound for bound in context.operators if bound.layer in task.missing]
    own_layers = set(task.missing)
    read = (column for bound in pending for column in bound.columns)
    columns = list(dict.fromkeys(column for column in read if column.layer not in own_layers))
    met = {layer: context.meetings[layer].kernel(task.shard) for layer in task.missing if layer in context.meetings}
    kernels = {**loaded.kernels, **met}
    texts = sorted({name for bound in pending for name in bound.text} & {column.name for column in columns})

    crashed = CrashedPictures(context.store.objects) if context.pictures is not None else None
    crashed_videos = CrashedVideos(context.store.objects) if context.videos is not None else None

    seconds = defaultdict[str, float](float)  # by layer; of videos that are watched together, by the first one

    def measured(parts: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        for part in parts:
            rows = BatchRows(part.columns)
            rows.add(_coalesced_text(pending, part.columns))
            pictures = _pictures(context, pending, task.source, part, crashed)
            found: dict[str, pa.RecordBatch] = {}
            for bound in pending:
                if bound.layer in found:
                    continue
                if part.marker is not None:
                    part.marker.doing(bound.layer)
                began = time.perf_counter()
                if isinstance(bound.operator, VideoOperator):
                    assert context.videos is not None
                    videos = Videos(context.videos, task.source, part.columns[MEDIA.name], crashed_videos)
                    together = _watched_together(pending, found)
                    excluded = [_excluded(one, rows, part) for one in together]
                    layers = watch_items(together, loaded.makers, videos, rows, excluded)
                else:
                    shut_out = _excluded(bound, rows, part)
                    layers = {bound.layer: layer_of_batch(bound, kernels[bound.layer], rows, shut_out, pictures)}
                seconds[bound.layer] += time.perf_counter() - began
                for name, layer in layers.items():
                    rows.add({f"{name}.{column}": layer.column(column) for column in layer.schema.names})
                found |= layers
            del pictures  # the next part reuses this memory and the decoding process
            yield found

    schemas = {bound.layer: bound.schema for bound in pending}
    parts_read = read_parts(context.store, ANNOTATE, task.read, columns, texts, _picture_sizes(context, pending))
    write_layers(context.store, task, schemas, parts_read, measured, heartbeat)
    note_times(seconds)


def _watched_together(pending: Sequence[BoundOperator], found: Mapping[str, object]) -> list[BoundOperator]:
    """The operators that can watch videos now: those whose conditions read no layer that is still to be computed."""
    left = {bound.layer for bound in pending} - found.keys()
    videos = (one for one in pending if isinstance(one.operator, VideoOperator))
    return [video for video in videos if video.layer in left and left.isdisjoint(video.reads)]


def _excluded(bound: BoundOperator, rows: BatchRows, part: Part) -> Excluded:
    return Excluded(selected(bound, rows), part.left_out, part.forgotten)


def _pictures(
    context: AnnotationContext,
    pending: Sequence[BoundOperator],
    source: str,
    part: Part,
    crashed: CrashedPictures | None,
) -> Pictures | None:
    """The pictures of some rows, if an operator looks at any."""
    looking = [bound.operator for bound in pending if isinstance(bound.operator, PictureOperator)]
    if context.pictures is None or not looking:
        return None
    sides, files = _sides(pending), any(operator.files for operator in looking)
    return Pictures(context.pictures, source, part.columns[MEDIA.name], crashed, sides=sides, keeps_files=files)


def _sides(pending: Sequence[BoundOperator]) -> list[int | None]:
    looking = ((bound.operator, bound.config) for bound in pending if isinstance(bound.operator, PictureOperator))
    return [operator.side(config) for operator, config in looking if not operator.files]


def _picture_sizes(
    context: AnnotationContext, pending: Sequence[BoundOperator]
) -> Callable[[Mapping[str, pa.Array]], NDArray[np.int64]] | None:
    """How many bytes of pictures a row adds to a batch, so that each picture is decoded once for all operators."""
    source, sides = context.pictures, _sides(pending)
    if source is None or not sides:
        return None

    def sizes(columns: Mapping[str, pa.Array]) -> NDArray[np.int64]:
        decoded = decoded_bytes(columns[MEDIA.name], sides, source.limits)
        shares: NDArray[np.int64] = np.ceil(decoded * (BATCH_BYTES / source.held_bytes)).astype(np.int64)
        return shares

    return sizes


def _coalesced_text(pending: list[BoundOperator], columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the recipe's `text` for every row, if an operator reads it."""
    reader = next((bound for bound in pending if TEXT in bound.operator.inputs(bound.config)), None)
    if reader is None:
        return {}
    return {TEXT: text_of(reader.text, columns)}


class RunAnnotation(beam.DoFn):
    """Shard and the layers that it lacks → the shard's name. Safe to repeat."""

    def __init__(self, context: AnnotationContext) -> None:
        self._context = context
        self._loaded = LoadedOperators()

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Run every operator whose layer the shard lacks."""
        task = RowLayerTask.from_json(element)
        for bound in self._context.operators:
            if bound.layer in task.missing and bound.layer not in self._context.meetings:
                self._loaded.load(bound)
        with HeartbeatWriter(self._context.store.objects, task.commit) as heartbeat:
            annotate_shard(self._context, self._loaded, task, heartbeat)
        yield task.shard
