"""The first job of a decision: histograms of the scores of each group, what its rule makes of them, and extreme rows.

Places send histograms; partitions merge those of some groups and fit the rule; the driver reads the fits. So memory
grows with groups and checkpoints, in a partition with the bins of its groups, and nowhere with rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.scratch_parts import existing_parts, put_part, read_parts
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, place_rows
from winnow.schemas.errors import ScoreError
from winnow.schemas.identity import canonical_json, digest
from winnow.schemas.typed_json import read_json
from winnow.schemas.uint128 import values_of, words_of
from winnow.scoring.selection import ScoreHistogram, extremes
from winnow.scoring.selection.binarise import Cut, fit_cut
from winnow.scoring.selection.histograms import BINS
from winnow.scoring.selection.ranks import SAMPLE as BY_SAMPLE
from winnow.scoring.selection.ranks import Floats, Ids, Integers, hashes

MAX_GROUPS = 10_000  # values of the column that groups rows; fitting takes 1 to 100 ms per value
SAMPLED = 1 << 16
"""Rows from whose scores the ranges of ranks are chosen: some 100 for each of 600 ranges, whose sizes then vary by a
tenth. Ranges do not change any rank."""
KEPT_EXTREMES = 100
"""Rows kept at each end: more than are shown, as some may be forgotten before they are shown."""
_BIN_BYTES = 16
_CHUNK = 1 << 18  # rows that are counted at once
_MOST_BINS = 1 << 22  # held by a place before it sends them

HISTOGRAMS = pa.schema(
    [
        pa.field("group", pa.string(), nullable=False),
        pa.field("series", pa.int32(), nullable=False),  # the checkpoint's number from 0; after them the mean
        pa.field("shift", pa.int8(), nullable=False),
        pa.field("least", pa.float64(), nullable=False),
        pa.field("greatest", pa.float64(), nullable=False),
        pa.field("bins", pa.list_(pa.uint64()), nullable=False),
        pa.field("counts", pa.list_(pa.int64()), nullable=False),
    ]
)

EXTREMES = pa.schema(
    [
        pa.field("highest", pa.bool_(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("shard", pa.int64(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
    ]
)
"""The rows with the highest and the lowest mean score."""

SAMPLE = pa.schema(
    [
        pa.field("group", pa.string(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),  # NaN if there is none
        pa.field("id", pa.binary(16), nullable=False),
    ]
)
"""Some rows of all, chosen by the hashes of their ids."""


@dataclass(frozen=True, slots=True)
class FittedGroup:
    """What the rule makes of a group's scores."""

    name: str
    scored: tuple[int, ...]  # rows, by checkpoint
    cuts: tuple[Cut, ...]  # by checkpoint


def histogram_partitions(decision: Decision) -> int:
    """Return the number of partitions that groups are spread over."""
    series = decision.checkpoints + 1
    groups = MAX_GROUPS if decision.columns.by is not None else 1
    return decision.partitions(min(decision.rows * series, groups * series * BINS) * _BIN_BYTES)


@dataclass
class _Histograms:
    """The histograms of a place's groups while its rows are read."""

    series: int
    of: dict[tuple[str, int], ScoreHistogram] = field(default_factory=dict)
    _groups: dict[str, int] = field(default_factory=dict)
    _codes: list[Integers] = field(default_factory=list)
    _scores: list[Floats] = field(default_factory=list)
    _waiting: int = 0

    @property
    def bins(self) -> int:
        return sum(len(one.bins) for one in self.of.values())

    def add(self, rows: ScoredRows) -> None:
        names, codes = rows.named_groups
        numbers = np.array([self._groups.setdefault(name, len(self._groups)) for name in names], np.int64)
        self._codes.append(numbers[codes])
        self._scores.append(np.column_stack([rows.scores, rows.means]))
        self._waiting += len(rows)
        if self._waiting >= _CHUNK:
            self.count()

    def count(self) -> None:
        """Add waiting rows to the histograms."""
        if not self._waiting:
            return
        codes, scores = np.concatenate(self._codes), np.concatenate(self._scores)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(self._groups)))
        for name, number in self._groups.items():
            some = scores[order[ends[number - 1] if number else 0 : ends[number]]]
            for series in range(self.series if len(some) else 0):
                new = ScoreHistogram.of(some[:, series])
                known = self.of.get((name, series))
                self.of[name, series] = new if known is None else ScoreHistogram.merged([known, new])
        self._codes.clear()
        self._scores.clear()
        self._waiting = 0

    def take(self) -> pa.RecordBatch:
        """Return all histograms, and forget them."""
        self.count()
        batch = histogram_batch(sorted(self.of.items()))
        self.of.clear()
        return batch


def send_histograms(decision: Decision, place: int) -> Iterator[AddressedBlock]:
    """Send the histograms of a place's groups; store its extreme rows and its part of the sample."""
    parts = histogram_partitions(decision)
    return addressed_blocks(f"place-{place}", ((one, _partitions(one, parts)) for one in _read(decision, place)), parts)


def _read(decision: Decision, place: int) -> Iterator[pa.RecordBatch]:
    objects, scratch, layer = decision.store.objects, decision.scratch, decision.bound.entry.layer
    held = _Histograms(decision.checkpoints + 1)
    ends, sampled = [_no_rows(EXTREMES)], [_no_rows(SAMPLE)]
    names: set[str] = set()
    for shard, rows in place_rows(decision, place, ids=True):
        held.add(rows)
        names.update(rows.named_groups[0])
        require_few_groups(layer, decision.bound.entry.filter.by, len(names))
        ends = [_extremes([*ends, *_ends_of(rows, shard)], decision.bound.seed)]
        sampled.append(_sample_of(rows, decision))
        if held.bins > _MOST_BINS:
            yield held.take()
    yield held.take()
    put_part(objects, scratch, "extremes", place, ends[0])
    put_part(objects, scratch, "sample", place, pa.concat_batches(sampled))


def require_few_groups(layer: str, by: str | None, groups: int) -> None:
    """Raise a ScoreError if a column has too many values to fit each separately."""
    if groups > MAX_GROUPS:
        raise ScoreError(
            f"{layer}: filter.by: {by} has more than {MAX_GROUPS:,} values, and each is fitted separately; use a "
            "column with fewer, such as language or source"
        )


def fit_groups(decision: Decision, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Store what the rule makes of the groups of a partition, and the distribution of all their scores."""
    merged = merged_histograms(batches)
    names = sorted({name for name, _ in merged})
    none = ScoreHistogram.merged([])
    fitted = []
    for name in names:
        scores = [merged.get((name, series), none) for series in range(decision.checkpoints)]
        fitted.append(
            FittedGroup(name, tuple(score.scored for score in scores), tuple(_cut(score, decision) for score in scores))
        )
    whole = [
        (("", series), ScoreHistogram.merged(merged[name, series] for name in names))
        for series in range(decision.checkpoints + 1)
    ]
    raw = canonical_json([asdict(one) for one in fitted]).encode()
    decision.store.objects.put(f"{_fits(decision)}{partition:08d}.json", raw)
    put_part(decision.store.objects, decision.scratch, "distributions", partition, histogram_batch(whole))
    yield partition


def _cut(scores: ScoreHistogram, decision: Decision) -> Cut:
    rule = decision.rule
    if rule.rule in ("kmeans", "gmm"):
        return fit_cut(scores, rule)[0]
    return Cut("" if scores.scored else "unscored")


def read_fits(decision: Decision) -> tuple[FittedGroup, ...]:
    """Return the fits of all groups, sorted by name."""
    objects = decision.store.objects
    found: list[FittedGroup] = []
    for info in objects.list(_fits(decision)):
        found += read_json(list[FittedGroup], objects.read(info.path))
    require_few_groups(decision.bound.entry.layer, decision.bound.entry.filter.by, len(found))
    return tuple(sorted(found, key=lambda one: one.name))


def read_distributions(decision: Decision) -> list[ScoreHistogram]:
    """Return the histograms of all scores: one per checkpoint, and that of the mean."""
    found = merged_histograms(existing_parts(decision.store.objects, decision.scratch, "distributions"))
    return [found.get(("", series), ScoreHistogram.merged([])) for series in range(decision.checkpoints + 1)]


def read_extremes(decision: Decision) -> pa.RecordBatch:
    """Return the highest rows, from the first on, and the lowest ones."""
    found = _no_rows(EXTREMES)
    for part in read_parts(decision.store.objects, decision.scratch, "extremes", decision.places.groups):
        found = _extremes([found, part], decision.bound.seed)
    return found


def read_sample(decision: Decision) -> pa.RecordBatch:
    """Return the sample of rows."""
    parts = read_parts(decision.store.objects, decision.scratch, "sample", decision.places.groups)
    return pa.concat_batches([_no_rows(SAMPLE), *parts])


def _fits(decision: Decision) -> str:
    return f"{decision.scratch}/fits/"


def _partitions(batch: pa.RecordBatch, parts: int) -> np.ndarray:
    return partition_of_key(pa.array([digest(name) for name in batch["group"].to_pylist()], pa.binary(16)), parts)


def histogram_batch(histograms: Iterable[tuple[tuple[str, int], ScoreHistogram]]) -> pa.RecordBatch:
    """Return one row per histogram, named by group and series."""
    items = list(histograms)
    columns = [
        [name for (name, _), _ in items],
        [series for (_, series), _ in items],
        [one.shift for _, one in items],
        [one.least for _, one in items],
        [one.greatest for _, one in items],
        [one.bins for _, one in items],
        [one.counts for _, one in items],
    ]
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, HISTOGRAMS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=HISTOGRAMS)


def merged_histograms(batches: Iterable[pa.RecordBatch]) -> dict[tuple[str, int], ScoreHistogram]:
    """Return the histograms of batches by group and series, merged one after another."""
    merged: dict[tuple[str, int], ScoreHistogram] = {}
    for batch in batches:
        names, series = batch["group"].to_pylist(), batch["series"].to_pylist()
        shifts, least, greatest = (batch[name].to_pylist() for name in ("shift", "least", "greatest"))
        # Not hot: one iteration per histogram.
        for number, key in enumerate(zip(names, series, strict=True)):
            bins, counts = (batch[name][number].values.to_numpy() for name in ("bins", "counts"))
            new = ScoreHistogram(shifts[number], bins, counts, least[number], greatest[number])
            known = merged.get(key)
            merged[key] = new if known is None else ScoreHistogram.merged([known, new])
    return merged


def _ends_of(rows: ScoredRows, shard: int) -> Iterator[pa.RecordBatch]:
    scored = np.flatnonzero(np.isfinite(rows.means))
    if not len(scored):
        return
    least = KEPT_EXTREMES if len(scored) > 2 * KEPT_EXTREMES else len(scored)
    means = rows.means[scored]
    order = np.argpartition(means, (least - 1, len(means) - least))
    lowest, highest = means[order[least - 1]], means[order[len(means) - least]]
    for which, near in ((True, scored[means >= highest]), (False, scored[means <= lowest])):
        ids = values_of(*(words[near] for words in rows.ids))
        columns = [np.full(len(near), which), rows.means[near], None, np.full(len(near), shard), rows.first + near]
        arrays = [ids if column is None else pa.array(column) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=EXTREMES)


def _extremes(batches: list[pa.RecordBatch], seed: int) -> pa.RecordBatch:
    """Return the most extreme rows of several batches, at each end the most extreme first."""
    found = pa.concat_batches(batches)
    kept = []
    is_high = found["highest"].to_numpy(zero_copy_only=False)
    for which in (True, False):
        rows = np.flatnonzero(is_high == which)
        some = found.take(pa.array(rows))
        ends = extremes(some["score"].to_numpy(), words_of(some["id"]), KEPT_EXTREMES, seed)
        kept.append(some.take(pa.array(ends.highest if which else ends.lowest)))
    return pa.concat_batches(kept)


def _sample_of(rows: ScoredRows, decision: Decision) -> pa.RecordBatch:
    """Return the rows of the sample: those with hashes below a bound that few of all rows are below."""
    chosen = np.flatnonzero(_unit_hashes(rows.ids, decision.bound.seed) < SAMPLED / decision.rows)
    names, codes = rows.named_groups
    columns = [
        pa.array([names[code] for code in codes[chosen]], pa.string()),
        pa.array(rows.means[chosen]),
        values_of(*(words[chosen] for words in rows.ids)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SAMPLE)


def _unit_hashes(ids: Ids, seed: int) -> Floats:
    """Return a number from 0 to 1 for each id."""
    return hashes(ids, seed, BY_SAMPLE).astype(np.float64) / 2.0**64


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], one.type) for one in schema], schema=schema)
