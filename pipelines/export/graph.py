"""The pipeline of an export: drawn rows are read, travel to their shards, and are written there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import apache_beam as beam
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
from winnow.pipelines.running.step_progress import report_partition
from winnow.pipelines.running.tasks import put_task_list
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store


class ReadDrawn(beam.DoFn):
    """A shard of the draw → blocks for the shards of the export. Safe to repeat."""

    def __init__(self, export_run: ExportRun) -> None:
        self._export_run = export_run

    def setup(self) -> None:
        """Once a process; keys are read here and nowhere else."""
        prepare_worker()
        self._edits = with_keys(self._export_run.edits)

    def process(self, element: bytes) -> Iterator[AddressedBlock]:
        """The blocks of one shard, one after another."""
        shard = DrawnShard.from_json(element)
        details = self._export_run.details
        packer = BlockPacker(shard.shard)
        for partition, rows in mixed_rows(self._export_run, details, self._edits, shard):
            yield from packer.add(partition, rows)
        yield from packer.finish()
        report_partition(self._export_run.scratch, BEATS, READ)


@dataclass(frozen=True)
class ExportGraph:
    """The pipeline of one run."""

    export_run: ExportRun
    tasks: str

    def build(self, pipeline: beam.Pipeline) -> PCollection[str]:
        """Spreads the tasks, sends rows to their shards, and writes these; yields the numbers of the written shards."""
        scratch: ObjectStore = self.export_run.scratch
        blocks: PCollection[AddressedBlock] = (
            pipeline
            | "Tasks" >> SpreadTasks(scratch, self.tasks)
            | "ReadDrawn" >> beam.ParDo(ReadDrawn(self.export_run)).with_output_types(AddressedBlock)
        )
        written: PCollection[str] = (
            blocks
            | "Exchange" >> Exchange(WriteShards(self.export_run), transport=Files(scratch, EXCHANGE), emits=str)
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
        details = put_details(scratch, ExportDetails(cuttings, strata, pending))
        tasks = put_task_list(scratch, "export", (shard.to_json() for shard in draw.shards))
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
    )
    return ExportGraph(export_run, tasks)
