"""From a generation to the summary that stats, report and the end of a run show.

Reads records, never rows; only of shards in which forgotten rows wait for their purge are the rows counted again.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.query.layer_statistics import Hidden, statistics_by_key
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.tables import read_batches
from winnow.runners.facts.examples import ExampleRange, ExampleRow
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.schemas.records import Generation, TaskCommit
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.statistics import merge_in_order
from winnow.schemas.summary import LayerSummary, SourceSummary, StageSummary, StoreSummary, add_counts, summarise_layer
from winnow.schemas.tombstones import FORGOTTEN

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine

EXAMPLES = 12
OF_A_REASON = 3
EXCERPT_CHARACTERS = 300

_OF_RANGE = ("reason", "source", "path", "offset", "length", "unit", "detail")


def summarise(
    store: Store,
    generation: Generation,
    recipe: BoundRecipe | None = None,
    engine: "Engine | None" = None,
    console: Console | None = None,
    *,
    reads_rows: bool = True,
) -> StoreSummary:
    """The whole summary of one generation.

    `engine`: where the statistics of many new shards are merged; by default processes of this machine. `reads_rows`:
    take the class and licence of a source from its first row; else from the recipe alone.
    """
    jobs = partial(command_jobs, store, "statistics", engine, console)
    hidden = hidden_rows(store, generation)
    modalities: dict[str, Mapping[str, int]] = {}
    layers = tuple(_layer(store, generation, name, hidden, modalities, jobs) for name in sorted(generation.layers))
    declared = (
        {}
        if recipe is None
        else {source.name: (source.source_class, source.licence) for source in recipe.config.sources}
    )
    ingested: dict[str, _Ingested] = {}
    for task in store.each_task(generation):
        ingested.setdefault(task.source, _Ingested()).add(task)
    sources = tuple(
        _source(
            name,
            found,
            (_class_and_licence(store, found) if reads_rows else None) or declared.get(name, ("", "")),
            dict(modalities.get(name, {})),
        )
        for name, found in sorted(ingested.items())
    )
    ingest = StageSummary(
        name="ingest",
        shards=sum(one.shards for one in ingested.values()),
        rows=sum(one.records for one in ingested.values()),
        kept=sum(one.kept for one in ingested.values()),
        dropped=add_counts(one.dropped for one in ingested.values()),
        quarantined=add_counts(one.quarantined for one in ingested.values()),
    )
    return StoreSummary(
        store=store.record.name,
        generation=generation.number,
        tree_hash=generation.tree_hash,
        sources=sources,
        stages=(ingest,),
        layers=layers,
    )


def ingested_total(store: Store, generation: Generation) -> SourceSummary:
    """What ingest says of all sources together, without modalities: no statistics are read for it."""
    whole = _Ingested()
    for task in store.each_task(generation):
        whole.add(task)
    return _source("total", whole, ("", ""), {})


def example_ranges(store: Store, generation: Generation) -> Iterator[ExampleRange]:
    """The first ranges that were quarantined for each reason; tasks that have no more to show are not read."""
    shown: Counter[str] = Counter()
    forgotten = ForgottenRanges.of(store, store.generation_record(generation.number))
    for task in store.each_task(generation):
        there = task.quarantined_by_reason.items()
        needed = sum(min(count, OF_A_REASON - shown[reason]) for reason, count in there)
        batches = forgotten.read(task) if needed else ()
        for row in (row for batch in batches for row in batch.to_pylist()):
            if shown[row["reason"]] < OF_A_REASON:
                shown[row["reason"]] += 1
                yield ExampleRange(*(row[name] for name in _OF_RANGE))
                needed -= 1
                if not needed:
                    break


def example_rows(store: Store, generation: Generation) -> tuple[ExampleRow, ...]:
    """The first rows of shards spread evenly over the store: the same for the same store."""
    shards = store.manifest(generation, layout.SAMPLES)
    step = max(1, len(shards) // EXAMPLES)
    texts = sorted(name for name in generation.layers if name.startswith(EXTRACTED))
    extracted = {name: store.manifest(generation, name).by_shard for name in texts}
    found: list[ExampleRow] = []
    for shard in shards[::step]:
        batch = next(store.batches(shard, ["id", "source", "url", "modality", "mime", "text", "captions"]), None)
        if batch is None:
            continue
        head = batch.slice(0, max(1, EXAMPLES // max(1, len(shards)))).to_pylist()
        layers = {
            name: next(store.batches(rows[shard.shard], ["text"])).slice(0, len(head))["text"].to_pylist()
            for name, rows in extracted.items()
            if shard.shard in rows
        }
        for index, row in enumerate(head):
            if row["modality"] == FORGOTTEN:
                continue
            captions = (caption["text"] for caption in row["captions"] or ())
            candidates = [row["text"], *(values[index] for values in layers.values()), *captions]
            text = next((value for value in candidates if value), "")
            found.append(
                ExampleRow(
                    id=row["id"].hex(),
                    source=row["source"]["name"],
                    url=row["url"],
                    mime=row["mime"],
                    text=text[:EXCERPT_CHARACTERS],
                )
            )
    return tuple(found[:EXAMPLES])


def _layer(
    store: Store,
    generation: Generation,
    name: str,
    hidden: Hidden,
    modalities: dict[str, Mapping[str, int]],
    jobs: Callable[[], Jobs],
) -> LayerSummary:
    """A layer of all shards; of samples also how many of each modality a source has."""
    entry = generation.layers[name]
    counted = list(statistics_by_key(store, generation, name, hidden, jobs))
    if name == layout.SAMPLES:
        for (source,), statistics in counted:  # samples have a key of their own for each source
            column = statistics.columns.get("modality")
            if column is not None and column.top is not None:
                modalities[source] = column.top.counts
    merged = merge_in_order(statistics for _, statistics in counted)
    return summarise_layer(name, ", ".join(sorted(set(entry.keys.values()))), entry.bytes, merged)


@dataclass
class _Ingested:
    """What the tasks of a source say together."""

    first: str | None = None  # the first samples object
    shards: int = 0
    bytes: int = 0
    records: int = 0
    kept: int = 0
    unread: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    _paths: "array[int]" = field(default_factory=lambda: array("q"))  # a hash of the path of each file that was read

    @property
    def files(self) -> int:
        """The number of files; a file may have several tasks."""
        return len(np.unique(np.frombuffer(self._paths, np.int64))) if self._paths else 0

    def add(self, task: TaskCommit) -> None:
        """Adds a task."""
        if self.first is None and task.shards:
            self.first = task.shards[0].object.path
        self.shards += len(task.shards)
        self.bytes += task.input_bytes
        self.records += task.records
        self.kept += task.kept
        self.unread += task.unread
        self.dropped.update(task.dropped_by_reason)
        self.quarantined.update(task.quarantined_by_reason)
        self._paths.extend(hash(part.path) for part in task.inputs)


def _source(
    name: str, found: _Ingested, class_and_licence: tuple[str, str], modalities: dict[str, int]
) -> SourceSummary:
    source_class, licence = class_and_licence
    return SourceSummary(
        name=name,
        source_class=source_class,
        licence=licence,
        files=found.files,
        input_bytes=found.bytes,
        records=found.records,
        samples=found.kept,
        dropped=add_counts([found.dropped]),
        quarantined=add_counts([found.quarantined]),
        by_modality=modalities,
        unread=found.unread,
    )


def _class_and_licence(store: Store, found: _Ingested) -> tuple[str, str] | None:
    """As a row has it; None where there is none."""
    if found.first is None:
        return None
    batch = next(read_batches(store.objects, found.first, ["source_class", "licence"], batch_rows=1))
    return batch["source_class"][0].as_py(), batch["licence"][0].as_py()
