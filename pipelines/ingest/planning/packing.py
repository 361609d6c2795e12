"""Deals the files of a batch to tasks: large files are cut, small ones packed, so that the shards come out well filled.

Works on estimates of how many shards a file fills, or on plain sizes. The files are taken in the order of their paths,
so the same files give the same tasks in any order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from winnow.schemas.records import FilePart

FILES_PER_TASK: Final = 10_000  # each is opened, one after the other, and recorded in the task's commit
SPARE: Final = 8 / 7  # a shard is planned to be filled to 7/8, as estimates err and an overflowing task writes one more
WELL_FILLED: Final = 0.8


@dataclass(frozen=True, slots=True)
class SizedFile:
    """A file to be dealt out."""

    path: str
    size: int
    amount: float  # in the unit of the goal: shards that it fills, or bytes
    splittable: bool


@dataclass(frozen=True, slots=True)
class ByAmount:
    """Tasks of about the same amount: what is larger is cut, and no task is packed beyond it."""

    goal: float

    def cuts(self, amount: float) -> int:
        """In how many parts a file of this amount is read, if it can be."""
        return ceil(amount / self.goal)

    def fits(self, held: float, amount: float) -> bool:
        """Whether a task that holds so much should also hold this."""
        return held + amount <= self.goal


@dataclass(frozen=True, slots=True)
class ByShards:
    """Tasks that fill whole shards: `goal` of them, and up to `most` where small files do not add up otherwise."""

    goal: int
    most: float

    def cuts(self, amount: float) -> int:
        """In how many parts a file of this many shards is read, if it can be: where these fill the fewest shards.

        One that fills only a few shards is packed beside others, as cutting it leaves every part half full.
        """
        if amount <= min(3 * self.goal, self.most):
            return 1
        wanted = ceil(shards_needed(amount) / self.goal)
        least = ceil(shards_needed(amount) / max(1, 2 * self.goal - 1))
        return min(
            range(least, 2 * wanted + 1), key=lambda count: (count * shards_needed(amount / count), abs(count - wanted))
        )

    def fits(self, held: float, amount: float) -> bool:
        """Whether a task that holds so much should also hold this: not if its last shard is well filled."""
        needed = shards_needed(held)
        return held + amount <= self.most and (needed < self.goal or held < WELL_FILLED * needed)


def shards_needed(amount: float) -> int:
    """How many shards to expect where an estimate says that so many are filled."""
    return ceil(amount * SPARE)


def pack(files: Sequence[SizedFile], rule: ByAmount | ByShards) -> list[tuple[FilePart, ...]]:
    """The parts of files that each task reads; together they cover every file once."""
    tasks: list[tuple[FilePart, ...]] = []
    batch: list[FilePart] = []
    held = 0.0
    for file in sorted(files, key=lambda file: file.path):
        count = rule.cuts(file.amount)
        if count > 1:
            count = min(count, file.size) if file.splittable else 1
            bounds = [index * file.size // count for index in range(count + 1)]
            tasks += [(FilePart(file.path, file.size, *bounds[index : index + 2]),) for index in range(count)]
            continue
        if batch and (not rule.fits(held, file.amount) or len(batch) >= FILES_PER_TASK):
            tasks.append(tuple(batch))
            batch, held = [], 0.0
        batch.append(FilePart(file.path, file.size, 0, file.size))
        held += file.amount
    if batch:
        tasks.append(tuple(batch))
    return tasks
