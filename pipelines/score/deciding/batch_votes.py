"""The votes of the paper's threshold: rows meet the other rows of their batch, and get their votes back.

A batch is a run of a group's rows in the order of a hash, so a row's place in that order says which batch is its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import global_rows, local_rows, shard_numbers, uint64_column
from winnow.pipelines.running.scratch_parts import find_part, put_part
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, read_scores
from winnow.pipelines.score.deciding.placing import Placing
from winnow.scoring.selection.in_batch import above_uniform, batch_numbers, members
from winnow.scoring.selection.ranks import Integers

_ROWS_AT_ONCE = 1 << 16
_GROUP_SHIFT = 40  # batches of a group are fewer


@dataclass(frozen=True)
class BatchVotes:
    """The votes of all rows in their batches. Picklable."""

    placing: Placing

    @property
    def decision(self) -> Decision:
        """The decision."""
        return self.placing.decision

    @property
    def partitions(self) -> int:
        """The number of partitions that batches are spread over."""
        return self.decision.partitions(self.decision.rows * (16 + 8 * self.decision.checkpoints))

    def send(self, shard_group: int) -> Iterator[AddressedBlock]:
        """Send the rows of some shards to their batches."""
        places, groups = self.placing.read(shard_group), self.placing.group_numbers

        def batches() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
            for shard in self.decision.shards.in_group(shard_group):
                for rows in read_scores(self.decision, shard, ids=False):
                    numbers = rows.numbered_groups(groups)
                    which, place, total = places.of("batches", shard, rows, numbers)
                    batch = batch_numbers(place, total, self.decision.rule.batch)
                    batch |= numbers[which] << _GROUP_SHIFT
                    key = pa.array(batch.astype(np.uint64))
                    columns = [key, pa.array(global_rows(shard, rows.first + which))]
                    columns += [pa.array(column) for column in rows.scores[which].T]
                    yield (
                        pa.RecordBatch.from_arrays(columns, ["batch", "row", *self._names]),
                        partition_of_key(key, self.partitions),
                    )

        return addressed_blocks(f"shards-{shard_group}", batches(), self.partitions)

    def vote(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """Send each row's votes back to its shard."""
        held = list(batches)
        of = members(uint64_column(held, "batch").astype(np.int64))
        rows, shards = uint64_column(held, "row"), self.decision.shards
        votes = [
            above_uniform(
                np.concatenate([batch[name].to_numpy() for batch in held]), of, self.decision.rule.temperature
            )
            for name in self._names
        ]

        def voted() -> Iterator[tuple[pa.RecordBatch, Integers]]:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                columns = [pa.array(rows[some]), *(pa.array(column[some]) for column in votes)]
                batch = pa.RecordBatch.from_arrays(columns, ["row", *self._names])
                yield batch, shards.group_of(shard_numbers(rows[some]))

        return addressed_blocks(f"batches-{partition}", voted(), shards.groups)

    def store(self, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Store the votes of the rows of some shards, in the order of rows."""
        found = pa.concat_batches(list(batches))
        part = found.take(pa.array(np.argsort(found["row"].to_numpy())))
        put_part(self.decision.store.objects, self.decision.scratch, "batch-votes", shard_group, part)
        yield shard_group

    def read(self, shard_group: int) -> "StoredVotes":
        """Return the votes of the rows of some shards."""
        found = find_part(self.decision.store.objects, self.decision.scratch, "batch-votes", shard_group)
        if found is None:  # no shard has a row
            return StoredVotes(np.zeros(0, np.uint64), np.zeros((0, self.decision.checkpoints), np.int8))
        votes = np.column_stack([found[name].to_numpy() for name in self._names])
        return StoredVotes(found["row"].to_numpy(), votes)

    @property
    def _names(self) -> list[str]:
        return [f"m{number}" for number in range(self.decision.checkpoints)]


@dataclass(frozen=True)
class StoredVotes:
    """The votes of all rows of some shards."""

    rows: NDArray[np.uint64]  # ascending
    votes: NDArray[np.int8]  # rows × checkpoints

    def of(self, shard: int, rows: ScoredRows) -> NDArray[np.int8]:
        """Return the votes of some rows of a shard."""
        first, last = np.searchsorted(self.rows, global_rows(shard, rows.first + np.array([0, len(rows)])))
        assert np.array_equal(local_rows(self.rows[first:last]), rows.first + np.arange(len(rows)))
        return self.votes[first:last]
