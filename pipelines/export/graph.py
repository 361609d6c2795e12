"""The pipeline of an export: drawn rows are read, travel to their shards, and are written there."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import PCollection

from winnow.pipelines.export.places.destination import disk_errors
from winnow.pipelines.export.planning.export_run import (
    Destination,
    ExportDetails,
    ExportRun,
    Places,
    put_details,
    text_columns,
)
from winnow.pipelines.export.planning.sizing import Cutting, Way
from winnow.pipelines.export.reading import BEATS, READ, RELAYED, AddressedRows, mixed_rows
from winnow.pipelines.export.stage import EXCHANGE, Unfinished, pending_partitions
from winnow.pipelines.export.writing import WriteShards
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.reading.chosen_captions import SAMPLE_CAPTIONS
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import BoundEdit, with_keys
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Exchange, Relays, Route, clear_scratch, transport_of
from winnow.pipelines.running.job_tasks import OPENING_BYTES
from winnow.pipelines.running.on_node import naming_host
from winnow.pipelines.running.run_tasks import SpreadTasks
from winnow.pipelines.running.shard_groups import successive_groups
from winnow.pipelines.running.step_progress import report_partition
from winnow.pipelines.running.tasks import TaskLine, put_task_list
from winnow.pipelines.running.version_handshake import versions_here
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.recipe import Shuffle


@dataclass(frozen=True, slots=True)
class DrawnPlace(TaskLine):
    """Successive shards of the draw, which send their rows together: how they are grouped depends on the draw alone."""

    number: int
    shards: tuple[DrawnShard, ...]


class ReadDrawn(beam.DoFn):
    """A place of the draw → blocks for the shards of the export. Safe to repeat."""

    def __init__(self, export_run: ExportRun, route: Route) -> None:
        self._export_run = export_run
        self._route = route
        self._driver = versions_here()

    def setup(self) -> None:
        """Once a process; keys are read here and nowhere else."""
        prepare_worker()
        self._edits = with_keys(self._export_run.edits)

    def process(self, element: bytes) -> Iterator[AddressedBlock]:
        """The blocks of one place, one after another; a block has rows of several shards."""
        with naming_host(self._driver):
            place, details = DrawnPlace.from_json(element), self._export_run.details
            yield from self._route.send(place.number, self._rows(details, place))

    def _rows(self, details: ExportDetails, place: DrawnPlace) -> Iterator[AddressedRows]:
        for shard in place.shards:
            yield from mixed_rows(self._export_run, details, self._edits, shard)
            report_partition(self._export_run.scratch, BEATS, READ)


@dataclass(frozen=True)
class ExportGraph:
    """The pipeline of one run."""

    export_run: ExportRun
    tasks: str
    route: Route
    shuffle: Shuffle = "auto"

    def scratch_bytes(self, travelling: int) -> int:
        """The most bytes, about, that the scratch folder has while so many travel."""
        transport = transport_of(self.shuffle, self.export_run.scratch, EXCHANGE)
        return sum(transport.stored_bytes(travelling, *step) for step in self.route.exchanges)

    def build(self, pipeline: beam.Pipeline) -> PCollection[str]:
        """Spreads the tasks, sends rows to their shards, and writes these; yields the numbers of the written shards."""
        scratch: ObjectStore = self.export_run.scratch
        relays = transport_of(self.shuffle, scratch, f"{EXCHANGE}/relays")
        transport = transport_of(self.shuffle, scratch, EXCHANGE)
        blocks: PCollection[AddressedBlock] = (
            pipeline
            | "Tasks" >> SpreadTasks(scratch, self.tasks)
            | "ReadDrawn" >> beam.ParDo(ReadDrawn(self.export_run, self.route)).with_output_types(AddressedBlock)
        )
        written: PCollection[str] = (
            blocks
            | "Relays" >> Relays(self.route, relays, partial(report_partition, scratch, BEATS, RELAYED))
            | "Exchange" >> Exchange(WriteShards(self.export_run), transport=transport, emits=str)
            # FnApiRunner notices a dead worker only by the output that it owes.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return written


def drawn_groups(draw: Draw, cuttings: Mapping[Way, Cutting]) -> list[range]:
    """The shards of a draw as tasks read them, by number: at most 4,096 groups, of about equal bytes.

    A drawn row counts as the mean of all, since a shard may be small while the media that it refers to are large.
    """
    drawn = np.fromiter((shard.drawn for shard in draw.shards), np.int64)
    travelling = sum(output.bytes for cutting in cuttings.values() for output in cutting.outputs)
    return successive_groups(OPENING_BYTES + drawn * (travelling // max(1, int(drawn.sum()))))


def drawn_places(draw: Draw, groups: Sequence[range]) -> Iterator[DrawnPlace]:
    """The tasks that read a draw."""
    shards = iter(draw.shards)
    for number, group in enumerate(groups):
        yield DrawnPlace(number, tuple(itertools.islice(shards, len(group))))


def make_graph(
    store: Store,
    draw: Draw,
    text: Sequence[str],
    edits: Sequence[BoundEdit],
    cuttings: Mapping[Way, Cutting],
    exports: Sequence[Unfinished],
    media: PictureSource | None = None,
    captions: Sequence[Column] = (SAMPLE_CAPTIONS,),
    shuffle: Shuffle = "auto",
) -> ExportGraph | None:
    """The graph of all exports that are still pending; None if there are none.

    `text`: the columns of the recipe's `text`; `cuttings`: every way, with its shards; `exports`: the unfinished
    exports, the scratch of the first of which is used; `media`: where media are read, if an export wants their bytes;
    `captions`: their columns; `shuffle`: how rows travel.
    """
    strata = tuple(tuple(one.stratum for one in output.strata) for output in draw.plan.outputs)
    places = Places(cuttings)
    pending = pending_partitions(places, exports)
    if not pending.any():
        return None
    scratch = exports[0].place.scratch
    with disk_errors(exports[0].export.path):
        clear_scratch(scratch, EXCHANGE)  # of a run whose worker died
        details = put_details(scratch, ExportDetails(cuttings, strata, pending))
        groups = drawn_groups(draw, cuttings)
        tasks = put_task_list(scratch, "export", (place.to_json() for place in drawn_places(draw, groups)))
    layers = sorted({layer for shard in draw.shards for layer in shard.objects})
    export_run = ExportRun(
        store,
        scratch,
        text_columns(text, layers),
        tuple(edits),
        tuple(
            Destination(export.export.format, export.export.config, export.place.work, export.export.way)
            for export in exports
        ),
        draw.plan.seed,
        draw.plan.name,
        details,
        media,
        tuple(captions),
        next((Column(one.export.images, "images") for one in exports if one.export.images), None),
    )
    return ExportGraph(export_run, tasks, Route(len(groups), len(places)), shuffle)
