"""Audits one generation completely, in the order in which a person would ask.

Each check describes its tasks first; all of them run as one job, and what they found is reported check by check.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from winnow.pipelines.audit.draws import DrawsCheck
from winnow.pipelines.audit.exports import ExportsCheck
from winnow.pipelines.audit.fetched import FetchedCheck
from winnow.pipelines.audit.files import FilesCheck
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.identities import RepeatedIds, id_partitions
from winnow.pipelines.audit.objects import ObjectsCheck, check_alignment, check_environments, check_intake
from winnow.pipelines.audit.older_generations import check_older_generations
from winnow.pipelines.audit.ranges import RangesCheck
from winnow.pipelines.audit.sources import SourcesCheck
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.outputs import lost_copies, lost_generation, lost_records
from winnow.pipelines.forgetting.scanning import scan_missing
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import HERE, Jobs, TaskFolder
from winnow.pipelines.running.linear_jobs import LinearJob, StoreStep
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row, every_shard_text
from winnow.pipelines.store.hiding.scans import HiddenRows, load_hiding
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError, missing
from winnow.pipelines.store.integrity.sealed import find_record
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation, GenerationRecord, StoredWeights, WeightKeys
from winnow.schemas.rows.scores import SCORES, TRACES

CHECKS = "Checks"

T = TypeVar("T")


def audit_generation(
    store: Store,
    generation: Generation,
    context: IngestContext | None,
    *,
    exports: bool = True,
    named: Sequence[str] = (),
    jobs: Jobs = HERE,
) -> Findings:
    """Audits the store's objects, draws and files, its exports, and its sources.

    Tasks read the data; this process reads manifests and the tasks' findings, so its memory grows with the objects of
    one layer, ingest tasks, exported files and forgotten rows. Findings and their order do not depend on where jobs
    run. `context` says where the sources are (None: do not read them), `named` where to look for unregistered exports.
    """
    findings = Findings()
    record = store.generation_record(generation.number)
    with jobs.folder("audit") as steps:
        audit = _Audit(store, generation, record, context, findings, steps, jobs, named)
        with _going_on(findings):
            audit.find_hidden()
        audit.plan(exports=exports)
        audit.run()
        audit.conclude()
    if context is None:
        findings.notes.append("the sources were not read again; name the recipe to prove that nothing was lost")
    return findings


def audit_store(
    store: Store, recipe: BoundRecipe | None, context: IngestContext | None, *, exports: bool = True, jobs: Jobs = HERE
) -> Findings:
    """Audits the latest generation as a recipe reads it; if its record is damaged or lost, only checks every file."""
    try:
        generation = require_latest_for(recipe, store)
    except (DamagedError, MissingError) as error:
        findings = Findings(problems=[str(error)])
        with jobs.folder("audit") as steps:
            tasks = TaskFolder(steps)
            files = FilesCheck(store, None, findings)
            files.plan(tasks)
            tasks.run(jobs, CHECKS)
            files.conclude(tasks)
        return findings
    named = () if recipe is None else [recipe.config.located(entry.path) for entry in recipe.config.export]
    return audit_generation(store, generation, context, exports=exports, named=named, jobs=jobs)


class _Audit:
    """The checks of an audit, in the order in which they report."""

    def __init__(
        self,
        store: Store,
        generation: Generation,
        record: GenerationRecord,
        context: IngestContext | None,
        findings: Findings,
        steps: JobSteps,
        jobs: Jobs,
        named: Sequence[str],
    ) -> None:
        self._jobs = jobs
        self._store = store
        self._generation = generation
        self._record = record
        self._findings = findings
        self._tasks = TaskFolder(steps)
        self._tasks_here = TaskFolder(JobSteps(steps.objects, f"{steps.scratch}/here"))
        self._ids = RepeatedIds(steps)
        self._objects = ObjectsCheck(store, record, findings)
        self._ranges = RangesCheck(store)
        self._draws = DrawsCheck(store, generation, findings)
        self._files = FilesCheck(store, record, findings)
        self._fetched = FetchedCheck(store, findings)
        self._exports = ExportsCheck(store, findings, named)
        self._sources = SourcesCheck(context, findings) if context is not None else None
        self._hidden: dict[str, HiddenRows] = {}
        self._commits = TaskCommits.of(())  # of the recipe
        self._damage: dict[str, Exception] = {}  # why a check could not be planned

    def find_hidden(self) -> None:
        """Finds the hidden rows of every recipe's samples; objects that were not scanned are scanned by tasks."""
        hiding = load_hiding(self._store.objects)
        if hiding:
            scan_missing(self._store, hiding, every_shard_text(self._store, self._record, hiding), self._jobs)
            self._hidden = every_hidden_row(self._store, self._record, hiding)

    def plan(self, *, exports: bool) -> None:
        """Describes the tasks of all checks."""
        hidden = {path: found.rows for path, found in self._hidden.items()}
        purged = {path: np.setdiff1d(found.rows, found.pending) for path, found in self._hidden.items()}
        with self._planning("balance"):
            self._commits = self._store.tasks(self._generation)
        self._objects.plan(self._tasks, self._generation, {path: rows for path, rows in purged.items() if len(rows)})
        with self._planning("ranges"):
            self._ranges.plan(self._tasks, self._store.every_task(self._record), hidden)
        with self._planning("draws"):
            self._draws.plan(self._tasks, hidden)
        self._files.plan(self._tasks)
        self._fetched.plan(self._tasks)
        if exports:
            with self._planning("exports"):
                self._exports.plan(self._tasks_at)
        if self._sources is not None:
            self._sources.plan(self._tasks_at, self._commits)

    def _tasks_at(self, place: str) -> TaskFolder:
        return self._tasks if self._jobs.reaches(place) else self._tasks_here

    def run(self) -> None:
        """Runs the tasks in one job, in which ids meet, and here those that read what only this machine reaches."""
        partitions = id_partitions(self._generation)
        ids = StoreStep("Ids", partitions, self._ids.store)
        steps = self._tasks.steps
        job = LinearJob(steps, CHECKS, self._tasks.count, self._tasks.numbered.send, (), ids)
        self._jobs.run(job, self._tasks.size)
        self._tasks_here.run(HERE, CHECKS)

    def conclude(self) -> None:
        """Reports what tasks found, and checks what records alone tell."""
        store, generation, findings, tasks = self._store, self._generation, self._findings, self._tasks
        self._objects.collect(tasks)
        self._ranges.collect(tasks)
        self._report("balance")
        with _going_on(findings):
            self._objects.conclude()
        with _going_on(findings):
            check_alignment(store, generation, findings)
        self._report("ranges")
        self._ranges.conclude(self._commits, self._objects.footers, findings)
        with _going_on(findings):
            check_intake(store, self._commits, findings)
        self._ids.conclude(generation, findings, complete=self._objects.all_ids_sent)
        self._conclude_forgotten()
        self._report("draws")
        stale = self._draws.conclude(tasks)
        check_environments(generation, findings)
        with _going_on(findings):
            check_weights(store, generation, findings)
        check_score_decisions(store, generation, findings)
        check_older_generations(store, self._record, findings)
        with _going_on(findings):
            if (lost := lost_generation(store)) is not None:
                findings.problems.append(str(lost))
        findings.problems += [str(missing(store.root, path)) for path in lost_records(store.objects)]
        findings.notes += [str(missing(store.root, path)) for path in lost_copies(store.objects)]
        self._files.conclude(tasks)
        self._fetched.conclude(tasks)
        self._report("exports")
        self._exports.conclude(stale)
        if self._sources is not None:
            self._sources.conclude()

    def _conclude_forgotten(self) -> None:
        """Reports purged rows that are not empty in every layer; counts the rows that are hidden but not purged."""
        filled = self._objects.filled
        self._findings.problems += [
            f"{path}: still has content of a forgotten row that is marked as purged" for path in filled
        ]
        waiting = sum(len(found.pending) for found in self._hidden.values())
        rows = sum(len(found.rows) for found in self._hidden.values()) - waiting
        if rows and not filled:
            self._findings.proved.append(
                f"{count_of(rows, 'forgotten row is', 'forgotten rows are')} empty in every layer"
            )
        if waiting or self._ranges.quoting:
            self._findings.notes.append(
                f"{count_of(waiting, 'forgotten row is', 'forgotten rows are')} hidden but not purged yet; run winnow "
                "gc --purge to remove this content"
            )

    @contextmanager
    def _planning(self, check: str) -> Iterator[None]:
        """Leaves out the tasks of a check that lacks a file; what is wrong is reported in the check's place."""
        try:
            yield
        except (DamagedError, MissingError) as error:
            self._damage[check] = error

    def _report(self, check: str) -> None:
        error = self._damage.get(check)
        if error is not None and str(error) not in self._findings.problems:
            self._findings.problems.append(str(error))


@contextmanager
def _going_on(findings: Findings) -> Iterator[None]:
    """Ends a check at the first file it cannot do without; the other checks continue."""
    try:
        yield
    except (DamagedError, MissingError) as error:
        if str(error) not in findings.problems:
            findings.problems.append(str(error))


def check_weights(store: Store, generation: Generation, findings: Findings) -> None:
    """Notes weights and traces from several environments, which may differ in pinned values."""
    for layer in sorted(generation.layers):
        if not layer.startswith(TRACES):
            continue
        score = layer.removeprefix(TRACES)
        rows = store.manifest(generation, layer)
        made = {row.fingerprint for row in rows}
        for key in sorted({row.key for row in rows}):
            made |= _weights_made(store, score, key)
        if len(made) > 1:
            findings.notes.append(
                f"{layer} and its weights were made in {len(made)} different environments ({', '.join(sorted(made))})"
            )


def check_score_decisions(store: Store, generation: Generation, findings: Findings) -> None:
    """Notes scores whose record of how they were decided is missing: lost, or removed by a purge."""
    for layer in sorted(generation.layers):
        if not layer.startswith(SCORES):
            continue
        for key in sorted({row.key for row in store.manifest(generation, layer)}):
            if not store.objects.exists(path := layout.decision(layer, key)):
                findings.notes.append(
                    f"{path}: missing (gc --purge removes it, too): stats and reports do not show {layer}; "
                    "run 'winnow score RECIPE', which makes it again"
                )


def _weights_made(store: Store, score: str, trace: str) -> set[str]:
    """The recorded environments of a trace's weights."""
    use = _found(store, WeightKeys, layout.weights_use(score, trace))
    keys = (use.reference, use.trajectory, use.target) if use is not None else ()
    found = (_found(store, StoredWeights, layout.weights_record(score, key)) for key in filter(None, keys))
    return {stored.fingerprint for stored in found if stored is not None and stored.fingerprint}


def _found(store: Store, kind: type[T], path: str) -> T | None:
    """A record; None if it is missing, since weights may be collected before their traces, or damaged."""
    try:
        return find_record(store.objects, kind, path)
    except StoreError:
        return None
