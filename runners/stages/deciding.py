"""Decides which rows a score keeps: the jobs of a decision one after another, and the layer that they write."""

import time
from dataclasses import replace

from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import load_stable_hiding
from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.linear_jobs import Job
from winnow.pipelines.score.deciding.batch_votes import BatchVotes
from winnow.pipelines.score.deciding.decided import make_decision, put_pending_groups, record_of
from winnow.pipelines.score.deciding.decision import Sizes
from winnow.pipelines.score.deciding.jobs import batch_job, fit_job, place_job, top_job, vote_job, write_job
from winnow.pipelines.score.deciding.measuring import read_fits
from winnow.pipelines.score.deciding.placing import Order, Placing
from winnow.pipelines.score.deciding.records import DecidedGroup, DecisionRecord, find_decision
from winnow.pipelines.score.deciding.top_cuts import TopSearch
from winnow.pipelines.score.deciding.voting import Voting
from winnow.pipelines.score.deciding.writing import Writing
from winnow.pipelines.score.keys import score_key
from winnow.pipelines.score.stage import load_score
from winnow.pipelines.store import layout
from winnow.pipelines.store.global_keys import forgotten_in
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.leases.lease import require_lease
from winnow.pipelines.store.state import StoreState
from winnow.runners.facts.scores import NOT_CONVERGED, NOTES, WITHOUT_INTERVAL
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StageError
from winnow.scoring.selection import Quality

DEFAULT_SIZES = Sizes()
SHOWN = 6  # fits in the terminal; the report shows all


def decide(run: StageRun, state: StoreState, bound: BoundScore, sizes: Sizes = DEFAULT_SIZES) -> None:
    """Update a score's layer for the rows of the state, whose traces must be current."""
    store, hiding = run.store, load_stable_hiding(run.store)
    layer, forgotten = bound.entry.layer, forgotten_in(hiding.tombstones)
    key = score_key(bound, state, forgotten)
    there = load_score(store, state, bound, forgotten)
    if not state.shards or (there and find_decision(store.objects, layer, key.covered) is not None):
        return
    began = time.monotonic()
    clear_scratch(store.objects, f"{layout.SCRATCH}decide")  # left by an interrupted decision
    decision = replace(make_decision(store, bound, state, key, hiding, sizes), shuffle=run.shuffle)
    jobs = EngineJobs(run, layer)

    def run_job(job: Job) -> None:
        if decision.small:
            job.run_in_process()
        else:
            jobs.on_engine(job)

    run_job(fit_job(decision))
    fitted, orders = read_fits(decision), _orders(bound)
    if decision.rule.rule == "top":
        fitted = TopSearch(decision, fitted, lambda one: run_job(top_job(one))).find()
    placing = Placing(decision, orders)
    placing.prepare(fitted)
    run_job(place_job(placing))
    placing.finish()
    batches = BatchVotes(placing) if "batches" in orders else None
    if batches is not None:
        run_job(batch_job(batches))
    voting = Voting(decision, batches, len(fitted))
    voting.prepare(fitted)
    run_job(vote_job(voting))
    record = record_of(decision, voting.decided(), voting.keeps())
    put_record(store.objects, layout.decision(layer, key.covered), record)
    if owed := put_pending_groups(decision, state, key):
        run_job(write_job(Writing(decision, placing, batches, key), owed))
    if not load_score(store, state, bound, forgotten):
        raise StageError(f"{layer}: shards ended without a commit; run again")
    require_lease(store.objects)
    clear_scratch(store.objects, decision.scratch)
    store.objects.delete(decision.listed)
    _print_result(run, bound, record, time.monotonic() - began)


def _orders(bound: BoundScore) -> tuple[Order, ...]:
    return ("score", "random", "batches") if bound.entry.filter.binarise == "threshold" else ("score", "random")


def _print_result(run: StageRun, bound: BoundScore, record: DecisionRecord, seconds: float) -> None:
    """Print one line for each of the largest fits, with the estimated quality."""
    largest = sorted(record.groups, key=lambda one: -one.rows)
    layer, by = bound.entry.layer, bound.entry.filter.by
    for one in largest[:SHOWN]:
        of = f" of {by} {one.name}" if one.name else ""
        quality = one.quality
        said = f"no votes: {_no_votes_reason(one)}"
        if quality is not None:
            rows = count_of(quality.rows, "sample")
            said = f"{rows}; keeps {quality.kept:.1%}; {_worth_keeping(quality)}; {seconds:.1f} s"
        run.console.print(f"{layer}{of}  {said}")
    if stopped := [one.name or "all" for one in largest if not one.converged]:
        names = f" of {by} {', '.join(stopped[:SHOWN])}{' …' * (len(stopped) > SHOWN)}" if by else ""
        run.console.print(f"{layer}{names}  {NOT_CONVERGED}")
    if (rest := len(largest) - SHOWN) > 0:
        run.console.print(f"{layer}  {rest} more values of {by}: winnow report")


def _worth_keeping(quality: Quality) -> str:
    """The estimated share of good samples, or why there is none."""
    if quality.method == "clusters":
        return f"worth keeping {quality.share:.1%} ({quality.low:.1%} to {quality.high:.1%})"
    return f"worth keeping: {WITHOUT_INTERVAL[quality.method]}"


def _no_votes_reason(group: DecidedGroup) -> str:
    notes = sorted({NOTES[cut.note] for cut in group.cuts if cut.note})
    return ", ".join(notes) or NOTES["unscored"]
