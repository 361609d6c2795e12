"""Runs the search for duplicates: the pipelines of the search, and the layers with its results."""

import os
import time
from collections.abc import Mapping
from types import MappingProxyType

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe import clusters
from winnow.pipelines.dedupe.chains import count_cut
from winnow.pipelines.dedupe.clusters import (
    ROUNDS_A_JOB,
    StarRound,
    max_star_rounds,
    star_partitions,
    star_rounds,
    unjoined_edges,
)
from winnow.pipelines.dedupe.graph import OutcomeGraph, SearchGraph, StarGraph
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.dedupe.stage import (
    estimated_items,
    load_existing_layers,
    load_stable_hiding,
    make_search,
)
from winnow.pipelines.dedupe.task import WriteDuplicates, WriteTask
from winnow.pipelines.dedupe.training import training_of
from winnow.pipelines.dedupe.verdicts import delete_superseded
from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.flows import Here
from winnow.pipelines.running.shard_list import delete_shard_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.global_keys import GlobalKey
from winnow.pipelines.store.leases.lease import require_lease
from winnow.pipelines.store.state import StoreState
from winnow.runners.stages.recording import record_search
from winnow.runners.stages.running.stage_run import Clock, StageRun
from winnow.runners.terminal.progress.job import JobProgress
from winnow.runners.terminal.progress.stage import inputs_of
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.rows.duplicates import Kind, layer_of_kind

HERE_BYTES = 4 << 20
"""Searches that read no more run in this process, which holds all that they exchange, unpacked: text of one template
may be fifty times as long as its object."""

HERE_VARIABLE = "WINNOW_DEDUPE_HERE_BYTES"
"""An environment variable: searches that read at most so many bytes run in this process; 0 for none."""


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
    of = f"{count_of(rows, 'row')} of {count_of(len(search.covered), 'shard')}"
    run.console.print(f"dedupe  comparing {of}: {', '.join(missing)}")
    compare(run, search, rows, estimated_items(state, search.kinds.values(), rows))
    report(run.console, search)
    run.console.print(f"dedupe  compared in {time.monotonic() - began:.1f} s")
    lacking = _lacking(state, missing)
    run.tasks(
        "dedupe",
        lambda: (
            (one.shard, WriteTask(number, lacking[one.shard]).to_json())
            for number, one in enumerate(search.covered)
            if one.shard in lacking
        ),
        WriteDuplicates(search, missing),
        state.held.begin(lacking),
        state.held,
        inputs_of(row for row in state.shards if row.shard in lacking),
        here=_is_small(search),
    )
    for kind, key in missing.items():
        rows_made = key.all_rows(state, layer_of_kind(kind))
        if rows_made is None:
            raise StageError(f"dedupe: shards ended without a commit of {layer_of_kind(kind)}; run again")
        state.layers[layer_of_kind(kind)] = rows_made
    shuffled = sum(info.size for info in run.store.objects.list(f"{search.scratch}/"))
    ran = clock.ran(one.shard for one in search.covered)
    record_search(run, state, search, shuffled, ran, here=_is_small(search))
    require_lease(run.store.objects)
    delete_superseded(search)
    clear_scratch(run.store.objects, search.scratch)
    delete_shard_list(run.store.objects, search.shards)


def _lacking(state: StoreState, keys: Mapping[Kind, GlobalKey]) -> dict[str, dict[str, str]]:
    """The layers that each shard lacks, with their keys; an interrupted run may have written some."""
    there = {kind: key.rows(state, layer_of_kind(kind)).by_shard for kind, key in keys.items()}
    lacking: dict[str, dict[str, str]] = {}
    sets: dict[tuple[Kind, ...], dict[str, str]] = {}  # most shards lack the same: one for all of these
    for shard in state.samples:
        if kinds := tuple(kind for kind, shards in there.items() if shard not in shards):
            lacking[shard] = sets.setdefault(kinds, {layer_of_kind(kind): keys[kind].covered for kind in kinds})
    return lacking


def compare(run: StageRun, search: Search, rows: int, items: Mapping[Kind, int] = MappingProxyType({})) -> None:
    """Write the results for nodes with duplicates to the search's scratch folder."""
    graph = SearchGraph(search, rows, clusters.MAX_EDGES, items)
    progress = JobProgress(search.store.objects, search.scratch, "dedupe", graph.steps, rounds_after="Forests")
    with progress.shown(run.console):
        if _is_small(search):
            graph.lay_out(Here())
        else:
            run.job("dedupe.compare", graph.build, max(graph.steps.values()))
        for kind in search.kinds:
            if search.kinds[kind].search is not None and (edges := unjoined_edges(search, kind)):
                last = _contracted(run, search, kind, edges)
                run.job("dedupe.compare", OutcomeGraph(last).build, max(last.partitions, *graph.steps.values()))


def _is_small(search: Search) -> bool:
    """Whether this process has done it before an engine has begun.

    What is learnt of vectors is not: only workers are sure to sum in one thread, and so to the same last digits.
    """
    given = os.environ.get(HERE_VARIABLE, str(HERE_BYTES))
    if not given.isdecimal():
        raise WinnowError(f"{HERE_VARIABLE}={given}: expected a number of bytes, such as {HERE_BYTES}; 0 for none")
    return 0 < search.size <= int(given) and not any(training_of(search, kind) for kind in search.kinds)


def _contracted(run: StageRun, search: Search, kind: Kind, edges: int) -> StarRound:
    """Run star contraction until a round changes nothing, and return the last round that was run."""
    for number in range(0, max_star_rounds(edges), ROUNDS_A_JOB):
        rounds = star_rounds(search, kind, number, star_partitions(edges))
        run.job("dedupe.compare", StarGraph(rounds).build, max(one.sources for one in rounds))
        require_lease(run.store.objects)
        for one in rounds:
            one.clear()
        if rounds[-1].finished:
            needed = next(one.number for one in rounds if one.finished)
            run.console.print(f"dedupe  joined {edges:,} edges in {needed + 1} rounds of star contraction")
            return rounds[-1]
    raise StageError(
        f"dedupe: {edges:,} edges did not converge after {max_star_rounds(edges)} rounds of star contraction"
    )


def report(console: Console, search: Search) -> None:
    """Print what each kind says of its search, and what became of chains."""
    for kind, asked in search.kinds.items():
        for remark in asked.kind.remarks(asked.settings, search.counted(kind)):
            console.print(f"dedupe  {remark}")
        if search.chains(kind) is not None and (cut := count_cut(search, kind)).chains:
            of = f"{count_of(cut.chains, 'chain')} of {cut.members:,} different {asked.kind.counted}"
            parts = f"{count_of(cut.clusters, 'cluster')} and {cut.alone:,} without a duplicate"
            said = f"cut {of} into {parts}, so that all of a cluster are similar to one of them"
            console.print(f"dedupe  {kind}: {said}")
