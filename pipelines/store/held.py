"""What the latest generation holds, by key: where a command begins, so that it need not read what was published before.

Only commits that are newer than the generation are read: those of shards that it does not hold. A layer whose object is
gone, or that was made of other samples than the current ones, is not held, and its commit is withdrawn.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_names, load_layer_commits, load_task_commits
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow, read_manifest, read_tasks, row_of_commit
from winnow.schemas.records import GenerationRecord, TaskCommit

Rows = Mapping[str, ManifestRow]
"""The objects of a layer under one key, by shard."""


@dataclass
class Held:
    """The latest generation of a store, by key. Manifests are read when they are first asked for."""

    objects: ObjectStore
    record: GenerationRecord | None
    _layers: dict[str, dict[str, dict[str, ManifestRow]]] = field(default_factory=dict)  # by layer, key and shard
    _tasks: dict[str, dict[str, TaskCommit]] | None = None  # by key and name

    @classmethod
    def of(cls, store: Store) -> Self:
        """What the latest generation of a store holds; nothing if there is none yet."""
        return cls(store.objects, store.latest_record())

    def keys(self, layer: str) -> Collection[str]:
        """The keys of a layer."""
        return () if self.record is None or layer not in self.record.layers else self.record.layers[layer].keys.keys()

    def rows(self, layer: str, key: str) -> Rows:
        """The objects of a layer under a key."""
        if key not in self.keys(layer):
            return {}
        if layer not in self._layers:
            assert self.record is not None
            by_key: dict[str, dict[str, ManifestRow]] = {}
            for row in read_manifest(self.objects, self.record.layers[layer].manifest):
                by_key.setdefault(row.key, {})[row.shard] = row
            self._layers[layer] = by_key
        return self._layers[layer][key]

    def layer(self, layer: str) -> Iterator[ManifestRow]:
        """The objects of a layer under every key."""
        for key in self.keys(layer):
            yield from self.rows(layer, key).values()

    def tasks(self, key: str) -> Mapping[str, TaskCommit]:
        """The ingest tasks of a key, by name."""
        return self._tasks_by_key().get(key, {})

    def all_tasks(self) -> list[TaskCommit]:
        """The ingest tasks of every key."""
        return [task for tasks in self._tasks_by_key().values() for task in tasks.values()]

    def _tasks_by_key(self) -> dict[str, dict[str, TaskCommit]]:
        if self._tasks is None:
            self._tasks = {}
            for task in () if self.record is None else read_tasks(self.objects, self.record.tasks):
                self._tasks.setdefault(task.key, {})[task.task] = task
        return self._tasks

    def drop_task(self, key: str, name: str) -> None:
        """Forgets a task whose objects are gone, so that it is run again."""
        self._tasks_by_key().get(key, {}).pop(name, None)

    def find_tasks(self, key: str, names: Iterable[str]) -> dict[str, TaskCommit]:
        """The commits of those of these tasks that have one."""
        known = self.tasks(key)
        wanted = list(dict.fromkeys(names))
        newer = [name for name in wanted if name not in known]
        found = load_task_commits(self.objects, key, newer) if newer else {}
        return {name: known.get(name) or found[name] for name in wanted if name in known or name in found}

    def find_layer(
        self, layer: str, key: str, samples: Mapping[str, str], under: str | None = None
    ) -> dict[str, ManifestRow]:
        """The objects of a layer under a key, by shard; commits that no longer hold are withdrawn.

        Args:
            layer: The layer's name.
            key: Its key.
            samples: The samples object of each shard that is wanted.
            under: The key that names its objects, if that is another.
        """
        if not samples:
            return {}
        known = self.rows(layer, key)
        there = {info.path for info in self.objects.list(layout.layer_objects(layer, under or key))}
        found = {
            shard: row for shard, row in known.items() if samples.get(shard) == row.samples and row.object in there
        }
        if len(found) == len(samples):
            return found
        lacking = committed_names(self.objects, layer, key) & (samples.keys() - found.keys())
        for shard, commit in load_layer_commits(self.objects, layer, key, sorted(lacking)).items():
            if commit.samples == samples[shard] and commit.object.path in there:
                found[shard] = row_of_commit(commit)
            else:
                self.objects.delete(layout.commit(layer, key, shard))
        return found
