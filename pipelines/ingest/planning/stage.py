"""The ingest stage as its driver sees it: which tasks are pending, and what was committed.

The driver keeps nothing in memory that a rerun would need: tasks are frozen in the intake, a task is done when
its commit exists, and a generation is made of commits alone.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import pyarrow as pa

from winnow.pipelines.ingest.clips import ALL_LISTED
from winnow.pipelines.ingest.planning.context import BoundExtractor, IngestContext
from winnow.pipelines.ingest.planning.identities import duplicates_among
from winnow.pipelines.ingest.planning.task_sizes import TaskSizer
from winnow.pipelines.ingest.reread import ExtractionTask
from winnow.pipelines.ingest.task import part_digest
from winnow.pipelines.running.ledger.ingest_tasks import IngestTasks
from winnow.pipelines.running.ledger.intake import IntakePlan, freeze, plan_intake, reject_changed, replace_changed
from winnow.pipelines.running.ledger.listings import Listing, list_source
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_tasks
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.records import InputRecord, TaskCommit

Patterns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class SourcePlan:
    """One source: its files and its tasks."""

    name: str
    listing: Listing
    intake: IntakePlan
    key: str
    whole: frozenset[str] = frozenset()  # files that were found not to be readable in parts


def plan_sources(context: IngestContext, patterns: Patterns) -> list[SourcePlan]:
    """Compares every source with what was ingested. Uses listings, and samples of many new files; writes nothing."""
    plans = []
    for name, source in context.sources.items():
        wanted = patterns[name] if source.clips is None else ALL_LISTED
        try:
            listing = list_source(name, source.objects, wanted, source.named, source.fetched_by)
        except StoreError as error:
            raise StoreError(f"{source.named}.root: {error}") from None
        key = source.key(context.limits)
        committed = committed_tasks(context.store.objects, key)
        intake = plan_intake(context.store, listing, wanted, TaskSizer(source, context.store.record), committed)
        plans.append(SourcePlan(name, listing, intake, key))
    return plans


def resolve_changes(context: IngestContext, held: StoreIndex, plan: SourcePlan, *, replace_files: bool) -> SourcePlan:
    """Handles files whose listing differs from the frozen one.

    A file that was touched or copied but holds the same bytes is the same file. A file without any commit
    is simply planned again. Anything else is an error or, with `replace_files`, a new set of tasks; so are files of
    a source that is fetched, as a later fetch may complete them.
    """
    if not plan.intake.changed:
        return plan
    done = held.find_tasks(plan.key, plan.intake.tasks.names)
    recorded = {(part.path, part.start): part for commit in done for part in commit.inputs}
    sizes = {info.path: info.size for info in plan.listing.files.inside(pa.array(plan.intake.changed, pa.string()))}
    objects = context.sources[plan.name].objects
    truly = [path for path in plan.intake.changed if not _same_bytes(objects, path, sizes[path], recorded)]
    committed = {path for path, _ in recorded}
    replace_files = replace_files or bool(context.sources[plan.name].fetched_by)
    if not replace_files:
        reject_changed(plan.name, [path for path in truly if path in committed])
    stale = truly if replace_files else [path for path in truly if path not in committed]
    if not stale:
        return plan
    deal = TaskSizer(context.sources[plan.name], context.store.record)
    renewed = replace_changed(context.store, plan.intake, plan.listing, deal, stale)
    return replace(plan, intake=renewed)


def _same_bytes(objects: ObjectStore, path: str, size: int, recorded: Mapping[tuple[str, int], InputRecord]) -> bool:
    parts = [part for (name, _), part in recorded.items() if name == path]
    if not parts or any(part.size != size for part in parts):
        return False
    with closing(objects.open(path)) as stream:
        return all(part_digest(stream, part.start, part.end) == part.digest for part in parts)


def freeze_plans(context: IngestContext, plans: Iterable[SourcePlan]) -> None:
    """Records the newly planned tasks. The caller holds the lease, so nobody else plans at the same time."""
    for plan in plans:
        if not freeze(context.store, plan.name, plan.intake):
            root = context.store.root
            raise StoreError(f"{root}: another writer has just planned source {plan.name!r}; run again")


def pending_tasks(context: IngestContext, held: StoreIndex, plan: SourcePlan) -> IngestTasks:
    """The tasks without a commit, largest first so that the last to end is a small one.

    A commit is withdrawn if an object of it is missing: it was lost, or the garbage collector ran between a late
    writer's two puts.
    """
    objects = context.store.objects
    tasks = plan.intake.tasks
    known = HashSet(itertools.chain(held.tasks(plan.key).names, committed_tasks(objects, plan.key)))
    committed = tasks.where(name in known for name in tasks.names)
    lost: set[str] = set()
    written = (layout.SAMPLES_OBJECTS, layout.DROPPED, layout.QUARANTINE) if committed else ()
    present = HashSet(info.path for prefix in written for info in objects.list(prefix))
    for commit in held.find_tasks(plan.key, committed.names):
        if any(one.path not in present for one in commit.objects):
            held.drop_task(plan.key, commit.task)
            objects.delete(layout.task_commit(plan.key, commit.task))
            lost.add(commit.task)
    return tasks.where(name in lost or name not in known for name in tasks.names).largest_first()


def replan_misfit_splits(context: IngestContext, held: StoreIndex, plan: SourcePlan) -> SourcePlan | None:
    """Checks that the parts of every split file fit together; plans a file as a single part where they do not.

    Files with tasks in the latest generation were checked before it.

    A part recognises its first record by appearance, so an archive inside an archive can mislead it, and no part can
    see a key that repeats across parts. Both are detected here, and both depend on the file's bytes alone.
    """
    cut = plan.intake.tasks.where(plan.intake.tasks.cut)
    checked = HashSet(held.tasks(plan.key).names if cut else ())
    unchecked = cut.where(name not in checked for name in cut.names)
    if not unchecked:
        return None
    parts = cut.reading(unchecked.parts["path"])
    commits: dict[str, list[TaskCommit]] = {}
    for commit in held.find_tasks(plan.key, parts.names):
        commits.setdefault(commit.inputs[0].path, []).append(commit)
    broken = []
    for path, found in commits.items():
        ordered = sorted(found, key=lambda commit: commit.inputs[0].start)
        if not _chained([commit.inputs[0] for commit in ordered]) or _repeats_an_id(context, ordered):
            broken.append(path)
    if not broken:
        return None
    whole = plan.whole.union(broken)
    deal = TaskSizer(context.sources[plan.name], context.store.record, whole)
    mended = replace_changed(context.store, plan.intake, plan.listing, deal, broken)
    return replace(plan, intake=mended, whole=whole)


def _chained(parts: list[InputRecord]) -> bool:
    """Whether each part begins where the previous one ended. Parts measured in rows, or empty ones, always fit."""
    spans = [part for part in parts if part.first >= 0]
    if not spans:
        return True
    joined = all(left.last == right.first for left, right in itertools.pairwise(spans))
    return joined and spans[0].first == 0 and spans[-1].last == parts[0].size


def _repeats_an_id(context: IngestContext, commits: list[TaskCommit]) -> bool:
    ids = [
        b"".join(batch["id"].to_pylist())
        for commit in commits
        for shard in commit.shards
        for batch in read_batches(context.store.objects, shard.object.path, columns=["id"])
    ]
    return duplicates_among(b"".join(ids))


def pending_extractions(
    context: IngestContext, held: StoreIndex, bound: BoundExtractor, commits: Mapping[str, TaskCommits]
) -> list[ExtractionTask]:
    """The committed shards that lack an extractor's layer."""
    pending: list[ExtractionTask] = []
    for source, tasks in commits.items():
        key = bound.key(context.sources[source].key(context.limits))
        samples = held.samples(tasks).objects
        done = held.find_layer(bound.layer, key, samples)
        if len(done) < len(samples):
            pending += [
                ExtractionTask(shard, source, path, bound.layer, key)
                for shard, path in samples.items()
                if shard not in done.by_shard
            ]
    return pending
