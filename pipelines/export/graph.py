"""The pipeline of an export: drawn rows are read, travel to their shards, and are written there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.pvalue import PCollection

from winnow.pipelines.export.places.destination import disk_errors
from winnow.pipelines.export.planning.shipment import Destination, Details, Places, Shipment, put_details, text_columns
from winnow.pipelines.export.planning.sizing import Cutting, Way
from winnow.pipelines.export.reading import BEATS, READ, mixed_rows
from winnow.pipelines.export.stage import EXCHANGE, Unfinished, pending_partitions
from winnow.pipelines.export.writing import WriteShards
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.reading.chosen_captions import SAMPLE_CAPTIONS
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import BoundEdit, with_keys
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import BlockPacker, Exchange, Files, clear_scratch
from winnow.pipelines.running.run_tasks import SpreadTasks
from winnow.pipelines.running.step_beats import beat_step
from winnow.pipelines.running.tasks import put_task_list
from winnow.pipelines.running.worker import settle
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store


class ReadDrawn(beam.DoFn):
    """A shard of the draw → blocks for the shards of the export. Safe to repeat."""

    def __init__(self, shipment: Shipment) -> None:
        self._shipment = shipment

    def setup(self) -> None:
        """Once a process; keys are read here and nowhere else."""
        settle()
        self._edits = with_keys(self._shipment.edits)

    def process(self, element: bytes) -> Iterator[AddressedBlock]:
        """The blocks of one shard, one after another."""
        shard = DrawnShard.from_json(element)
        details = self._shipment.details
        packer = BlockPacker(shard.shard)
        for partition, rows in mixed_rows(self._shipment, details, self._edits, shard):
            yield from packer.add(partition, rows)
        yield from packer.finish()
        beat_step(self._shipment.scratch, BEATS, READ)


@dataclass(frozen=True)
class ExportGraph:
    """The pipeline of one run."""

    shipment: Shipment
    tasks: str

    def build(self, pipeline: beam.Pipeline) -> PCollection[str]:
        """Spreads the tasks, sends rows to their shards, and writes these; yields the numbers of the written shards."""
        scratch: ObjectStore = self.shipment.scratch
        blocks: PCollection[AddressedBlock] = (
            pipeline
            | "Tasks" >> SpreadTasks(scratch, self.tasks)
            | "ReadDrawn" >> beam.ParDo(ReadDrawn(self.shipment)).with_output_types(AddressedBlock)
        )
        written: PCollection[str] = (
            blocks
            | "Exchange" >> Exchange(WriteShards(self.shipment), transport=Files(scratch, EXCHANGE), emits=str)
            # FnApiRunner notices a dead worker only by the output that it owes.
            | "Return" >> beam.Reshuffle().with_output_types(str)
        )
        return written


def make_graph(
    store: Store,
    draw: Draw,
    text: Sequence[str],
    edits: Sequence[BoundEdit],
    cuttings: Mapping[Way, Cutting],
    exports: Sequence[Unfinished],
    media: PictureSource | None = None,
    captions: Sequence[Column] = (SAMPLE_CAPTIONS,),
) -> ExportGraph | None:
    """The graph of all exports that are still pending; None if there are none.

    `text`: the columns of the recipe's `text`; `cuttings`: every way, with its shards; `exports`: the unfinished
    exports, the scratch of the first of which is used; `media`: where media are read, if an export wants their bytes;
    `captions`: their columns.
    """
    strata = tuple(tuple(one.stratum for one in output.strata) for output in draw.plan.outputs)
    places = Places(cuttings)
    pending = pending_partitions(places, exports)
    if not pending.any():
        return None
    scratch = exports[0].place.scratch
    with disk_errors(exports[0].export.path):
        clear_scratch(scratch, EXCHANGE)  # of a run whose worker died
        details = put_details(scratch, Details(cuttings, strata, pending))
        tasks = put_task_list(scratch, "export", (shard.to_json() for shard in draw.shards))
    layers = sorted({layer for shard in draw.shards for layer in shard.objects})
    shipment = Shipment(
        store,
        scratch,
        text_columns(text, layers),
        tuple(edits),
        tuple(Destination(one.export.format, one.export.config, one.place.work, one.export.way) for one in exports),
        draw.plan.seed,
        draw.plan.name,
        details,
        media,
        tuple(captions),
    )
    return ExportGraph(shipment, tasks)
