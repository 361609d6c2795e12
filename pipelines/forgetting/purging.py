"""The purge: rewrites every object that has content of a forgotten row without that content.

The row stays, so that layers stay aligned, ids stay the same and ranges still tile their files; its content goes.
The order makes a crash harmless at any point:

1. Tasks put new objects and their statistics under their own names. Nothing refers to them yet.
2. A new generation that lists them is published. Readers of the latest generation use it from here on.
3. `purge.json` is put: from here on, the next holder of the lease first finishes the purge.
4. Every generation that lists a forgotten row goes, whatever `--keep` says, then every commit, every object that no
   remaining generation lists, verdicts on texts, the report, outputs in the store's folder, and leftovers of
   dead writers.
5. `purge.json` goes.

Until step 3 a crash leaves the store unchanged, with its tombstones hiding the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.pipelines.forgetting.outputs import own_files
from winnow.pipelines.forgetting.rewriting import Rewriting
from winnow.pipelines.forgetting.scanning import scan_missing, scan_store
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.gc import KEEP_GENERATIONS, Collected, collect_garbage, drop_unnamed
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row, every_shard_text
from winnow.pipelines.store.hiding.scans import HiddenRows, Scan, load_hiding, store_scans
from winnow.pipelines.store.integrity.damage import damaged, of_a_generation
from winnow.pipelines.store.integrity.sealed import find_record, put_record
from winnow.pipelines.store.publishing import publish_rewritten
from winnow.schemas.identity import content_name
from winnow.schemas.records import TaskCommit


@dataclass(frozen=True, slots=True)
class Unfinished:
    """`purge.json`: the remaining work of a purge."""

    generation: int  # the generation to keep
    record: str  # the hash of its record: of a store with the same settings, that would be another
    keep: tuple[int, ...]  # the older generations to keep


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did, or would do."""

    rows: int  # that had content
    objects: int  # rewritten
    generation: int | None  # the new latest one
    dropped: tuple[int, ...]  # generations with content of these rows
    removed: tuple[str, ...]  # files in the store's folder that showed rows: the report, and outputs
    collected: Collected


def purge(store: Store, keep: int = KEEP_GENERATIONS, *, dry_run: bool = False, jobs: Jobs = HERE) -> Purged:
    """Removes the content of every forgotten row, and drops what no kept generation lists. The caller holds the lease.

    `keep`: how many generations without content of forgotten rows to keep.
    """
    begun = None if dry_run else finish_purge(store, jobs)
    gone = begun or Collected(0, 0, 0, 0, 0)
    latest = store.latest_record()
    hiding = load_hiding(store.objects)
    if latest is None or not hiding:
        gone += collect_garbage(store, keep, dry_run=dry_run)
        return Purged(0, 0, latest.number if latest else None, (), (), gone)
    numbers = store.generation_numbers()
    with of_a_generation(older=True):
        older = {number: store.generation_record(number) for number in numbers[:-1]}
    hidden: dict[str, HiddenRows] = {}
    every: list[TaskCommit] = []
    for record in (latest, *reversed(older.values())):
        with of_a_generation(older=record is not latest):
            scan_missing(store, hiding, every_shard_text(store, record, hiding), jobs)
            hidden |= every_hidden_row(store, record, hiding)
            every = [*store.every_task(record), *every]
    rewriting = Rewriting(store, latest, hidden)
    rewriting.run(every, jobs, dry_run=dry_run)
    holding = {number for number, record in older.items() if rewriting.holds(record)}
    holding |= {latest.number} if rewriting.objects else set()
    removed = tuple(own_files(store.objects))
    if dry_run:
        return Purged(rewriting.rows, rewriting.objects, latest.number, tuple(sorted(holding)), removed, gone)
    generation = latest  # with its duplicates, which later purges need not drop
    if rewriting.rows or rewriting.objects:
        generation = publish_rewritten(store, rewriting.tasks(), rewriting.layers())
    scan_store(store, generation, jobs)
    clean = [number for number in (*numbers, generation.number) if number not in holding]
    kept = tuple(number for number in sorted(set(clean))[-keep:] if number != generation.number)
    put_record(store.objects, layout.PURGE, Unfinished(generation.number, _record_hash(store, generation.number), kept))
    collected = finish_purge(store, jobs)
    assert collected is not None
    gone += collected
    return Purged(rewriting.rows, rewriting.objects, generation.number, tuple(sorted(holding)), removed, gone)


def finish_purge(store: Store, jobs: Jobs = HERE) -> Collected | None:
    """Finishes a purge that was begun, if any. The caller holds the lease."""
    unfinished = find_record(store.objects, Unfinished, layout.PURGE)
    if unfinished is None:
        return None
    if unfinished.record != _record_hash(store, unfinished.generation):
        raise damaged(store.root, layout.PURGE, "it names a generation that is not in this store")
    kept = {unfinished.generation, *unfinished.keep}
    kept = {number for number in store.generation_numbers() if number in kept or number > unfinished.generation}
    delete_objects(store.objects, own_files(store.objects))
    # Verdicts have digests of forgotten texts, weights were trained on them, decisions count their scores.
    for prefix in (layout.SCRATCH, layout.VERDICTS, layout.WEIGHTS, layout.DECISIONS):
        delete_objects(store.objects, [info.path for info in store.objects.list(prefix)])
    collected = drop_unnamed(store, sorted(kept))
    _replace_scans(store, sorted(kept), jobs)
    store.objects.delete(layout.PURGE)
    return collected


def _record_hash(store: Store, generation: int) -> str:
    try:
        return content_name(store.objects.read(layout.generation(generation)))
    except FileNotFoundError:
        return ""


def _replace_scans(store: Store, numbers: Sequence[int], jobs: Jobs) -> None:
    """Replaces all scans by one for what is kept."""
    hiding = load_hiding(store.objects, fresh=True)
    scans: dict[str, Scan] = {}
    for number in reversed(numbers):
        with of_a_generation(older=number != numbers[-1]):
            shards = list(every_shard_text(store, store.generation_record(number), hiding))
            scan_missing(store, hiding, shards, jobs)
        for shard in shards:
            scans |= {path: hiding.scanned(shard.row.object, path) for path in (shard.row.object, *shard.texts)}
    every = frozenset(hiding.tombstones)
    written = store_scans(store.objects, ((every, scan) for scan in scans.values()))
    delete_objects(store.objects, sorted(set(hiding.scans) - set(written)))
