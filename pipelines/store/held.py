"""What a store holds, by key: the latest generation, and what was committed since.

A command begins with the generation, so it need not read what was published before, and keeps what it learns until it
ends: commits that its own tasks put are handed over, not read again. Of other commits, only those of shards that the
generation lacks are read. A layer whose object is gone, or that was made of other samples than the current ones, is not
held; its commit is withdrawn when a task is about to make it again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from winnow.pipelines.store import layout
from winnow.pipelines.store.command_lease import kept_by_command
from winnow.pipelines.store.commits import (
    committed_names,
    load_layer_commits,
    load_layer_sets,
    load_task_commits,
)
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.sealed import put_record_if_absent
from winnow.pipelines.store.manifests import (
    ManifestRow,
    read_manifest,
    read_tasks,
    rows_of_commit,
    rows_of_texts,
)
from winnow.pipelines.store.together import delete_all
from winnow.schemas.records import GenerationRecord, LayersCommit, LayerSet, TaskCommit

Rows = Mapping[str, ManifestRow]
"""The objects of a layer under one key, by shard."""


@dataclass
class Held:
    """The latest generation of a store, by key, and newer commits. Everything is read when it is first asked for."""

    objects: ObjectStore
    record: GenerationRecord | None
    _layers: dict[str, dict[str, dict[str, ManifestRow]]] = field(default_factory=dict)  # by layer, key and shard
    _tasks: dict[str, dict[str, TaskCommit]] | None = None  # by key and name
    _lost: set[tuple[str, str]] = field(default_factory=set)  # tasks whose objects are gone, by key and name
    _newer_tasks: dict[str, dict[str, TaskCommit]] = field(default_factory=dict)
    _newer: dict[tuple[str, str], dict[str, list[ManifestRow]]] = field(default_factory=dict)  # by layer, key and shard
    _sets: dict[str, LayerSet] | None = None  # by name
    _read: dict[str, set[str]] = field(default_factory=dict)  # the shards whose commits of a set were read
    _listed: dict[str, set[str]] = field(default_factory=dict)  # the objects under a prefix

    @classmethod
    def of(cls, store: Store) -> Self:
        """What a store holds; nothing if there is no generation yet.

        A command that holds the lease gets the same one each time: nobody else publishes meanwhile.
        """
        return kept_by_command(store.objects, cls, lambda: cls(store.objects, store.latest_record()))

    def keys(self, layer: str) -> Collection[str]:
        """The keys of a layer."""
        return () if self.record is None or layer not in self.record.layers else self.record.layers[layer].keys.keys()

    def rows(self, layer: str, key: str) -> Rows:
        """The objects of a layer under a key."""
        if key not in self.keys(layer):
            return {}
        if layer not in self._layers:
            assert self.record is not None
            self._layers[layer] = _by_key_and_shard(read_manifest(self.objects, self.record.layers[layer].manifest))
        return self._layers[layer][key]

    def layer(self, layer: str) -> Iterator[ManifestRow]:
        """The objects of a layer under every key."""
        for key in self.keys(layer):
            yield from self.rows(layer, key).values()

    def tasks(self, key: str) -> Mapping[str, TaskCommit]:
        """The ingest tasks of a key, by name."""
        tasks = self._tasks_by_key().get(key, {})
        return {name: task for name, task in tasks.items() if (key, name) not in self._lost} if self._lost else tasks

    def all_tasks(self) -> list[TaskCommit]:
        """The ingest tasks of every key, also those whose objects are gone."""
        return [task for tasks in self._tasks_by_key().values() for task in tasks.values()]

    def _tasks_by_key(self) -> dict[str, dict[str, TaskCommit]]:
        if self._tasks is None:
            self._tasks = _by_key_and_name(() if self.record is None else read_tasks(self.objects, self.record.tasks))
        return self._tasks

    def drop_task(self, key: str, name: str) -> None:
        """Forgets a task whose objects are gone, so that it is run again."""
        self._lost.add((key, name))
        self._newer_tasks.get(key, {}).pop(name, None)

    def find_tasks(self, key: str, names: Iterable[str]) -> dict[str, TaskCommit]:
        """The commits of those of these tasks that have one."""
        wanted = list(dict.fromkeys(names))
        known = {**self.tasks(key), **self._newer_tasks.get(key, {})}
        if unread := [name for name in wanted if name not in known]:
            for commit in load_task_commits(self.objects, key, unread).values():
                self._add(commit)
            known |= self._newer_tasks.get(key, {})
        return {name: known[name] for name in wanted if name in known}

    def find_layer(
        self, layer: str, key: str, samples: Mapping[str, str], under: str | None = None
    ) -> dict[str, ManifestRow]:
        """The objects of a layer under a key, by shard, in the order of the samples.

        Args:
            layer: The layer's name.
            key: Its key.
            samples: The samples object of each shard that is wanted.
            under: The key that names its objects, if that is another.
        """
        if not samples:
            return {}
        there = self._objects_below(layout.layer_objects(layer, under or key))

        def holds(row: ManifestRow) -> bool:
            return samples.get(row.shard) == row.samples and row.object in there

        found = {shard: row for shard, row in self.rows(layer, key).items() if holds(row)}
        for more in (self._newer_rows, self._unread_rows):
            if len(found) < len(samples):
                found |= {row.shard: row for row in more(layer, key, samples.keys() - found.keys()) if holds(row)}
        return {shard: found[shard] for shard in samples if shard in found}

    def committed_rows(self, layer: str, key: str, samples: Mapping[str, str]) -> dict[str, ManifestRow]:
        """What is committed of a layer under a key, by shard, whether or not its objects are there."""
        found: dict[str, ManifestRow] = {}
        for more in (self._newer_rows, self._unread_rows):
            rows = more(layer, key, samples.keys() - found.keys())
            found |= {row.shard: row for row in rows if samples[row.shard] == row.samples}
        return found

    def begin(self, missing: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """Prepares the commits of tasks that are about to write layers.

        What is already committed of the same layers does not hold, or they would not be missing: it is withdrawn.

        Args:
            missing: The layers that are to be written for each shard, with their keys.

        Returns:
            The path of each shard's commit.
        """
        paths: dict[str, str] = {}
        by_set: dict[str, set[str]] = {}
        for shard, layers in missing.items():
            name = layout.set_name(layers)
            paths[shard] = layout.layer_commit(name, shard)
            if name not in by_set:
                by_set[name] = set()
                put_record_if_absent(self.objects, layout.layer_set(name), LayerSet(dict(layers)))
                self._layer_sets()[name] = LayerSet(dict(layers))
            by_set[name].add(shard)
            for one in layers.items():
                self._newer.get(one, {}).pop(shard, None)
        for name, shards in by_set.items():
            withdrawn = committed_names(self.objects, layout.layer_commits(name)) & shards
            delete_all(self.objects, sorted(paths[shard] for shard in withdrawn))
            self._read.pop(name, None)
        self._forget_objects({layer for layers in missing.values() for layer in layers})
        return paths

    def note(self, commit: TaskCommit | LayersCommit) -> None:
        """Takes over a commit that a task of this command has just put."""
        self._add(commit)
        if isinstance(commit, TaskCommit):
            self._forget_objects({part.layer for shard in commit.shards for part in shard.layers})

    def publish(
        self,
        record: GenerationRecord,
        layers: Mapping[str, Collection[ManifestRow]],
        tasks: Iterable[TaskCommit] | None,
    ) -> None:
        """Goes on with the generation that was just published.

        Args:
            record: Its record.
            layers: The objects of the layers whose manifests are new.
            tasks: Its tasks; None if they are those of the generation before.
        """
        before = {} if self.record is None else self.record.layers
        for layer in list(self._layers):
            if layer not in record.layers or before[layer].manifest != record.layers[layer].manifest:
                del self._layers[layer]
        self.record = record
        self._layers |= {layer: _by_key_and_shard(rows) for layer, rows in layers.items()}
        if tasks is not None:
            self._tasks = _by_key_and_name(tasks)
        for newer in (self._newer, self._newer_tasks, self._read, self._lost):
            newer.clear()

    def reread(self, store: Store) -> None:
        """Begins again with the latest generation, which somebody else has published."""
        fresh = Held(self.objects, store.latest_record())
        self.__dict__.update(fresh.__dict__)

    def _add(self, commit: TaskCommit | LayersCommit) -> None:
        if isinstance(commit, TaskCommit):
            self._newer_tasks.setdefault(commit.key, {})[commit.task] = commit.without_layers
            self._lost.discard((commit.key, commit.task))
            rows: Iterable[tuple[str, ManifestRow]] = rows_of_texts(commit)
        else:
            rows = rows_of_commit(commit).items()
        for layer, row in rows:
            known = self._newer.setdefault((layer, row.key), {}).setdefault(row.shard, [])
            if row not in known:
                known.append(row)

    def _newer_rows(self, layer: str, key: str, shards: Collection[str]) -> Iterator[ManifestRow]:
        """What is known to be committed of these shards."""
        known = self._newer.get((layer, key), {})
        for shard in shards if known else ():
            yield from known.get(shard, ())

    def _unread_rows(self, layer: str, key: str, shards: Collection[str]) -> Iterator[ManifestRow]:
        """What is committed of these shards and was not read yet."""
        for name, made in sorted(self._layer_sets().items()):
            if made.layers.get(layer) != key:
                continue
            committed = committed_names(self.objects, layout.layer_commits(name))
            read = self._read.setdefault(name, set())
            unread = sorted((committed & set(shards)) - read)
            for commit in load_layer_commits(self.objects, name, unread).values():
                self._add(commit)
                yield rows_of_commit(commit)[layer]
            read.update(unread)

    def _layer_sets(self) -> dict[str, LayerSet]:
        if self._sets is None:
            self._sets = load_layer_sets(self.objects)
        return self._sets

    def _forget_objects(self, layers: Collection[str]) -> None:
        """Lists the objects of these layers again when they are next asked for: there will be more."""
        for prefix in [one for one in self._listed if layout.layer_of(one) in layers]:
            del self._listed[prefix]

    def _objects_below(self, prefix: str) -> set[str]:
        if prefix not in self._listed:
            self._listed[prefix] = {info.path for info in self.objects.list(prefix)}
        return self._listed[prefix]


def _by_key_and_shard(rows: Iterable[ManifestRow]) -> dict[str, dict[str, ManifestRow]]:
    found: dict[str, dict[str, ManifestRow]] = {}
    for row in rows:
        found.setdefault(row.key, {})[row.shard] = row
    return found


def _by_key_and_name(tasks: Iterable[TaskCommit]) -> dict[str, dict[str, TaskCommit]]:
    found: dict[str, dict[str, TaskCommit]] = {}
    for task in tasks:
        found.setdefault(task.key, {})[task.task] = task
    return found
