"""Runs the jobs of operators that look across the rows of a store, before the tasks that write their layers."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

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
            meetings[bound.layer] = put_cross_row_job(bound, objects, f"{folder}/{number}", shards, whole)
            EngineJobs(run, bound.layer).run(meetings[bound.layer].job, read_bytes(bound, whole))
        yield meetings
    finally:
        if meetings:
            clear_scratch(objects, folder)
