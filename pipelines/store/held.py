"""What a store holds, by key: the latest generation, and what was committed since.

A command begins with the generation, so it need not read what was published before, and keeps what it learns until it
ends: commits that its own tasks put are handed over, not read again. Of other commits, only those of shards that the
generation lacks are read. A layer whose object is gone, or that was made of other samples than the current ones, is not
held; its commit is withdrawn when a task is about to make it again.
"""

from collections.abc import Collection, Container, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Self

from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import committed_names, load_layer_commits, load_layer_sets, load_task_commits
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.integrity.sealed import put_record_if_absent
from winnow.pipelines.store.leases.command_lease import kept_by_command
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tables import (
    read_manifest,
    read_tasks,
    rows_of_commit,
    rows_of_texts,
    sample_rows,
)
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.together import delete_all
from winnow.schemas.records import GenerationRecord, LayersCommit, LayerSet, TaskCommit

_NOTHING = ManifestRows.of(())
_OBJECTS = 2_048  # rows, or tasks, of newer commits that are objects until they become columns


@dataclass
class _Newer:
    """The rows of a layer that were committed under a key since the generation, some of them twice."""

    parts: list[ManifestRows] = field(default_factory=list)
    more: list[ManifestRow] = field(default_factory=list)

    def add(self, row: ManifestRow) -> None:
        self.more.append(row)
        if len(self.more) == _OBJECTS:
            self._keep()

    def rows(self) -> ManifestRows:
        """All of them."""
        self._keep()
        self.parts = [ManifestRows.joined(self.parts)]
        return self.parts[0]

    def withdraw(self, shards: Container[str]) -> None:
        """Forgets the rows of these shards."""
        rows = self.rows()
        self.parts = [rows.where(row.shard not in shards for row in rows)]

    def _keep(self) -> None:
        self.parts.append(ManifestRows.of(self.more))
        self.more = []


@dataclass
class Held:
    """The latest generation of a store, by key, and newer commits. Everything is read when it is first asked for."""

    objects: ObjectStore
    record: GenerationRecord | None
    _layers: dict[str, dict[str, ManifestRows]] = field(default_factory=dict)  # by layer and key
    _tasks: TaskCommits | None = None
    _lost: dict[str, set[str]] = field(default_factory=dict)  # the names of tasks whose objects are gone, by key
    _newer_tasks: dict[str, TaskCommits] = field(default_factory=dict)  # by key
    _noted_tasks: list[TaskCommit] = field(default_factory=list)  # newer ones that are not among those yet
    _newer: dict[tuple[str, str], _Newer] = field(default_factory=dict)  # by layer and key
    _sets: dict[str, LayerSet] | None = None  # by name
    _read: dict[str, set[str]] = field(default_factory=dict)  # the shards whose commits of a set were read
    _listed: dict[str, HashSet] = field(default_factory=dict)  # the objects under a prefix

    @classmethod
    def of(cls, store: Store) -> Self:
        """What a store holds; nothing if there is no generation yet.

        A command that holds the lease gets the same one each time: nobody else publishes meanwhile.
        """
        return kept_by_command(store.objects, cls, lambda: cls(store.objects, store.latest_record()))

    def keys(self, layer: str) -> Collection[str]:
        """The keys of a layer."""
        return () if self.record is None or layer not in self.record.layers else self.record.layers[layer].keys.keys()

    def rows(self, layer: str, key: str) -> ManifestRows:
        """The objects of a layer under a key."""
        if key not in self.keys(layer):
            return _NOTHING
        if layer not in self._layers:
            assert self.record is not None
            self._layers[layer] = read_manifest(self.objects, self.record.layers[layer].manifest).by_key()
        return self._layers[layer][key]

    def layer(self, layer: str, keys: Container[str] | None = None) -> ManifestRows:
        """The objects of a layer under every key, or under these."""
        return ManifestRows.joined(self.rows(layer, key) for key in self.keys(layer) if keys is None or key in keys)

    def tasks(self, key: str) -> TaskCommits:
        """The ingest tasks of a key."""
        tasks, lost = self.all_tasks().under({key}), self._lost.get(key)
        return tasks.without(lost) if lost else tasks

    def all_tasks(self) -> TaskCommits:
        """The ingest tasks of every key, also those whose objects are gone."""
        if self._tasks is None:
            self._tasks = TaskCommits.of(()) if self.record is None else read_tasks(self.objects, self.record.tasks)
        return self._tasks

    def samples(self, tasks: TaskCommits) -> ManifestRows:
        """The samples that tasks made."""
        keys = set(tasks.key_of_source.values())
        if tasks == self.all_tasks().under(keys):
            return self.layer(layout.SAMPLES, keys)
        return sample_rows(tasks)

    def drop_task(self, key: str, name: str) -> None:
        """Forgets a task whose objects are gone, so that it is run again."""
        self._lost.setdefault(key, set()).add(name)
        self._newer_tasks_of(key)
        if key in self._newer_tasks:
            self._newer_tasks[key] = self._newer_tasks[key].without({name})

    def find_tasks(self, key: str, names: Iterable[str]) -> TaskCommits:
        """The commits of those of these tasks that have one."""
        wanted = set(names)
        newer = self._newer_tasks_of(key)
        known = TaskCommits.joined([self.tasks(key).without(newer.names), newer])
        if unread := sorted(wanted.difference(known.names)):
            for commit in load_task_commits(self.objects, key, unread):
                self._add(commit)
            known = TaskCommits.joined([known, self._newer_tasks_of(key).called(set(unread))])
        return known.called(wanted)

    def _newer_tasks_of(self, key: str) -> TaskCommits:
        """The tasks of a key that were committed since the generation."""
        noted, self._noted_tasks = self._noted_tasks, []
        for one in {commit.key for commit in noted}:
            fresh = {commit.task: commit for commit in noted if commit.key == one}
            before = self._newer_tasks.get(one, TaskCommits.of(())).without(fresh)
            self._newer_tasks[one] = TaskCommits.joined([before, TaskCommits.of(fresh.values())])
        return self._newer_tasks.get(key, TaskCommits.of(()))

    def find_layer(self, layer: str, key: str, samples: Mapping[str, str], under: str | None = None) -> ManifestRows:
        """The objects of a layer under a key.

        Args:
            layer: The layer's name.
            key: Its key.
            samples: The samples object of each shard that is wanted.
            under: The key that names its objects, if that is another.
        """
        if not samples:
            return _NOTHING
        there = self._objects_below(layout.layer_objects(layer, under or key))

        def holds(row: ManifestRow) -> bool:
            return samples.get(row.shard) == row.samples and row.object in there

        rows = self.rows(layer, key)
        found = rows.where(map(holds, rows))
        for unread in (False, True):
            if len(found) == len(samples):
                break
            known = found.by_shard
            if unread:
                self._read_commits(layer, key, {shard for shard in samples if shard not in known})
            newer = self._newer_rows(layer, key)
            added = newer.where(row.shard not in known and holds(row) for row in newer)
            found = ManifestRows.joined([found, added.last_of_each_shard()])
        return found

    def committed_rows(self, layer: str, key: str, samples: Mapping[str, str]) -> dict[str, ManifestRow]:
        """What is committed of a layer under a key, by shard, whether or not its objects are there."""

        def known() -> dict[str, ManifestRow]:
            rows = self._newer_rows(layer, key)
            return {row.shard: row for row in rows if samples.get(row.shard) == row.samples}

        self._read_commits(layer, key, samples.keys() - known().keys())
        return known()

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
        by_layer: dict[tuple[str, str], set[str]] = {}
        for shard, layers in missing.items():
            name = layout.set_name(layers)
            paths[shard] = layout.layer_commit(name, shard)
            if name not in by_set:
                by_set[name] = set()
                put_record_if_absent(self.objects, layout.layer_set(name), LayerSet(dict(layers)))
                self._layer_sets()[name] = LayerSet(dict(layers))
            by_set[name].add(shard)
            for one in layers.items():
                by_layer.setdefault(one, set()).add(shard)
        for one, shards in by_layer.items():
            if one in self._newer:
                self._newer[one].withdraw(shards)
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

    def publish(self, record: GenerationRecord, layers: Mapping[str, ManifestRows], tasks: TaskCommits | None) -> None:
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
        self._layers |= {layer: rows.by_key() for layer, rows in layers.items()}
        if tasks is not None:
            self._tasks = tasks
        for newer in (self._newer, self._newer_tasks, self._noted_tasks, self._read, self._lost):
            newer.clear()

    def reread(self, store: Store) -> None:
        """Begins again with the latest generation, which somebody else has published."""
        fresh = Held(self.objects, store.latest_record())
        self.__dict__.update(fresh.__dict__)

    def _add(self, commit: TaskCommit | LayersCommit) -> None:
        if isinstance(commit, TaskCommit):
            self._noted_tasks.append(commit.without_layers)
            self._lost.get(commit.key, set()).discard(commit.task)
            if len(self._noted_tasks) == _OBJECTS:
                self._newer_tasks_of(commit.key)
            rows: Iterable[tuple[str, ManifestRow]] = rows_of_texts(commit)
        else:
            rows = rows_of_commit(commit).items()
        for layer, row in rows:
            self._newer.setdefault((layer, row.key), _Newer()).add(row)

    def _newer_rows(self, layer: str, key: str) -> ManifestRows:
        """What is known to be committed since the generation; of some shards twice, the latest last."""
        known = self._newer.get((layer, key))
        return _NOTHING if known is None else known.rows()

    def _read_commits(self, layer: str, key: str, shards: Set[str]) -> None:
        """Reads the commits of these shards that were not read yet."""
        for name, made in sorted(self._layer_sets().items()):
            if made.layers.get(layer) != key:
                continue
            committed = committed_names(self.objects, layout.layer_commits(name))
            read = self._read.setdefault(name, set())
            unread = sorted((committed & shards) - read)
            for commit in load_layer_commits(self.objects, name, unread):
                self._add(commit)
            read.update(unread)

    def _layer_sets(self) -> dict[str, LayerSet]:
        if self._sets is None:
            self._sets = load_layer_sets(self.objects)
        return self._sets

    def _forget_objects(self, layers: Collection[str]) -> None:
        """Lists the objects of these layers again when they are next asked for: there will be more."""
        for prefix in [one for one in self._listed if layout.layer_of(one) in layers]:
            del self._listed[prefix]

    def _objects_below(self, prefix: str) -> HashSet:
        if prefix not in self._listed:
            self._listed[prefix] = HashSet(info.path for info in self.objects.list(prefix))
        return self._listed[prefix]
