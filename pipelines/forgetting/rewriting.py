"""Rewrites objects without the content of forgotten rows, in tasks; other objects stay unchanged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.running.job_tasks import OPENING_BYTES, Jobs, TaskFolder, TaskKind, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.hiding.scans import HiddenRows, load_hiding
from winnow.pipelines.store.integrity.damage import of_a_generation
from winnow.pipelines.store.layers import LayerWriter, put_statistics
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.state import is_of_all
from winnow.pipelines.store.tables import put_table, read_batches, read_schema
from winnow.schemas.records import GenerationRecord, ObjectRecord, TaskCommit
from winnow.schemas.rows.duplicates import DUPLICATES
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class RewriteTask(TaskLine):
    """Some objects of a layer that have content of forgotten rows."""

    layer: str
    rows: tuple[ManifestRow, ...]
    hidden: Mapping[str, tuple[int, ...]]  # by samples object


@dataclass(slots=True)
class Rewritten:
    """What objects became, in their order, with the paths of their statistics."""

    made: list[tuple[ObjectRecord, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CleanTask(TaskLine):
    """Ingest tasks whose quarantined ranges may quote forgotten records."""

    commits: tuple[TaskCommit, ...]
    older: tuple[bool, ...]  # of which the latest generation does not have the ranges
    hidden: Mapping[str, tuple[int, ...]]  # by samples object


@dataclass(slots=True)
class Cleaned:
    """Which of the tasks' ranges quote a forgotten record, and the new objects of those that were rewritten."""

    quoting: list[bool] = field(default_factory=list)
    made: list[ObjectRecord | None] = field(default_factory=list)


@dataclass(frozen=True)
class RewritingContext:
    """What every task gets. Picklable."""

    store: Store
    dry_run: bool

    def rewrite(self, task: RewriteTask) -> Rewritten:
        """Rewrites objects without the content of hidden rows; an object without such content stays unchanged."""
        return Rewritten([self._rewritten(task.layer, row, task.hidden[row.samples]) for row in task.rows])

    def clean(self, task: CleanTask) -> Cleaned:
        """Tells which ranges quote forgotten records, and writes those of the latest generation without quotes."""
        objects, cleaned = self.store.objects, Cleaned()
        rows = {path: np.array(found, np.int64) for path, found in task.hidden.items()}
        hidden = {path: HiddenRows(found, found) for path, found in rows.items()}
        ranges = ForgottenRanges(self.store, load_hiding(objects), hidden)
        for commit, older in zip(task.commits, task.older, strict=True):
            with of_a_generation(older=older):
                quoting, made = ranges.quotes(commit), None
            if quoting and not (older or self.dry_run) and commit.quarantine is not None:
                kind, name = commit.quarantine.path.partition("/")[0], commit.task
                table = pa.Table.from_batches(ranges.read(commit))
                made = put_table(objects, table, lambda content: layout.range_object(kind, name, content))  # noqa: B023
            cleaned.quoting.append(quoting)
            cleaned.made.append(made)
        return cleaned

    def _rewritten(self, layer: str, row: ManifestRow, hidden: Sequence[int]) -> tuple[ObjectRecord, str]:
        objects, rows = self.store.objects, np.array(hidden, np.int64)
        schema = read_schema(objects, row.object)
        with LayerWriter(self.store, schema, layer_spec(layer, schema)) as writer:
            for batch in redacted_batches(layer, read_batches(objects, row.object), rows):
                writer.write(batch)
            written = writer.finish(layer, row.key, row.shard)
        made = written.part.object
        if made.values == row.values:
            made = ObjectRecord(row.object, row.rows, row.bytes, row.values)
        # A new file: the old one also holds the statistics of layers with forgotten content.
        return made, put_statistics(self.store, row.shard, [written])


class Rewriting:
    """What a purge makes of the objects of the latest generation."""

    def __init__(self, store: Store, latest: GenerationRecord, hidden: Mapping[str, HiddenRows]) -> None:
        """`hidden`: the hidden rows of every generation, by samples object."""
        self._store = store
        self._latest = latest
        self._hidden = hidden
        self._pending = {path: found for path, found in hidden.items() if len(found.pending)}
        self._made: dict[tuple[str, str], tuple[ObjectRecord, str]] = {}  # by layer and object
        self._cleaned: dict[str, ObjectRecord] = {}  # by path of quarantined ranges
        self._quoting: set[str] = set()
        self.objects = 0  # that were, or would be, rewritten
        samples = {row.object for row in store.every_row(latest, layout.SAMPLES)}
        self.rows = sum(len(found.pending) for path, found in self._pending.items() if path in samples)
        self._layers = sorted(
            filter(self._is_of_own_rows, latest.layers), key=lambda layer: (layer != layout.SAMPLES, layer)
        )

    def _is_of_own_rows(self, layer: str) -> bool:
        """Whether the rows of a layer depend on their own sample alone, and name no other row."""
        return not (layer.startswith(DUPLICATES) or any(map(is_of_all, self._latest.layers[layer].keys)))

    def run(self, every: Iterable[TaskCommit], jobs: Jobs, *, dry_run: bool) -> None:
        """Runs the tasks. `every`: the ingest tasks of every generation. `dry_run`: only find ranges that quote
        forgotten records."""
        context = RewritingContext(self._store, dry_run)
        rewriting = {
            layer: TaskKind(f"rewrite-{layer}", RewriteTask, TaskWithoutBlocks(context.rewrite))
            for layer in self._layers
        }
        cleaning = TaskKind("clean", CleanTask, TaskWithoutBlocks(context.clean))
        current = {task.quarantine.path for task in self._store.every_task(self._latest) if task.quarantine is not None}
        suspect = self._suspect(every)
        with jobs.folder("purge") as steps:
            tasks = TaskFolder(steps)
            for layer, kind in rewriting.items():
                for some, size in slices(self._affected(layer), lambda row: row.bytes + OPENING_BYTES):
                    self.objects += len(some)
                    if not dry_run:
                        mine = {row.samples: tuple(self._hidden[row.samples].rows.tolist()) for row in some}
                        tasks.add(kind, RewriteTask(layer, some, mine), size)
            for group, size in slices(suspect, lambda task: _ranges(task).bytes + OPENING_BYTES):
                shards = (shard.object.path for task in group for shard in task.shards)
                mine = {path: tuple(self._hidden[path].rows.tolist()) for path in shards if path in self._hidden}
                older = tuple(_ranges(task).path not in current for task in group)
                tasks.add(cleaning, CleanTask(group, older, mine), size)
            tasks.run(jobs, "Objects")
            self._collect(tasks, suspect, current, dry_run=dry_run)

    def _suspect(self, every: Iterable[TaskCommit]) -> list[TaskCommit]:
        """Ingest tasks with quarantined ranges, some of whose records may be forgotten; each once."""
        ids = bool(load_hiding(self._store.objects).selectors.id)
        found = {
            (_ranges(task).path, *(shard.object.path for shard in task.shards)): task
            for task in every
            if task.quarantine is not None and (ids or any(shard.object.path in self._hidden for shard in task.shards))
        }
        return list(found.values())

    def _affected(self, layer: str) -> Iterator[ManifestRow]:
        return (row for row in self._store.every_row(self._latest, layer) if row.samples in self._pending)

    def _collect(self, tasks: TaskFolder, suspect: list[TaskCommit], current: set[str], *, dry_run: bool) -> None:
        if not dry_run:
            for layer in self._layers:
                made = (one for found in tasks.found(f"rewrite-{layer}", Rewritten) for one in found.made)
                for row, (new, statistics) in zip(self._affected(layer), made, strict=True):
                    self._made[layer, row.object] = new, statistics
                    self.objects -= new.path == row.object
        cleaned = (
            one for found in tasks.found("clean", Cleaned) for one in zip(found.quoting, found.made, strict=True)
        )
        for task, (quoting, made_anew) in zip(suspect, cleaned, strict=True):
            path = _ranges(task).path
            if quoting:
                self._quoting.add(path)
                self.objects += path in current
            if made_anew is not None:
                self._cleaned[path] = made_anew

    def holds(self, record: GenerationRecord) -> bool:
        """Whether a generation has content of a forgotten row."""
        if any(row.object in self._pending for row in self._store.every_row(record, layout.SAMPLES)):
            return True
        every = self._store.every_task(record)
        return any(task.quarantine is not None and task.quarantine.path in self._quoting for task in every)

    def tasks(self) -> TaskCommits:
        """The new commits of the ingest tasks."""
        return TaskCommits.of(map(self._task, self._store.every_task(self._latest)))

    def layers(self) -> Iterator[tuple[str, ManifestRows]]:
        """The new objects of each layer beside the samples, one layer at a time."""
        for layer in sorted(self._layers):
            if layer != layout.SAMPLES:
                rows = self._store.every_row(self._latest, layer)
                yield layer, ManifestRows.of(self._row(layer, row) for row in rows)

    def _task(self, task: TaskCommit) -> TaskCommit:
        shards = []
        for shard in task.shards:
            made, statistics = self._made.get((layout.SAMPLES, shard.object.path), (shard.object, shard.statistics))
            shards.append(replace(shard, object=made, statistics=statistics))
        quarantine = task.quarantine
        if quarantine is not None:
            quarantine = self._cleaned.get(quarantine.path, quarantine)
        return replace(task, shards=tuple(shards), quarantine=quarantine)

    def _row(self, layer: str, row: ManifestRow) -> ManifestRow:
        kept = ObjectRecord(row.object, row.rows, row.bytes, row.values), row.statistics
        made, statistics = self._made.get((layer, row.object), kept)
        samples = self._made.get((layout.SAMPLES, row.samples))
        return replace(
            row,
            object=made.path,
            rows=made.rows,
            bytes=made.bytes,
            values=made.values,
            samples=row.samples if samples is None else samples[0].path,
            statistics=statistics,
        )


def _ranges(task: TaskCommit) -> ObjectRecord:
    """The quarantined ranges of an ingest task that has some."""
    assert task.quarantine is not None
    return task.quarantine
