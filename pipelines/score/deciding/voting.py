"""The votes on rows by fitted cuts; and the job that counts their patterns and fits how votes become probabilities.

Places send the patterns of each group with their counts, and what the votes say of each cut. Partitions merge those of
some groups and fit the label model.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.scratch_parts import existing_parts, put_part
from winnow.pipelines.score.deciding.batch_votes import BatchVotes, StoredVotes
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, read_scores
from winnow.pipelines.score.deciding.measuring import FittedGroup, histogram_batch, merged_histograms
from winnow.pipelines.score.deciding.records import DecidedGroup
from winnow.schemas.identity import canonical_json
from winnow.schemas.typed_json import read_json
from winnow.schemas.uint128 import Words
from winnow.scoring.selection import ScoreHistogram, estimate_quality
from winnow.scoring.selection.binarise import ABSTAINS, DROPS, KEEPS, Cut
from winnow.scoring.selection.label_model import PatternFit, fit_patterns
from winnow.scoring.selection.ranks import SAMPLE, TIES, Floats, Integers, hashes
from winnow.scoring.selection.vote_counts import PATTERNS, VoteCounts

Votes: TypeAlias = NDArray[np.int8]  # rows × checkpoints
_CHUNK = 1 << 18  # rows whose patterns are counted at once
_MOST_PATTERNS = 1 << 20  # held by a place before it sends them
_COUNTED = np.uint64(1 << 63)  # the hash of a row that is in every sample

COUNTS = pa.schema(
    [
        pa.field("group", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),  # with a vote
        pa.field("least", pa.int8(), nullable=False),
        pa.field("patterns", pa.list_(pa.int8()), nullable=False),  # pattern after pattern
        pa.field("zeros", pa.list_(pa.int8()), nullable=False),
        pa.field("counts", pa.list_(pa.int64()), nullable=False),
        pa.field("voted", pa.list_(pa.int64()), nullable=False),  # by checkpoint, as the others
        pa.field("kept", pa.list_(pa.int64()), nullable=False),
        pa.field("lowest_kept", pa.list_(pa.float64()), nullable=False),  # infinity for none
        pa.field("highest_dropped", pa.list_(pa.float64()), nullable=False),
    ]
)
"""What the votes of some rows of a group are, and what they say of its cuts."""


class Voter:
    """Votes on rows by the cuts of their groups, or looks up the votes of their batches."""

    def __init__(self, decision: Decision, cuts: Sequence[tuple[Cut, ...]], batches: BatchVotes | None) -> None:
        self._decision = decision
        self._batches = batches
        self._stored: tuple[int, StoredVotes] | None = None  # of the shard group that was read last
        shape = (len(cuts), decision.checkpoints)
        of = [cut for group in cuts for cut in group]
        self._votes = np.array([cut.votes for cut in of], np.bool_).reshape(shape)
        self._lowest = np.array([np.inf if cut.lowest is None else cut.lowest for cut in of]).reshape(shape)
        self._divides = np.array([cut.tie is not None for cut in of], np.bool_).reshape(shape)
        self._ties = np.array([cut.tie or 0 for cut in of], np.uint64).reshape(shape)

    @property
    def needs_ids(self) -> bool:
        """Whether votes depend on rows' ids."""
        return bool(self._divides.any())

    def votes(self, shard: int, rows: ScoredRows, groups: Integers) -> Votes:
        """Return the votes on some rows of a shard: rows × checkpoints."""
        if self._batches is not None:
            at = int(self._decision.shards.group_of(np.array([shard]))[0])
            if self._stored is None or self._stored[0] != at:
                self._stored = at, self._batches.read(at)
            return self._stored[1].of(shard, rows)
        lowest = self._lowest[groups]
        finite = np.isfinite(rows.scores)
        votes = np.where(finite & self._votes[groups], DROPS, ABSTAINS)
        kept = rows.scores >= lowest
        if self.needs_ids:
            ties = hashes(rows.ids, self._decision.bound.seed, TIES)[:, np.newaxis]
            kept &= (rows.scores > lowest) | ~self._divides[groups] | (ties < self._ties[groups])
        votes[kept & (votes == DROPS)] = KEEPS
        return votes


@dataclass
class _Counts:
    """What a place has counted of each group."""

    groups: int
    checkpoints: int
    patterns: dict[int, VoteCounts] = field(default_factory=dict)
    _waiting: list[tuple[Integers, Votes, Words]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.patterns.clear()
        shape = (self.groups, self.checkpoints)
        self.rows = np.zeros(self.groups, np.int64)
        self.voted, self.kept = np.zeros((2, *shape), np.int64)
        self.lowest_kept, self.highest_dropped = np.full(shape, np.inf), np.full(shape, -np.inf)

    def add(self, groups: Integers, scores: Floats, votes: Votes, patterns: Votes, by: Words) -> None:
        """Count rows, whose patterns may be written otherwise than their votes."""
        some = (votes >= 0).any(axis=1)
        np.add.at(self.rows, groups[some], 1)
        for number in range(self.checkpoints):
            kept, dropped = votes[:, number] == KEEPS, votes[:, number] == DROPS
            column = scores[:, number]
            np.add.at(self.voted[:, number], groups[kept | dropped], 1)
            np.add.at(self.kept[:, number], groups[kept], 1)
            np.minimum.at(self.lowest_kept[:, number], groups[kept], column[kept])
            np.maximum.at(self.highest_dropped[:, number], groups[dropped], column[dropped])
        self._waiting.append((groups, patterns, by))
        if sum(len(part[0]) for part in self._waiting) >= _CHUNK:
            self.count()

    def count(self) -> None:
        """Add the patterns of waiting rows."""
        if not self._waiting:
            return
        groups, votes, by = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting.clear()
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=self.groups))
        for group in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
            some = order[ends[group - 1] if group else 0 : ends[group]]
            new = VoteCounts.of(votes[some], by[some])
            known = self.patterns.get(group)
            self.patterns[group] = new if known is None else VoteCounts.merged([known, new])

    @property
    def held(self) -> int:
        return sum(len(pattern.counts) for pattern in self.patterns.values())

    def take(self) -> pa.RecordBatch:
        """Return everything that was counted, and forget it."""
        self.count()
        there = np.array(sorted(self.patterns), np.int64)
        counts = [self.patterns[group] for group in there.tolist()]
        columns = [
            there,
            self.rows[there],
            [count.least for count in counts],
            [count.votes.ravel() for count in counts],
            [count.zeros for count in counts],
            [count.counts for count in counts],
            *(list(table[there]) for table in (self.voted, self.kept, self.lowest_kept, self.highest_dropped)),
        ]
        arrays = [pa.array(column, kind.type) for column, kind in zip(columns, COUNTS, strict=True)]
        self._clear()
        return pa.RecordBatch.from_arrays(arrays, schema=COUNTS)


@dataclass(frozen=True)
class Voting:
    """The job that counts votes. Picklable."""

    decision: Decision
    batches: BatchVotes | None  # for the rule whose votes depend on other rows of a batch
    groups: int

    @property
    def partitions(self) -> int:
        """The number of partitions that groups are spread over."""
        checkpoints = self.decision.checkpoints
        patterns = min(PATTERNS, 3**checkpoints if self.modelled else (checkpoints + 1) ** 2)
        return self.decision.partitions(self.groups * (patterns * (checkpoints + 16) + 32 * checkpoints))

    @property
    def modelled(self) -> bool:
        """Whether rows may get the posterior of a label model, not the share of their votes."""
        return self.decision.bound.entry.filter.aggregate == "label_model"

    def prepare(self, fitted: Sequence[FittedGroup]) -> None:
        """Store the cuts of all groups."""
        raw = canonical_json([asdict(one) for one in fitted]).encode()
        self.decision.store.objects.put(self._cuts, raw)

    def send(self, place: int) -> Iterator[AddressedBlock]:
        """Send what a place has counted of each group."""
        decision = self.decision
        fitted = read_json(list[FittedGroup], decision.store.objects.read(self._cuts))
        numbers = {group.name: number for number, group in enumerate(fitted)}
        voter = Voter(decision, [group.cuts for group in fitted], self.batches)
        counts = _Counts(len(fitted), decision.checkpoints)

        def batches() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
            for shard in decision.places.in_group(place):
                for rows in read_scores(decision, shard, ids=self.modelled or voter.needs_ids):
                    groups = rows.numbered_groups(numbers)
                    votes = voter.votes(shard, rows, groups)
                    # A majority depends on how many checkpoints vote how, not on which: few patterns for any number.
                    patterns = votes if self.modelled else np.sort(votes, axis=1)
                    by = hashes(rows.ids, decision.bound.seed, SAMPLE) if self.modelled else _all(len(rows))
                    counts.add(groups, rows.scores, votes, patterns, by)
                if counts.held > _MOST_PATTERNS:
                    yield _addressed(counts.take(), self.partitions)
            yield _addressed(counts.take(), self.partitions)

        return addressed_blocks(f"place-{place}", batches(), self.partitions)

    def fit(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Store the fits of the groups of a partition, and the distribution of their keep probabilities."""
        objects, scratch = self.decision.store.objects, self.decision.scratch
        fitted = read_json(list[FittedGroup], objects.read(self._cuts))
        merged: dict[int, _GroupVotes] = {}
        for batch in batches:
            for row in range(batch.num_rows):  # not hot: one per group and place
                found = _GroupVotes.of(batch.slice(row, 1), self.decision.checkpoints)
                known = merged.get(found.group)
                merged[found.group] = found if known is None else known.plus(found)
        decided, keeps = [], []
        settings = self.decision.bound.entry.filter
        for group in sorted(merged):
            one = merged[group]
            fit = fit_patterns(one.votes.patterns, settings.aggregate, constrained=settings.constrained)
            decided.append(_decided(fitted[group], one, fit))
            keeps.append(ScoreHistogram.of(fit.probability, fit.patterns.counts << one.votes.least))
        raw = canonical_json([asdict(one) for one in decided]).encode()
        objects.put(f"{scratch}/decided/{partition:08d}.json", raw)
        put_part(objects, scratch, "keeps", partition, histogram_batch([(("", 0), ScoreHistogram.merged(keeps))]))
        yield partition

    def decided(self) -> tuple[DecidedGroup, ...]:
        """Return the fits of all groups, sorted by name."""
        objects = self.decision.store.objects
        found: list[DecidedGroup] = []
        for info in objects.list(f"{self.decision.scratch}/decided/"):
            found += read_json(list[DecidedGroup], objects.read(info.path))
        return tuple(sorted(found, key=lambda one: one.name))

    def keeps(self) -> ScoreHistogram:
        """Return the histogram of all keep probabilities."""
        parts = existing_parts(self.decision.store.objects, self.decision.scratch, "keeps")
        return merged_histograms(parts)["", 0]

    @property
    def _cuts(self) -> str:
        return f"{self.decision.scratch}/cuts.json"


@dataclass(frozen=True)
class _GroupVotes:
    """What was counted of one group."""

    group: int
    rows: int
    votes: VoteCounts
    voted: Integers  # by checkpoint, as the others
    kept: Integers
    lowest_kept: Floats
    highest_dropped: Floats

    @classmethod
    def of(cls, row: pa.RecordBatch, checkpoints: int) -> "_GroupVotes":
        """The counts in one row of a batch."""
        lists = {name: row[name][0].values.to_numpy() for name in COUNTS.names[3:]}
        votes = VoteCounts(
            lists["patterns"].reshape(-1, checkpoints), lists["zeros"], lists["counts"], row["least"][0].as_py()
        )
        measures = (lists[name] for name in COUNTS.names[6:])
        return cls(row["group"][0].as_py(), row["rows"][0].as_py(), votes, *measures)

    def plus(self, other: "_GroupVotes") -> "_GroupVotes":
        """The counts of both."""
        return _GroupVotes(
            self.group,
            self.rows + other.rows,
            VoteCounts.merged([self.votes, other.votes]),
            self.voted + other.voted,
            self.kept + other.kept,
            np.minimum(self.lowest_kept, other.lowest_kept),
            np.maximum(self.highest_dropped, other.highest_dropped),
        )


def _decided(group: FittedGroup, found: _GroupVotes, fit: PatternFit) -> DecidedGroup:
    decided = DecidedGroup(
        name=group.name,
        cuts=group.cuts,
        scored=group.scored,
        voted=tuple(found.voted.tolist()),
        kept=tuple(found.kept.tolist()),
        lowest_kept=_finite(found.lowest_kept),
        highest_dropped=_finite(found.highest_dropped),
        how=fit.how,
        rates=None if fit.model is None else fit.model.rates,
        quality=None,
        converged=fit.model is None or fit.model.converged,
    )
    if not found.rows:
        return decided
    return replace(decided, quality=replace(estimate_quality(fit, decided.steps), rows=found.rows))


def _finite(values: Floats) -> tuple[float | None, ...]:
    return tuple(one + 0.0 if np.isfinite(one) else None for one in values.tolist())


def _all(rows: int) -> Words:
    return np.full(rows, _COUNTED)


def _addressed(batch: pa.RecordBatch, partitions: int) -> tuple[pa.RecordBatch, NDArray[np.uint32]]:
    return batch, partition_of_key(batch["group"].cast(pa.uint64()), partitions)
