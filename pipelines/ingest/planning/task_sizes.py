"""How much of a source one task reads: enough for full shards, and little enough for all cores of a machine.

Cost and number of tasks follow from the files alone, never from the number of workers, so a store is the same
wherever it is made. In shards that a batch of new files fills, by an estimate:

- up to 32, the batch is read by about 32 tasks, each of which writes less than a shard: a hundred megabytes keep a
  large machine busy, and a few dozen small shards cost little;
- up to 4,096, a task fills one shard;
- beyond, there are about 4,096 tasks until each fills four shards. A task's last shard is not full, which matters less
  the more it writes. So do tasks of files that can only be cut into large pieces, as Parquet with its row groups.

A batch whose files are no larger than two shards together is read in 32 tasks of equal size, in bytes of the files,
without an estimate: up to 16 MiB each, and at least 3 MiB, as less is read sooner than another worker starts. A
recipe's `task_bytes` replaces all this by tasks that read so many bytes.

Large files are cut, small ones packed. They are taken in the order of their paths, so the same files give the same
tasks in any order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import Densities, sample_densities
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.records import FilePart, StoreRecord

SMALLEST_TASK: Final = 3 / 256  # of `shard_bytes`
BY_BYTES: Final = 2  # times `shard_bytes`, up to which a batch is not worth an estimate
FEW_TASKS: Final = 32
FEWEST_OF_PIECES: Final = 8  # where files can only be cut into large pieces, which fill several shards a task better
MANY_TASKS: Final = 4096
MOST_SHARDS: Final = 4
MOST_INPUT: Final = 32  # input of so many times `shard_bytes` counts as a shard, even if it is video and holds no text
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
        """Whether this amount still fits into a task that holds some already."""
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
        """Whether this amount still fits into a task that holds some already: not if its last shard is well filled."""
        needed = shards_needed(held)
        return held + amount <= self.most and (needed < self.goal or held < WELL_FILLED * needed)


def shards_needed(amount: float) -> int:
    """How many shards to expect for an estimated amount."""
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


@dataclass(frozen=True)
class TaskSizer:
    """Deals files of one source to tasks."""

    source: IngestSource
    store: StoreRecord
    whole: frozenset[str] = frozenset()  # files whose parts did not fit together

    def __call__(self, files: Sequence[ObjectInfo]) -> list[tuple[FilePart, ...]]:
        """The parts of files that each task reads, for files in the order of their paths."""
        goal = self.store.task_bytes
        if self.source.clips is not None:  # shards of another store: its rows say nothing of how many clips there are
            return [(FilePart(info.path, info.size, 0, info.size),) for info in files]
        if goal is None:
            total = sum(info.size for info in files)
            if total > BY_BYTES * self.store.shard_bytes:
                return self._by_estimate(files)
            goal = max(int(SMALLEST_TASK * self.store.shard_bytes), ceil(total / FEW_TASKS))
        large = [info for info in files if info.size > goal]
        densities = sample_densities(self.source, large) if any(map(self._may_have_members, large)) else Densities()
        sized = [self._sized(info, info.size, densities) for info in files]
        return pack(sized, ByAmount(goal))

    def _by_estimate(self, files: Sequence[ObjectInfo]) -> list[tuple[FilePart, ...]]:
        densities = sample_densities(self.source, files)
        sized = [self._sized(info, self._shards(info, densities), densities) for info in files]
        shards = sum(file.amount for file in sized)
        if shards < FEW_TASKS:
            return pack(sized, ByAmount(min(shards / FEW_TASKS, 1 / SPARE)))
        most = min(MOST_SHARDS, shards / FEWEST_OF_PIECES)
        # A part of a file is larger or smaller than planned by up to a piece, for which a shard has an eighth to spare.
        piece = max((density.piece for density in densities.found.values()), default=0.0) / self.store.shard_bytes
        goal = min(int(most), max(1, int(shards / MANY_TASKS), ceil(8 * piece)))
        return pack(sized, ByShards(goal, most))

    def _shards(self, info: ObjectInfo, densities: Densities) -> float:
        """How many shards a file fills, by whichever limit is reached first."""
        density = densities.of(self.source.format, info.path)
        rows = densities.rows(self.source.format, info)
        by_text = info.size * density.text / self.store.shard_bytes
        return max(rows / self.store.shard_rows, by_text, info.size / (MOST_INPUT * self.store.shard_bytes))

    def _sized(self, info: ObjectInfo, amount: float, densities: Densities) -> SizedFile:
        splittable = info.path not in self.whole and densities.is_splittable(self.source.format, info.path)
        return SizedFile(info.path, info.size, amount, splittable)

    def _may_have_members(self, info: ObjectInfo) -> bool:
        """Whether only reading tells if a file can be read in parts."""
        return format_of(self.source.format, info.path).split_by_name(info.path) == "members"
