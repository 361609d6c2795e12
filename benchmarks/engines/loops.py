"""What engines are held against: the work of a stage on as many processes, without Beam.

    python -m benchmarks.engines.loops kernels RECIPE WORKERS FOLDER   bare kernels of annotate
    python -m benchmarks.engines.loops ingest|annotate RECIPE WORKERS  the tasks of a stage
    python -m benchmarks.engines.loops compare RECIPE WORKERS FOLDER   is what the kernels wrote what the store holds?

Kernels: each process takes a shard's object, reads the columns that the operators read in batches of the size that
tasks have, calls the kernels and writes a Parquet file for each layer: no store, hashes, statistics, marks or commits.
Tasks: each process takes a task and runs what a worker of any engine runs, to its commit; nothing is published.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.language.folding.composed import ComposedTexts, composed_texts, has_spans, spans_as_written
from winnow.filters.operators import TEXT, Kernel, TextOperator
from winnow.pipelines.annotate.task import AnnotationContext, RunAnnotation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import BoundOperator, passes_of
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.ingest.planning.stage import freeze_plans, pending_tasks, plan_sources
from winnow.pipelines.ingest.transforms import RunIngest, ingest_element
from winnow.pipelines.processes.identity import limit_threads
from winnow.pipelines.running.row_layers import pending_shards
from winnow.pipelines.running.shard_rows import BATCH_ROWS
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.generations import Store, create_or_open, open_store
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.runners.stages.store_stages import current_state
from winnow.schemas.recipe import Recipe, load_recipe

SAMPLES = "samples."
SAME = "same"
Work = Callable[..., None]

_held: list[Work] = []  # what a process does with each element, whose models it keeps


def main() -> None:
    """Be one of the loops, from its start to the last result."""
    what, recipe_file, workers, *folder = sys.argv[1:]
    limit_threads()
    recipe = load_recipe(Path(recipe_file))
    if what == "kernels":
        operators = bind(recipe).operators
        store = _store(recipe)
        shards = [f"{store.root}/{row.object}" for row in current_state(bind(recipe), store).shards]
        _in_processes(int(workers), Kernels(operators, Path(folder[0])), shards)
    elif what == "compare":
        print(difference(recipe, Path(folder[0])) or SAME)
    else:
        for worker, elements in pending_ingest(recipe) if what == "ingest" else pending_annotation(recipe):
            _in_processes(int(workers), Tasks(worker), elements)


class Kernels:
    """The bare loop over one shard."""

    def __init__(self, operators: Sequence[BoundOperator], folder: Path) -> None:
        self._operators = operators
        self._folder = folder
        self._kernels: dict[str, Kernel] = {}

    def __call__(self, shard: str) -> None:
        """Read, measure, write."""
        if not self._kernels:
            self._kernels = {one.layer: one.operator.load(one.config, one.assets) for one in self._operators}
        names = {name for one in self._operators for name in one.operator.inputs(one.config)}
        read = ["text", *sorted(name.removeprefix(SAMPLES) for name in names if name.startswith(SAMPLES))]
        made: dict[str, list[pa.RecordBatch]] = {one.layer: [] for one in self._operators}
        for batch in pq.ParquetFile(shard).iter_batches(BATCH_ROWS, columns=read, use_threads=False):
            columns: dict[str, pa.Array] = {f"{SAMPLES}{name}": batch[name] for name in read}
            written = batch["text"].cast(pa.large_string())
            composed = composed_texts(written)
            for one in self._operators:
                assert isinstance(one.operator, TextOperator)
                columns[TEXT] = written if one.operator.as_written else composed.texts
                layer = self._kernels[one.layer](_given(one, columns))
                if not one.operator.as_written:
                    layer = _spans_as_written(layer, written, composed)
                columns |= {f"{one.layer}.{name}": layer[name] for name in layer.schema.names}
                made[one.layer].append(layer)
        for layer_name, batches in made.items():
            target = self._folder / layer_name / Path(shard).name
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_batches(batches), target, compression="zstd", row_group_size=ROW_GROUP_ROWS)


class Tasks:
    """A stage's tasks, each as its worker runs it."""

    def __init__(self, worker: beam.DoFn) -> None:
        self._worker = worker

    def __call__(self, element: bytes) -> None:
        """To its commit."""
        for _ in self._worker.process(element):
            pass


def difference(recipe: Recipe, folder: Path) -> str | None:
    """What the bare loop wrote that is not what the store holds, if anything: the first that is found.

    Compared are the values that kernels return; a layer's status is the stage's own where a kernel has none.
    """
    store = _store(recipe)
    shards = [row.shard for row in current_state(bind(recipe), store).shards]
    generation = store.require_latest()
    for layer in (one.layer for one in bind(recipe).operators):
        rows = store.manifest(generation, layer) if layer in generation.layers else []
        if len(rows) != len(shards):
            return f"{layer}: {len(rows)} of {len(shards)} shards"
        for row in rows:
            bare = pq.read_table(folder / layer / Path(row.samples).name)
            held = pq.read_table(f"{store.root}/{row.object}", columns=bare.column_names)
            if not held.equals(bare.cast(held.schema)):
                return f"{layer} of shard {row.shard}"
    return None


def _given(one: BoundOperator, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    names = one.operator.inputs(one.config)
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))


def _spans_as_written(layer: pa.RecordBatch, texts: pa.LargeStringArray, composed: ComposedTexts) -> pa.RecordBatch:
    for at, field in enumerate(layer.schema):
        if has_spans(field.type):
            layer = layer.set_column(at, field, spans_as_written(layer.column(at), texts, composed.changed))
    return layer


def _in_processes(workers: int, work: Work, elements: Sequence[object]) -> None:
    """Forked, as workers are: what this process has imported need not be imported again."""
    with ProcessPoolExecutor(workers, get_context("fork"), initializer=_begin, initargs=(work,)) as pool:
        for _ in pool.map(_work_on, elements):
            pass


def _begin(work: Work) -> None:
    prepare_worker()
    _held.append(work)


def _work_on(element: object) -> None:
    _held[0](element)


def _store(recipe: Recipe) -> Store:
    return open_store(open_location(recipe.located(recipe.store.path)))


def pending_ingest(recipe: Recipe) -> Iterator[tuple[beam.DoFn, list[bytes]]]:
    """What a worker of ingest runs, and the tasks that are pending; writes down which those are, as a run does."""
    store = create_or_open(open_location(recipe.located(recipe.store.path)), store_record(recipe))
    context = bind(recipe).ingest(store)
    plans = plan_sources(context, {source.name: source.files for source in recipe.sources})
    freeze_plans(context, plans)
    held = StoreIndex.of(store)
    yield RunIngest(context), [ingest_element(task) for plan in plans for task in pending_tasks(context, held, plan)]


def pending_annotation(recipe: Recipe) -> Iterator[tuple[beam.DoFn, list[bytes]]]:
    """What a worker of each pass runs, and the tasks that it owes."""
    store = _store(recipe)
    state: StoreState = current_state(bind(recipe), store)
    for one_pass in passes_of(bind(recipe).operators):
        context = AnnotationContext(store, one_pass.operators)
        tasks = pending_shards(state, one_pass.operators)
        state.held.begin({task.shard: task.missing for task in tasks})
        yield RunAnnotation(context), [task.to_json() for task in tasks]


if __name__ == "__main__":
    main()
