"""The purge: rewrites every object that has content of a forgotten row without that content.

The row stays, so that layers stay aligned, ids stay the same and ranges still tile their files; its content goes.
The order makes a crash harmless at any point:

1. New objects and their statistics are put under their own names. Nothing refers to them yet.
2. A new generation that lists them is published. Readers of the latest generation use it from here on.
3. `purge.json` is put: from here on, the next holder of the lease first finishes the purge.
4. Every generation that lists a forgotten row goes, whatever `--keep` says, then every commit, every object that no
   remaining generation lists, verdicts on texts, the report, outputs in the store's folder, and leftovers of
   dead writers.
5. `purge.json` goes.

Until step 3 a crash leaves the store unchanged, with its tombstones hiding the same rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from winnow.pipelines.forgetting.hidden_rows import every_hidden_row, every_shard_text
from winnow.pipelines.forgetting.outputs import own_files
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.store import layout
from winnow.pipelines.store.damage import damaged
from winnow.pipelines.store.gc import KEEP_GENERATIONS, Collected, collect_garbage, drop_unnamed
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.neutral import neutral_stream
from winnow.pipelines.store.hiding.scans import Hiding, Scan, load_hiding, store_scans
from winnow.pipelines.store.layers import LayerWriter
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.publishing import publish_rewritten
from winnow.pipelines.store.sealed import find_record, put_record
from winnow.pipelines.store.tables import put_table, read_batches, read_schema
from winnow.schemas.records import GenerationRecord, ObjectRecord, ShardRecord, TaskCommit
from winnow.schemas.rows.duplicates import DUPLICATES
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class Unfinished:
    """`purge.json`: the remaining work of a purge."""

    store: str  # its identity
    generation: int  # the generation to keep
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


def purge(store: Store, keep: int = KEEP_GENERATIONS, *, dry_run: bool = False) -> Purged:
    """Removes the content of every forgotten row, and drops what no kept generation lists.

    Args:
        store: The store; the caller holds its lease.
        keep: How many generations without content of forgotten rows to keep.
        dry_run: Write and drop nothing.
    """
    if not dry_run:
        finish_purge(store)
    latest = store.latest_record()
    hiding = load_hiding(store.objects)
    if latest is None or not hiding:
        return Purged(0, 0, latest.number if latest else None, (), (), collect_garbage(store, keep, dry_run=dry_run))
    rewriting = _Rewriting(store, ForgottenRanges.of(store, latest), dry_run=dry_run)
    before = store.every_task(latest)
    tasks = [rewriting.task(task) for task in before]
    samples = {
        old.object.path: new.object.path
        for one, other in zip(before, tasks, strict=True)
        for old, new in zip(one.shards, other.shards, strict=True)
    }
    layers = {
        layer: [rewriting.layer(layer, row, samples) for row in store.every_row(latest, layer)]
        for layer in sorted(latest.layers)
        if layer != layout.SAMPLES and not layer.startswith(DUPLICATES)  # they name rows of other shards
    }
    numbers = store.generation_numbers()
    holding = {number for number in numbers[:-1] if _holds(store, store.generation_record(number), hiding)}
    holding |= {latest.number} if rewriting.objects else set()
    removed = tuple(own_files(store.objects))
    if dry_run:
        gone = Collected(0, 0, 0, 0, 0)
        return Purged(rewriting.rows, rewriting.objects, latest.number, tuple(sorted(holding)), removed, gone)
    generation = publish_rewritten(store, tasks, layers)
    clean = [number for number in (*numbers, generation.number) if number not in holding]
    older = tuple(number for number in sorted(set(clean))[-keep:] if number != generation.number)
    put_record(store.objects, layout.PURGE, Unfinished(store.record.identity, generation.number, older))
    collected = finish_purge(store)
    assert collected is not None
    return Purged(rewriting.rows, rewriting.objects, generation.number, tuple(sorted(holding)), removed, collected)


def finish_purge(store: Store) -> Collected | None:
    """Finishes a purge that was begun, if any. The caller holds the lease."""
    unfinished = find_record(store.objects, Unfinished, layout.PURGE)
    if unfinished is None:
        return None
    if unfinished.store != store.record.identity:
        raise damaged(store.root, layout.PURGE, f"it belongs to another store than {layout.STORE_RECORD}")
    kept = {unfinished.generation, *unfinished.keep}
    kept = {number for number in store.generation_numbers() if number in kept or number > unfinished.generation}
    for path in own_files(store.objects):
        store.objects.delete(path)
    # Verdicts have digests of forgotten texts, weights were trained on them, decisions count their scores.
    for prefix in (layout.SCRATCH, layout.VERDICTS, layout.WEIGHTS, layout.DECISIONS):
        for info in list(store.objects.list(prefix)):
            store.objects.delete(info.path)
    collected = drop_unnamed(store, sorted(kept))
    _settle_scans(store, sorted(kept))
    store.objects.delete(layout.PURGE)
    return collected


class _Rewriting:
    """Rewrites objects without content of forgotten rows; other objects stay unchanged."""

    def __init__(self, store: Store, ranges: ForgottenRanges, *, dry_run: bool) -> None:
        self._store = store
        self._ranges = ranges
        self._dry_run = dry_run
        self._pending = {path: found for path, found in ranges.hidden.items() if len(found.pending)}
        self.rows = sum(len(found.pending) for found in self._pending.values())
        self.objects = 0

    def task(self, task: TaskCommit) -> TaskCommit:
        """The new commit of a task's shards and quarantined ranges."""
        shards = tuple(self._shard(task, shard) for shard in task.shards)
        return replace(task, shards=shards, quarantine=self._quarantine(task))

    def layer(self, layer: str, row: ManifestRow, samples: dict[str, str]) -> ManifestRow:
        """The new object of a layer's shard.

        Args:
            layer: The layer.
            row: The object.
            samples: The new samples object of each samples object.
        """
        made, statistics = ObjectRecord(row.object, row.rows, row.bytes, row.values), row.statistics
        if row.samples in self._pending:
            made, statistics = self._rewritten(layer, row.key, row.shard, row.samples, made, statistics)
        return replace(
            row,
            object=made.path,
            rows=made.rows,
            bytes=made.bytes,
            values=made.values,
            samples=samples[row.samples],
            statistics=statistics,
        )

    def _shard(self, task: TaskCommit, shard: ShardRecord) -> ShardRecord:
        path = shard.object.path
        if path not in self._pending:
            return shard
        made, statistics = self._rewritten(layout.SAMPLES, task.key, shard.shard, path, shard.object, shard.statistics)
        return ShardRecord(shard.shard, made, statistics)

    def _rewritten(
        self, layer: str, key: str, shard: str, samples: str, made: ObjectRecord, statistics: str
    ) -> tuple[ObjectRecord, str]:
        self.objects += 1
        if self._dry_run:
            return made, statistics
        objects = self._store.objects
        schema = read_schema(objects, made.path)
        with LayerWriter(self._store, schema, layer_spec(layer, schema)) as writer:
            for batch in neutral_stream(layer, read_batches(objects, made.path), self._pending[samples].rows):
                writer.write(batch)
            written = writer.finish(layer, key, shard)
        if written[0].values == made.values:
            self.objects -= 1
            return made, statistics
        return written

    def _quarantine(self, task: TaskCommit) -> ObjectRecord | None:
        if task.quarantine is None or not self._ranges.quotes(task):
            return task.quarantine
        self.objects += 1
        if self._dry_run:
            return task.quarantine
        table = pa.Table.from_batches(self._ranges.read(task))
        kind = task.quarantine.path.partition("/")[0]
        return put_table(self._store.objects, table, lambda content: layout.range_object(kind, task.task, content))


def _holds(store: Store, record: GenerationRecord, hiding: Hiding) -> bool:
    """Whether a generation has content of a forgotten row."""
    ranges = ForgottenRanges(store, hiding, every_hidden_row(store, record, hiding))
    pending = any(len(found.pending) for found in ranges.hidden.values())
    return pending or any(ranges.quotes(task) for task in store.every_task(record))


def _settle_scans(store: Store, numbers: Iterable[int]) -> None:
    """Replaces all scans by one for what is kept."""
    hiding = load_hiding(store.objects, fresh=True)
    every = frozenset(hiding.tombstones)
    scans: dict[str, Scan] = {}
    for number in numbers:
        for shard in every_shard_text(store, store.generation_record(number), hiding):
            hiding.scan_missing(store.objects, shard.row.object, shard.texts)
            scans |= {path: hiding.scanned(shard.row.object, path) for path in (shard.row.object, *shard.texts)}
    written = store_scans(store.objects, ((every, scan) for scan in scans.values()))
    for path in set(hiding.scans) - set(written):
        store.objects.delete(path)
