"""Counts clusters of duplicates in tasks over ranges of shards, and keeps what they come to in the store.

One pass counts the clusters and finds the largest, a second collects details of these few. Rows that were forgotten
after the search still count in the recorded sizes; nothing else of them is read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.query.cluster_counts import ClusterFacts, LargestClusters, Overview, gather
from winnow.pipelines.query.cluster_rows import ClusterLines, read_clusters
from winnow.pipelines.query.duplicates import LANGUAGE, Browser
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.running.shard_groups import group_shards, over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import TABLES_AT_ONCE, map_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.kept_facts import fact_inputs
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.records import FactInputs
from winnow.schemas.rows.duplicates import ID_BYTES, Kind, layer_of_kind

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

T = TypeVar("T")

VERSION = 2
"""The version of everything that turns rows into a record; raise it when the same rows give another one."""

KEPT = 20
"""So many of the largest clusters are kept: what the report and `winnow duplicates` show unless more are asked for."""


@dataclass(frozen=True, slots=True)
class ClusterShard(ListedShard):
    """A shard, and the columns that its layer of duplicates has."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """The facts of the largest clusters."""

    clusters: tuple[ClusterFacts, ...]


@dataclass(frozen=True, slots=True)
class KeptClusters:
    """`decisions/clusters/<key>.json`: the clusters of one kind of duplicates."""

    basis: FactInputs
    heads: LargestClusters
    gathered: tuple[ClusterFacts, ...]  # of the largest

    def overview(self, browser: Browser, kind: Kind, most: int) -> Overview:
        """What they come to, with the largest of them."""
        samples = browser.objects(layout.SAMPLES)
        largest = zip(self.heads.largest[:most], self.gathered[:most], strict=True)
        return self.heads.overview(kind, tuple(one.cluster(head, samples) for head, one in largest))


@dataclass(frozen=True)
class ClusterTasks:
    """What every task gets. Picklable."""

    objects: ObjectStore
    kind: Kind
    most: int  # clusters that are described
    shards: ShardList[ClusterShard]
    steps: "JobSteps"
    of_size: str = ""  # the name of the bin whose clusters alone are described

    def counting(self, jobs: Jobs) -> Iterator[LargestClusters]:
        """Run the pass that counts clusters, and finds the largest."""
        return over_groups(self.steps, jobs, f"Clusters-{self.kind}", self.shards, self.count, LargestClusters)

    def describing(self, ids: Sequence[str], jobs: Jobs) -> Iterator[Described]:
        """Run the pass that collects what is shown of the largest."""
        work = partial(self.describe, tuple(ids))
        return over_groups(self.steps, jobs, f"Largest-{self.kind}", self.shards, work, Described)

    def count(self, group: int) -> LargestClusters:
        """Count the clusters that rows of a range of shards name."""

        def counted(number: int) -> LargestClusters:
            heads, hidden = LargestClusters(self.most), self.shards.hidden(number)
            for lines in self._rows(number, None):
                heads.add(self.kind, lines, np.zeros(0, np.int64) if hidden is None else hidden, self.of_size)
            return heads

        return self.counted(self._each(group, counted))

    def counted(self, parts: Iterable[LargestClusters]) -> LargestClusters:
        """Add up the results of tasks."""
        found = LargestClusters(self.most)
        for part in parts:
            found.absorb(part)
        return found

    def describe(self, ids: Sequence[str], group: int) -> Described:
        """Collect the facts of these clusters from a range of shards."""
        return self.described(ids, self._each(group, partial(self._facts, ids)))

    def described(self, ids: Sequence[str], parts: Iterable[Described]) -> Described:
        """Join the results of tasks."""
        found = [ClusterFacts() for _ in ids]
        for some in parts:
            for one, more in zip(found, some.clusters, strict=False):  # a shard without any gives nothing
                one.absorb(more)
        return Described(tuple(found))

    def _each(self, group: int, work: Callable[[int], T]) -> Iterator[T]:
        return map_objects(self.objects, work, self.shards.in_group(group), TABLES_AT_ONCE)

    def _facts(self, ids: Sequence[str], number: int) -> Described:
        shard, layer = self.shards.all[number], layer_of_kind(self.kind)
        wanted = pa.array([bytes.fromhex(one) for one in ids], pa.binary(ID_BYTES))
        found = [ClusterFacts() for _ in ids]
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for lines in self._rows(number, self.shards.hidden(number)):
            index = pc.index_in(lines.columns[f"{layer}.cluster"], value_set=wanted)
            chosen = np.flatnonzero(index.is_valid().to_numpy(zero_copy_only=False))
            if len(chosen):
                of = index.take(pa.array(chosen)).to_numpy().astype(np.int64)
                gather(found, shard, lines, chosen, of, layer)
                parts.append((lines.rows[chosen], of))
        if not parts:
            return Described(())
        rows, of = (np.concatenate(part) for part in zip(*parts, strict=True))
        for at, count in enumerate(np.bincount(of, minlength=len(ids)).tolist()):
            if count:
                found[at].sources[shard.source] = count
        self._count_languages(found, shard, rows, of)
        return Described(tuple(found))

    def _count_languages(
        self, found: Sequence[ClusterFacts], shard: ClusterShard, rows: NDArray[np.int64], of: NDArray[np.int64]
    ) -> None:
        measured = shard.objects.get(LANGUAGE.layer)
        if measured is None:
            return
        codes = pa.concat_arrays(
            [batch[LANGUAGE.leaf] for batch in read_batches(self.objects, measured, [LANGUAGE.leaf])]
        )
        table = pa.table({"code": codes.take(pa.array(rows)).cast(pa.string()), "of": of})
        for group in table.group_by(["of", "code"], use_threads=False).aggregate([([], "count_all")]).to_pylist():
            if group["code"] is not None:
                found[group["of"]].languages[group["code"]] = group["count_all"]

    def _rows(self, number: int, hidden: NDArray[np.int64] | None) -> Iterator[ClusterLines]:
        shard = self.shards.all[number]
        objects = {name: path for name, path in shard.objects.items() if name != LANGUAGE.layer}
        return read_clusters(self.objects, self.kind, objects, shard.columns, hidden)


def clusters_inputs(browser: Browser, kind: Kind) -> FactInputs:
    """The rows that are read."""
    return fact_inputs(browser.store, browser.generation, _layers(browser, kind))


def clusters_path(basis: FactInputs, kind: Kind) -> str:
    """The path of the stored clusters of a kind; equal paths mean equal records."""
    return layout.clusters(fingerprint_of({"version": VERSION, "kind": kind, "basis": basis.to_json()}))


def cluster_tasks(browser: Browser, kind: Kind, most: int, steps: "JobSteps", of_size: str = "") -> ClusterTasks:
    """Return the tasks over all shards, listed in the passes' folder; `of_size`: the bin of sizes that is meant."""
    shards = []
    for row in browser.objects(layer_of_kind(kind)).values():
        objects = {layer_of_kind(kind): row.object, layout.SAMPLES: row.samples}
        if (measured := browser.objects(LANGUAGE.layer).get(row.shard)) is not None:
            objects[LANGUAGE.layer] = measured.object
        columns = tuple(browser.columns(kind, row))
        shards.append(ClusterShard(row.shard, row.source, row.rows, objects, columns=columns))
    hidden = {shard: one.rows for shard, one in browser.hidden.items()}
    listed = group_shards(steps, ClusterShard, shards, hidden)
    return ClusterTasks(browser.store.objects, kind, most, listed, steps, of_size)


def _layers(browser: Browser, kind: Kind) -> tuple[str, ...]:
    there = (LANGUAGE.layer,) if LANGUAGE.layer in browser.generation.layers else ()
    return (layout.SAMPLES, layer_of_kind(kind), *there)


def kept_clusters(basis: FactInputs, tasks: ClusterTasks, jobs: Jobs) -> KeptClusters:
    """Run both passes."""
    heads = tasks.counted(tasks.counting(jobs))
    ids = [one.id for one in heads.largest]
    if not ids:
        return KeptClusters(basis, heads, ())
    return KeptClusters(basis, heads, tasks.described(ids, tasks.describing(ids, jobs)).clusters)
