"""What a request to forget would hide: searches every row of every generation, in tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from winnow.pipelines.forgetting.scanning import Ids, scan_request
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import ShardTexts, every_shard_text
from winnow.pipelines.store.hiding.scans import Hiding, Scan
from winnow.pipelines.store.integrity.damage import of_a_generation
from winnow.schemas.errors import StoreError
from winnow.schemas.tombstones import Selectors


@dataclass(frozen=True)
class Effect:
    """The matching rows of the latest generation that still have content."""

    generation: int | None = None  # None if nothing has been ingested yet
    shards: Mapping[str, int] = field(default_factory=dict)  # rows, by shard
    sources: Mapping[str, int] = field(default_factory=dict)  # rows, by source
    ids: Ids | None = None  # of matching rows of any generation; None if they were not asked for
    met: frozenset[bytes] = frozenset()  # the hashes of selectors that matched a row of any generation
    generations: tuple[int, ...] = ()  # all that list an object with such rows
    scans: Sequence[Scan] = ()  # the scanned objects of every generation

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.shards.values())


def effect_of(store: Store, selectors: Selectors, jobs: Jobs = HERE, *, ids: bool = False) -> Effect:
    """Searches every row of every generation for these selectors; reads each object once.

    `ids`: whether the ids of matching rows are needed, which take 16 bytes each.
    """
    numbers = store.generation_numbers()
    while True:
        try:
            return _effect(store, numbers, selectors, jobs, ids=ids)
        except StoreError:
            left = store.generation_numbers()
            if left == numbers:
                raise
            numbers = left  # one was collected during the search


def _effect(store: Store, numbers: Sequence[int], selectors: Selectors, jobs: Jobs, *, ids: bool) -> Effect:
    only = Hiding({"": selectors})
    shards: dict[int, list[ShardTexts]] = {}
    for number in reversed(numbers):
        with of_a_generation(older=number != numbers[-1]):
            shards[number] = list(every_shard_text(store, store.generation_record(number), only))
    latest = {(one.row.object, one.texts): one for number in numbers[-1:] for one in shards[number]}
    found = scan_request(store, selectors, latest.values(), jobs, ids=ids)
    others = [one for held in shards.values() for one in held if (one.row.object, one.texts) not in latest]
    if others:
        with of_a_generation(older=True):
            found = found.joined(scan_request(store, selectors, others, jobs, ids=ids))
    counts: dict[str, int] = {}
    sources: Counter[str] = Counter()
    holding: list[int] = []
    for number in numbers:
        for shard in shards[number]:
            pending = len(found.rows(shard.row.object, shard.texts).pending)
            if not pending:
                continue
            if not holding or holding[-1] != number:
                holding.append(number)
            if number == numbers[-1]:
                counts[shard.row.shard] = counts.get(shard.row.shard, 0) + pending
                sources[shard.row.source] += pending
    return Effect(
        generation=numbers[-1] if numbers else None,
        shards=counts,
        sources=dict(sorted(sources.items())),
        ids=found.ids,
        met=found.met,
        generations=tuple(holding),
        scans=tuple(found.scans.values()),
    )
