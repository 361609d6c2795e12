"""How much of a source one task reads: enough for full shards, and little enough for all cores of a machine.

Cost and number of tasks follow from the files alone, never from the number of workers, so a store is the same
wherever it is made. In shards that a batch of new files fills, by an estimate:

- up to 8, the batch is read by about eight tasks, each of which writes less than a shard: a laptop is kept busy, and a
  handful of small shards costs nothing;
- up to 4,096, a task fills one shard;
- beyond, there are about 4,096 tasks until each fills four shards. A task's last shard is not full, which matters less
  the more it writes. So do tasks of files that can only be cut into large pieces, as Parquet with its row groups.

A batch whose files are no larger than two shards together is read in tasks of a quarter of a shard, in bytes of the
files, without an estimate: 64 MiB each. A recipe's `task_bytes` replaces all this by tasks that read so many bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.packing import SPARE, ByAmount, ByShards, SizedFile, pack
from winnow.pipelines.ingest.planning.sampling import Densities, sample_densities
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.records import FilePart, StoreRecord

SMALL_TASK: Final = 1 / 4  # of `shard_bytes`
FEW_TASKS: Final = 8
MANY_TASKS: Final = 4096
MOST_SHARDS: Final = 4
MOST_INPUT: Final = 32  # input of so many times `shard_bytes` counts as a shard, even if it is video and holds no text


@dataclass(frozen=True)
class Dealer:
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
            goal = int(SMALL_TASK * self.store.shard_bytes)
            if sum(info.size for info in files) > FEW_TASKS * goal:
                return self._by_estimate(files)
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
        most = min(MOST_SHARDS, shards / FEW_TASKS)
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
