"""Merges the statistics of many shards in tasks, whose results the driver merges.

Shards are merged in groups of a fixed size, and then the groups, in order. So the result is the same whether a task
merges a group, or the driver does, as for few shards or damaged files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from winnow.pipelines.running.job_tasks import OPENING_BYTES, Jobs, TaskFolder, TaskKind, TaskWithoutBlocks
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.schemas.statistics import OrderedMerge, ShardStatistics, by_layer_from_json, by_layer_to_json

GROUP = 256
"""The shards of a group: which values of a column are counted as `other` depends on it."""

MOST_FILES_HERE = 1_024
"""More are read by tasks."""

Merged = dict[str, ShardStatistics]
"""Of each layer."""


@dataclass(frozen=True, slots=True)
class CountedShard(ListedShard):
    """A shard, and the file with the statistics of each layer that is merged."""

    statistics: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, list[str]]:
        """The layers in each file."""
        found: dict[str, list[str]] = {}
        for layer, path in self.statistics.items():
            found.setdefault(path, []).append(layer)
        return found


@dataclass(frozen=True)
class CountedShards(Sequence[CountedShard]):
    """Shards whose statistics are merged together: one becomes an object when it is asked for, and is not kept."""

    by_layer: Mapping[str, ManifestRows]  # of one layer at least; all have the same shards, in order

    def __len__(self) -> int:
        return len(next(iter(self.by_layer.values())))

    @overload
    def __getitem__(self, at: int) -> CountedShard: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[CountedShard]: ...
    def __getitem__(self, at: int | slice) -> CountedShard | Sequence[CountedShard]:
        if isinstance(at, slice):
            return CountedShards({layer: rows[at] for layer, rows in self.by_layer.items()})
        some = {layer: rows[at] for layer, rows in self.by_layer.items()}
        first = next(iter(some.values()))
        statistics = {layer: row.statistics for layer, row in some.items()}
        return CountedShard(first.shard, first.source, 0, {}, 0, statistics)


@dataclass(frozen=True, slots=True)
class MergedGroup:
    """The statistics of each layer over a group, as JSON; None if a file is lost or damaged."""

    layers: str | None


@dataclass(frozen=True)
class MergeTasks:
    """What every task gets. Picklable."""

    objects: ObjectStore
    shards: ShardList[CountedShard]

    def merge(self, group: int) -> MergedGroup:
        """Merge the shards of a group."""
        try:
            merged = merge_shards(
                self.objects, _in_group(self.shards.all, group), lambda _, path: read_content(self.objects, path)
            )
        except (DamagedError, MissingError):
            return MergedGroup(None)
        return MergedGroup(by_layer_to_json(merged).decode())


def merge_shards(
    objects: ObjectStore, shards: Iterable[CountedShard], read: Callable[[CountedShard, str], bytes]
) -> Merged:
    """Merge the statistics of shards, in order; `read` reads a file of one."""

    def of_shard(shard: CountedShard) -> Merged:
        by_file = (by_layer_from_json(read(shard, path), layers) for path, layers in shard.files.items())
        return {layer: one for some in by_file for layer, one in some.items()}

    return _merged(map_objects(objects, of_shard, shards))


def merge_statistics(
    objects: ObjectStore,
    shards: Sequence[CountedShard],
    read: Callable[[CountedShard, str], bytes],
    jobs: Callable[[], Jobs],
) -> Merged:
    """Merge the statistics of all shards, which are in order, by layer.

    `read` reads a file of a shard; lost or damaged ones are made again. `jobs`: where tasks run, if there are many
    files.
    """
    count = sum(len(shard.files) for shard in shards)
    if count > MOST_FILES_HERE:
        return _merged(_in_tasks(objects, shards, read, jobs(), count))
    groups = range(_groups(len(shards)))
    return _merged(merge_shards(objects, _in_group(shards, group), read) for group in groups)


def _in_tasks(
    objects: ObjectStore,
    shards: Sequence[CountedShard],
    read: Callable[[CountedShard, str], bytes],
    jobs: Jobs,
    files: int,
) -> Iterator[Merged]:
    with jobs.folder("statistics") as steps:
        path = put_shard_list(steps.objects, "shards", shards, f"{steps.scratch}/")
        work = MergeTasks(objects, ShardList(steps.objects, path, steps.scratch, CountedShard))
        tasks = TaskFolder(steps)
        kind = TaskKind("Statistics", None, TaskWithoutBlocks(work.merge))
        tasks.add_numbers(kind, _groups(len(shards)), files * OPENING_BYTES)
        tasks.run(jobs, kind.name)
        for group, found in enumerate(tasks.found(kind.name, MergedGroup)):
            some = _in_group(shards, group)
            if found.layers is None:
                yield merge_shards(objects, some, read)
            else:
                yield by_layer_from_json(found.layers.encode(), some[0].statistics)


def _merged(parts: Iterable[Merged]) -> Merged:
    merges: dict[str, OrderedMerge] = {}
    for part in parts:
        for layer, one in part.items():
            merges.setdefault(layer, OrderedMerge()).add(one)
    return {layer: merge.finish() for layer, merge in merges.items()}


def _groups(shards: int) -> int:
    return -(-shards // GROUP)


def _in_group(shards: Sequence[CountedShard], group: int) -> Sequence[CountedShard]:
    return shards[group * GROUP : (group + 1) * GROUP]
