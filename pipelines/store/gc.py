"""Garbage collection: drops what the last generations do not name.

Names are dropped before the objects that they name: old generations, then commits and plans, then objects. A kept
generation holds what its commits said, so all commits go, and later commands have fewer to list. A reader of a kept
generation never misses an object, and a crash in between leaves only garbage for the next run. Verdicts on
texts are not named by any generation; they are kept as long as their shard. Scratch that a stage leaves for its later
steps matters only to its driver, which would hold the lease that the collector holds now. So do files that workers on
other machines take from the store: the next command that has such workers puts them there again.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import astuple, dataclass
from operator import add

from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.generations import Store, as_read
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.integrity.damage import DamagedError, of_a_generation
from winnow.pipelines.store.integrity.sealed import find_record, unsealed
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.publishing import publish_without_former
from winnow.schemas.records import FactInputs, StoredWeights, WeightKeys
from winnow.schemas.rows.scores import SCORES, TRACES
from winnow.schemas.typed_json import read_value

KEEP_GENERATIONS = 2
KEEP_RUNS = 16  # run records kept per stage


@dataclass(frozen=True, slots=True)
class Collected:
    """What was dropped, or would be in a dry run."""

    generations: int
    commits: int
    objects: int
    bytes: int
    unfinished: int

    def __add__(self, other: "Collected") -> "Collected":
        """What both have dropped."""
        return Collected(*map(add, astuple(self), astuple(other)))


def collect_garbage(store: Store, keep: int = KEEP_GENERATIONS, *, dry_run: bool = False) -> Collected:
    """Drops all but the last `keep` generations and what only they named. The caller holds the lease.

    Layers that no recipe lists any more are left out of a new generation first, so they go with the last that has them.
    """
    if not dry_run:
        publish_without_former(store)
    return drop_unnamed(store, store.generation_numbers()[-keep:], dry_run=dry_run)


def drop_unnamed(store: Store, kept: Sequence[int], *, dry_run: bool = False) -> Collected:
    """Drops all but these generations and what only the others named. The caller holds the lease."""
    numbers = store.generation_numbers()
    named = HashSet(_named(store, kept))
    old = [layout.generation(number) for number in numbers if number not in kept]
    sets = list(store.objects.list(layout.LAYER_SETS))
    commits = [info for prefix in (layout.TASK_COMMITS, layout.LAYER_COMMITS) for info in store.objects.list(prefix)]
    merged = tuple(sorted(layout.merged_statistics(*value) for value in _values(store, kept)))
    objects = [
        info
        for prefix in layout.DATA
        for info in store.objects.list(prefix)
        if info.path not in named and not info.path.startswith(merged)
    ]
    shards = HashSet(_shards(store, kept))
    objects += [info for info in store.objects.list(layout.VERDICTS) if layout.shard_of(info.path) not in shards]
    plans = _plans(store, kept)
    objects += _weights(store, kept) + _decisions(store, kept)
    advisory = [
        info
        for prefix in (layout.HEARTBEATS, layout.TASK_LISTS, layout.STRIKES, layout.SCRATCH, layout.NODE_FILES)
        for info in store.objects.list(prefix)
    ] + _runs(store)
    unfinished = 0
    if not dry_run:
        records = [info for info in plans if layout.is_plan_record(info.path)]
        draws = [info for info in plans if not layout.is_plan_record(info.path)]
        delete_objects(store.objects, old)
        for found in (commits, sets, records, (*draws, *objects, *advisory)):
            delete_objects(store.objects, (info.path for info in found))
        folders = {info.path.split("/")[1] for info in store.objects.list(layout.FETCHED)}
        fetched = (open_location(f"{store.root}/{layout.fetched(name).rstrip('/')}") for name in sorted(folders))
        unfinished = sum(objects.clear_unfinished() for objects in (store.objects, *fetched))
    return Collected(
        generations=len(old),
        commits=len(commits),
        objects=len(objects) + len(plans),
        bytes=sum(info.size for info in (*sets, *commits, *plans, *objects, *advisory)),
        unfinished=unfinished,
    )


def _runs(store: Store) -> list[ObjectInfo]:
    """Run records, except the last of each stage."""
    by_stage: dict[str, list[ObjectInfo]] = {}
    for info in store.objects.list(layout.RUNS):
        by_stage.setdefault(info.path.rpartition("/")[0], []).append(info)
    return [info for found in by_stage.values() for info in found[:-KEEP_RUNS]]


def _named(store: Store, kept: Sequence[int]) -> Iterator[str]:
    for number in reversed(kept):
        with of_a_generation(older=number != kept[-1]):
            record = store.generation_record(number)
            yield record.tasks
            for task in store.every_task(record):
                yield from (ranges.path for ranges in (task.dropped, task.quarantine) if ranges)
            for layer, entry in record.layers.items():
                yield entry.manifest
                for row in store.every_row(record, layer):
                    yield from (row.object, row.statistics)


def _shards(store: Store, kept: Sequence[int]) -> Iterator[str]:
    records = map(store.generation_record, kept)
    return (row.shard for record in records for row in store.every_row(record, layout.SAMPLES))


def _values(store: Store, kept: Sequence[int]) -> set[tuple[str, str, str]]:
    """The layers of these generations, with each of their keys and the hash of its values."""
    records = [store.generation_record(number) for number in kept]
    return {
        (layer, key, one.values)
        for record in records
        for layer, entry in record.layers.items()
        for key, one in entry.keys.items()
    }


def _weights(store: Store, kept: Sequence[int]) -> list[ObjectInfo]:
    """Weights that no trace of these generations uses."""
    used: set[str] = set()
    for number in kept:
        for layer, entry in store.generation_record(number).layers.items():
            if layer.startswith(TRACES):
                score = layer.removeprefix(TRACES)
                for key in entry.keys:
                    record = layout.weights_use(score, key)
                    if (use := find_record(store.objects, WeightKeys, record)) is not None:
                        used |= {record, *_objects(store, score, astuple(use))}
    return [info for info in store.objects.list(layout.WEIGHTS) if info.path not in used]


def _decisions(store: Store, kept: Sequence[int]) -> list[ObjectInfo]:
    """Records of how scores were decided that no layer of these generations has, and facts about rows that are gone."""
    used = {
        layout.decision(layer, key)
        for number in kept
        for layer, entry in store.generation_record(number).layers.items()
        if layer.startswith(SCORES)
        for key in entry.keys
    }
    values, forgotten = _values(store, kept), sorted(load_hiding(store.objects, fresh=True).tombstones)

    def is_used(path: str) -> bool:
        if not path.startswith((layout.RULE_DECISIONS, layout.CLUSTERS)):
            return path in used
        return _is_found_in(store, path, values, forgotten)

    return [info for info in store.objects.list(layout.DECISIONS) if not is_used(info.path)]


def _is_found_in(store: Store, path: str, values: Set[tuple[str, str, str]], forgotten: list[str]) -> bool:
    """Whether a record was found in these values, with nothing else forgotten."""
    try:
        basis = read_value(FactInputs, unsealed(store.objects, path, store.objects.read(path)).get("basis"))
    except (DamagedError, FileNotFoundError, ValueError):  # ValueError: of another version
        return False
    read = {(layer, key, value) for layer, keys in basis.reads.items() for key, value in keys.items()}
    return list(basis.forgotten) == forgotten and read <= values


def _objects(store: Store, score: str, keys: Sequence[str]) -> set[str]:
    """Records of weights, and the objects that they name."""
    found: set[str] = set()
    for key in filter(None, keys):
        record = layout.weights_record(score, key)
        if (stored := find_record(store.objects, StoredWeights, record)) is not None:
            found |= {record, *stored.objects}
    return found


def _plans(store: Store, kept: Sequence[int]) -> list[ObjectInfo]:
    """The objects of mixture plans that were made from none of these generations."""
    records = [store.generation_record(number) for number in kept]
    trees = {as_read(record, recipe.layers).tree_hash for record in records for recipe in record.recipes.values()}
    by_request: dict[str, list[ObjectInfo]] = {}
    for info in store.objects.list(layout.PLANS):
        by_request.setdefault(info.path.split("/")[1], []).append(info)
    loose = []
    for request, objects in by_request.items():
        record = layout.plan_record(request)
        made = any(info.path == record for info in objects)
        if not made or _planned(store, record) not in trees:
            loose += objects
    return loose


def _planned(store: Store, record: str) -> str | None:
    """The tree hash of the values that a plan was made from."""
    plan = unsealed(store.objects, record, store.objects.read(record)).get("plan")
    return str(plan.get("tree_hash")) if isinstance(plan, Mapping) else None
