"""Runs the jobs of operators that look across the rows of a store, before the tasks that write their layers."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from winnow.filters.operators import RowLookup
from winnow.pipelines.annotate.cross_rows import covered_shards, put_cross_row_job, read_bytes
from winnow.pipelines.annotate.meeting import Meeting
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.store import layout
from winnow.pipelines.store.state import StoreState
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun


@contextmanager
def met(run: StageRun, state: StoreState, operators: Sequence[BoundOperator]) -> Iterator[Mapping[str, Meeting]]:
    """Bring rows of the whole store together for operators that compare rows; the result is removed at the end.

    `state`: the shards, or a slice of them.
    """
    objects, whole = run.store.objects, state.whole or state
    folder = f"{layout.SCRATCH}annotate-{secrets.token_hex(4)}"
    meetings: dict[str, Meeting] = {}
    try:
        for number, bound in enumerate(operators):
            shards = covered_shards(bound, whole)
            jobs, size = EngineJobs(run, bound.layer), read_bytes(bound, whole)
            job = put_cross_row_job(bound, objects, f"{folder}/{number}", shards, whole, shuffle=run.shuffle)
            jobs.run(job.job, size)
            if isinstance(job.lookup, RowLookup) and job.lookup.second is not None:
                job = put_cross_row_job(
                    bound, objects, f"{folder}/{number}-second", shards, whole, job, shuffle=run.shuffle
                )
                jobs.run(job.job, size)
            meetings[bound.layer] = job
        yield meetings
    finally:
        if meetings:
            clear_scratch(objects, folder)
