"""Runs the search for duplicates: the pipelines of the search, and the layers with its results."""

import time
from collections.abc import Callable, Iterable, Mapping

import apache_beam as beam
from rich.console import Console
from rich.text import Text

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe import clusters
from winnow.pipelines.dedupe.clusters import StarRound, max_star_rounds, star_partitions, unjoined_edges
from winnow.pipelines.dedupe.graph import OutcomeGraph, SearchGraph, StarGraph
from winnow.pipelines.dedupe.near import ALL_PAIRS
from winnow.pipelines.dedupe.outcomes import count_buckets
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.dedupe.stage import existing_layer, load_existing_layers, load_stable_hiding, make_search
from winnow.pipelines.dedupe.task import GlobalKey, WriteTask
from winnow.pipelines.dedupe.transforms import WriteDuplicates
from winnow.pipelines.dedupe.verdicts import delete_superseded
from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.step_beats import steps_done
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_names
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.lease import require_lease
from winnow.pipelines.store.state import StoreState
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.estimating.recording import record_search
from winnow.runners.stages.stage_run import Clock, StageRun
from winnow.runners.terminal.status_line import StatusLine
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import Kind, layer_of_kind

TRIES = 3  # of a pipeline whose worker died, as nothing is committed before its end


def find_duplicates(run: StageRun, recipe: BoundRecipe, state: StoreState) -> None:
    """Update all duplicate layers for the rows of the state; the signature layers must be current."""
    require_lease(run.store.objects)
    clear_scratch(run.store.objects, layout.SCRATCH.rstrip("/"))  # left by an interrupted search
    hiding = load_stable_hiding(run.store)
    missing = load_existing_layers(run.store, recipe, state, hiding.tombstones)
    if not missing or not state.shards:
        return
    search = make_search(run.store, recipe, state, missing, hiding)
    rows = sum(shard.rows for shard in search.covered)
    began, clock = time.monotonic(), Clock(run.engine)
    run.console.print(f"dedupe  comparing {rows:,} rows of {len(search.covered):,} shards: {', '.join(missing)}")
    compare(run, search, rows)
    if "near" in missing:
        report_large_buckets(run.console, search)
    run.console.print(f"dedupe  compared in {time.monotonic() - began:.1f} s")
    shards = {one.shard: number for number, one in enumerate(search.covered)}
    run.tasks(
        "dedupe",
        {shard: WriteTask(number).to_json() for shard, number in shards.items()},
        WriteDuplicates(search, missing),
        _awaited(run.store, shards, missing),
        {},
    )
    for kind, key in missing.items():
        rows_made = existing_layer(state, layer_of_kind(kind), key)
        if rows_made is None:
            raise StageError(f"dedupe: shards ended without a commit of {layer_of_kind(kind)}; run again")
        state.layers[layer_of_kind(kind)] = rows_made
    shuffled = sum(info.size for info in run.store.objects.list(f"{search.scratch}/"))
    record_search(run, state, search, shuffled, clock.ran(shards))
    require_lease(run.store.objects)
    delete_superseded(search)
    clear_scratch(run.store.objects, search.scratch)
    run.store.objects.delete(search.shards)


def _awaited(store: Store, shards: Iterable[str], keys: Mapping[Kind, GlobalKey]) -> dict[str, tuple[str, str]]:
    """The expected last commit of each shard: of the last kind, or the last kind that an interrupted run lacks."""
    every = [(layer_of_kind(kind), key.covered) for kind, key in keys.items()]
    there = {one: committed_names(store.objects, *one) for one in every}
    return {shard: next((one for one in reversed(every) if shard not in there[one]), every[-1]) for shard in shards}


def compare(run: StageRun, search: Search, rows: int) -> None:
    """Write the results for rows with duplicates to the search's scratch folder."""
    graph = SearchGraph(search, rows, clusters.MAX_EDGES)
    with DedupeProgress(search, graph.steps).shown(run.console):
        _run(run, graph.build)
        if "near" in search.kinds and (edges := unjoined_edges(search)):
            _run(run, OutcomeGraph(_contracted(run, search, edges)).build)


def _contracted(run: StageRun, search: Search, edges: int) -> StarRound:
    """Run star contraction until a round changes nothing, and return that round."""
    partitions = star_partitions(edges)
    for number in range(max_star_rounds(edges)):
        one = StarRound(search, number, partitions)
        _run(run, StarGraph(one).build)
        require_lease(run.store.objects)
        one.clear_previous()
        if one.finished:
            run.console.print(f"dedupe  joined {edges:,} edges in {number + 1} rounds of star contraction")
            return one
    raise StageError(
        f"dedupe: {edges:,} edges did not converge after {max_star_rounds(edges)} rounds of star contraction"
    )


def _run(run: StageRun, build: Callable[[beam.Pipeline], object]) -> None:
    for attempt in range(1, TRIES + 1):
        try:
            run.engine.run(build, stage="dedupe.compare")
            return
        except WorkerLostError:
            if attempt == TRIES:
                raise
            run.console.print("dedupe: a worker process died; restarting the comparison")


def report_large_buckets(console: Console, search: Search) -> None:
    """Print the number of large buckets."""
    counted = count_buckets(search)
    if counted.hot_buckets and search.near is not None:
        console.print(
            f"dedupe  {counted.hot_buckets:,} of {counted.buckets:,} buckets hold more than {search.near.max_bucket:,} "
            f"rows ({counted.hot_rows:,} in total); max_bucket only counts them; in buckets of more than {ALL_PAIRS} "
            f"rows, each row is compared only with its neighbours",
            soft_wrap=True,
        )


class DedupeProgress:
    """Shows the progress of a search from the workers' heartbeats."""

    def __init__(self, search: Search, steps: Mapping[str, int]) -> None:
        """`steps`: the maximum number of partitions of each step, in order."""
        self._search = search
        self._steps = dict(steps)
        self._started = time.monotonic()

    def shown(self, console: Console) -> StatusLine:
        """The status line, shown while the search runs."""
        return StatusLine(console, self.line({}), self._poll)

    def line(self, done: Mapping[str, int]) -> Text:
        """The line for the current step: the last one begun, including rounds of star contraction."""
        seconds = time.monotonic() - self._started
        begun = [step for step in self._steps if step in done]
        rounds = [step for step in done if step not in self._steps]
        at = begun[-1] if begun else next(iter(self._steps))
        if rounds and at == "Forests":
            at = rounds[-1]
        most = f"/{self._steps[at]:,}" if at in self._steps else ""
        return Text(f"{'dedupe':<16}  {at}  {done.get(at, 0):,}{most} parts  {seconds:.0f} s")

    def _poll(self) -> Text:
        return self.line(steps_done(self._search.store.objects, self._search.scratch))
