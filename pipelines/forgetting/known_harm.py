"""Compares media ingested before a list of known harm existed, and hides the rows of matching media.

For each list the store records which ingest tasks were compared with it, so a new or longer list costs one look at
every medium, and nothing afterwards. SHA-256 is in the rows; MD5 and PDQ need the media's bytes again. Matching rows
are forgotten by their ids: hidden at once, their content removed by the next purge.
"""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from winnow.filters.image.decode.containers import Bytes
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.decoding.known_harm import HarmListFile, KnownHarm
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.media.references import MediaSources, Unavailable
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.running.job_tasks import OPENING_BYTES, Jobs, TaskFolder, TaskKind, TaskWithoutBlocks
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import put_tombstone
from winnow.pipelines.store.integrity.sealed import find_record, put_record
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.records import TaskCommit
from winnow.schemas.tombstones import Selectors

__all__ = ["Outcome", "compare_ingested", "ingested_tasks"]

_COMPARED = "compared"


@dataclass(frozen=True, slots=True)
class Compared:
    """`known_harm/<list>.json`: the ingest tasks whose media were compared with a list."""

    tasks: tuple[str, ...]  # sorted


@dataclass(frozen=True, slots=True)
class CompareTask(TaskLine):
    """The rows of one ingest task."""

    source: str
    shards: tuple[str, ...]  # their objects


@dataclass(slots=True)
class CompareFound:
    """What one task found."""

    ids: list[str] = field(default_factory=list)  # of rows with a medium that matches, in hexadecimal digits
    matches: dict[str, int] = field(default_factory=dict)  # how many media each list names
    unread: int = 0  # media that could not be read again


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a comparison with new lists did."""

    rows: int = 0  # hidden
    matches: Sequence[tuple[str, int]] = ()  # how many media each list names
    unread: int = 0
    tasks: int = 0  # compared


@dataclass(frozen=True)
class MediaComparison:
    """Looks at the media of ingested rows. Picklable."""

    objects: ObjectStore
    media: MediaSources
    harm: KnownHarm

    def run(self, task: CompareTask) -> CompareFound:
        """Compares every medium of the task's rows."""
        found = CompareFound()
        counts: Counter[str] = Counter()
        with closing(RequiredMedia(self.media, task.source)) as finder:
            for shard in task.shards:
                for batch in read_batches(self.objects, shard, columns=["id", "media"]):
                    rows = zip(batch["id"].to_pylist(), batch["media"].to_pylist(), strict=True)
                    for identity, items in rows:  # each medium may read a file
                        named = [name for one in items or () if (name := self._list_of(finder, one, found)) is not None]
                        if named:
                            found.ids.append(identity.hex())
                            counts.update(named)
        found.matches = dict(sorted(counts.items()))
        return found

    def _list_of(self, finder: RequiredMedia, medium: dict[str, Any], found: CompareFound) -> str | None:
        """The name of the list that has a medium."""

        def content() -> Bytes | None:
            held = finder.open(medium)
            if isinstance(held, Unavailable):
                found.unread += 1
                return None
            return held

        try:
            match = self.harm.match(medium["mime"] or "", medium["sha256"], content)
        except OSError as error:
            raise finder.out_of_reach(medium["ref"]["path"], error) from error
        return None if match is None else match.name


def compare_ingested(
    store: Store, harm: KnownHarm, media: MediaSources, commits: Iterable[TaskCommit], new: Set[str], jobs: Jobs
) -> Outcome:
    """Compares what was ingested with lists that it was not compared with, and hides matching rows.

    The caller holds the store's lease. `media`: where media are read again; `commits`: the ingest tasks of the recipe's
    sources; `new`: names of tasks that were just run with these lists.
    """
    every = {_name(commit): commit for commit in commits}
    done = {one: set(_compared(store.objects, one).tasks) for one in harm.lists}
    just_now = {name for name, commit in every.items() if commit.task in new}
    pending = {one: every.keys() - tasks - just_now for one, tasks in done.items()}
    names = sorted(set().union(*pending.values()))
    outcome = Outcome()
    if names:
        lists = tuple(one for one in harm.lists if pending[one])
        outcome = _compare(store, replace(harm, lists=lists), media, [every[name] for name in names], jobs)
    for one, tasks in done.items():
        if tasks != every.keys():
            put_record(store.objects, layout.known_harm(one.identity), Compared(tuple(sorted(every))))
    return outcome


def ingested_tasks(recipe: BoundRecipe, context: IngestContext, held: StoreIndex) -> dict[str, TaskCommits]:
    """The tasks of each source, by name; StoreError if they had other settings, or if a list was not compared."""
    store, harm = context.store, context.known_harm
    tasks = {name: held.tasks(source.key(context.limits)) for name, source in sorted(context.sources.items())}
    if missing := [name for name, found in tasks.items() if not len(found)]:
        names = ", ".join(missing)
        raise StoreError(f"{store.root}: was ingested with other settings ({names}); run: winnow ingest {recipe.file}")
    done = {_name(commit) for found in tasks.values() for commit in found} if harm is not None else set()
    lists = () if harm is None else harm.lists
    if lacking := [one.name for one in lists if not done <= set(_compared(store.objects, one).tasks)]:
        raise StoreError(
            f"{store.root}: holds media that were not compared with the lists of known_harm ({', '.join(lacking)}); "
            "run: winnow ingest RECIPE"
        )
    return tasks


def _compare(store: Store, harm: KnownHarm, media: MediaSources, commits: Sequence[TaskCommit], jobs: Jobs) -> Outcome:
    with jobs.folder(_COMPARED) as steps:
        tasks = TaskFolder(steps)
        kind = TaskKind(_COMPARED, CompareTask, TaskWithoutBlocks(MediaComparison(store.objects, media, harm).run))
        for commit in commits:
            size = commit.input_bytes if harm.kinds - {"sha256"} else OPENING_BYTES
            tasks.add(kind, CompareTask(commit.source, tuple(shard.object.path for shard in commit.shards)), size)
        tasks.run(jobs, "Comparison")
        found = list(tasks.found(_COMPARED, CompareFound))
    matches: Counter[str] = Counter()
    for one in found:
        matches.update(one.matches)
    ids = frozenset(bytes.fromhex(identity) for one in found for identity in one.ids)
    if ids:
        counted = ", ".join(f"{name} {count:,}" for name, count in sorted(matches.items()))
        put_tombstone(store.objects, Selectors(id=ids).tombstone(f"known harm: {counted}"))
    return Outcome(len(ids), sorted(matches.items()), sum(one.unread for one in found), len(commits))


def _compared(objects: ObjectStore, harm_list: HarmListFile) -> Compared:
    return find_record(objects, Compared, layout.known_harm(harm_list.identity)) or Compared(())


def _name(commit: TaskCommit) -> str:
    return f"{commit.key}/{commit.task}"
