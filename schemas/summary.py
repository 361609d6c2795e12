"""The summary of a store that `winnow stats`, `winnow report` and the end of a run show.

A summary has exact counts and final numbers, no sketches; `--json` prints it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from winnow.schemas.counts import count_of
from winnow.schemas.records import to_json
from winnow.schemas.rows.duplicates import UNMATCHED
from winnow.schemas.statistics import ColumnStatistics, FloatStatistics, IntegerStatistics, ShardStatistics, bin_range

Number: TypeAlias = int | float

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
SHOWN_VALUES = 200


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value and its number of rows."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Bin:
    """The number of values from `low` to `high`."""

    low: Number
    high: Number
    count: int


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value that this fraction of all values does not exceed; within 1/32 of the true one."""

    fraction: float
    value: Number


@dataclass(frozen=True, slots=True)
class Measure:
    """One number per row: the bytes, characters or items of a value, or the value itself."""

    name: str  # "bytes", "characters", "items" or "value"
    count: int
    minimum: Number | None
    maximum: Number | None
    mean: float | None
    quantiles: tuple[Quantile, ...] = ()
    bins: tuple[Bin, ...] = ()

    def quantile(self, fraction: float) -> Number | None:
        """The value of one of the stored quantiles."""
        return next((quantile.value for quantile in self.quantiles if quantile.fraction == fraction), None)


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """The summary of one column."""

    name: str
    kind: str
    rows: int
    nulls: int
    measures: tuple[Measure, ...] = ()
    distinct: int | None = None  # approximate: one standard deviation is 1.6 %
    top: tuple[ValueCount, ...] = ()
    other: int = 0  # rows whose value is not in `top`
    uncounted: int = 0  # the most additional rows that a value of `top` may have

    @property
    def values(self) -> int:
        """The number of non-null rows."""
        return self.rows - self.nulls

    def measure(self, name: str) -> Measure | None:
        """The measure of this name, if the column has it."""
        return next((measure for measure in self.measures if measure.name == name), None)


@dataclass(frozen=True, slots=True)
class LayerSummary:
    """One layer of the store; the samples themselves are the layer `samples`."""

    name: str
    version: str
    rows: int
    bytes: int
    nulls: int = 0  # rows that were not measured
    statuses: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[ColumnSummary, ...] = ()

    def column(self, name: str) -> ColumnSummary | None:
        """The column of this name; None if it is not counted."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """The fate of one source's records."""

    name: str
    source_class: str
    licence: str
    files: int
    input_bytes: int
    records: int
    samples: int  # records that could be read and have content; what rules keep of them is another matter
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)
    by_modality: Mapping[str, int] = field(default_factory=dict)
    unread: int = 0  # samples with a sidecar or medium that could not be used

    @property
    def described(self) -> int:
        """Records that say something of a sample that has a record of its own, such as the captions of a picture."""
        return self.dropped.get("described", 0)

    @property
    def balanced(self) -> bool:
        """Conservation: records in = samples + dropped + quarantined."""
        return _balanced(self.records, self.samples, self.dropped, self.quarantined)


@dataclass(frozen=True, slots=True)
class StageSummary:
    """The fate of one stage's rows."""

    name: str
    shards: int
    rows: int
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    quarantined: Mapping[str, int] = field(default_factory=dict)

    @property
    def balanced(self) -> bool:
        """Conservation: rows in = kept + dropped + quarantined."""
        return _balanced(self.rows, self.kept, self.dropped, self.quarantined)


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """One generation of a store."""

    store: str
    generation: int
    tree_hash: str | None
    sources: tuple[SourceSummary, ...] = ()
    stages: tuple[StageSummary, ...] = ()
    layers: tuple[LayerSummary, ...] = ()

    @property
    def unbalanced(self) -> tuple[str, ...]:
        """The names of sources and stages whose counts do not reconcile."""
        parts: tuple[SourceSummary | StageSummary, ...] = (*self.sources, *self.stages)
        return tuple(one.name for one in parts if not one.balanced)

    def layer(self, name: str) -> LayerSummary | None:
        """The layer of this name, if the store has it."""
        return next((layer for layer in self.layers if layer.name == name), None)

    def total(self) -> SourceSummary:
        """The sum of all sources."""
        return SourceSummary(
            name="total",
            source_class="",
            licence="",
            files=sum(source.files for source in self.sources),
            input_bytes=sum(source.input_bytes for source in self.sources),
            records=sum(source.records for source in self.sources),
            samples=sum(source.samples for source in self.sources),
            dropped=add_counts(source.dropped for source in self.sources),
            quarantined=add_counts(source.quarantined for source in self.sources),
            by_modality=add_counts(source.by_modality for source in self.sources),
            unread=sum(source.unread for source in self.sources),
        )

    def unread_notes(self) -> list[str]:
        """A line for each source whose readers failed, or whose sidecars or media could not all be used."""
        failed = [
            f"{one.name}: winnow failed on {count_of(count, 'range')} (reader_failed), which is its own fault: please "
            "report the file and the detail, which the report and the store's quarantine name"
            for one in self.sources
            if (count := one.quarantined.get("reader_failed"))
        ]
        return failed + [
            f"{one.name}: in {one.unread:,} of {count_of(one.samples, 'sample')} a sidecar or a medium could not be "
            "used; metadata.unread says which and why (winnow show; docs/reference/ingest.md lists them)"
            for one in self.sources
            if one.unread
        ]

    def to_json(self) -> bytes:
        """Canonical bytes."""
        return to_json(self)


_MEASURED = ("ok", "empty", UNMATCHED)
"""The statuses of rows that were measured, whatever the result."""


def add_counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of counts by name, in order of names."""
    total: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items()))


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names with counts, by descending count, then by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def summarise_layer(name: str, version: str, size_bytes: int, statistics: ShardStatistics) -> LayerSummary:
    """Summarise a layer from the merged statistics of its shards; statuses come from its `status` column, if any."""
    columns = tuple(summarise_column(name, column) for name, column in sorted(statistics.columns.items()))
    status = statistics.columns.get("status")
    statuses = dict(sorted(status.top.counts.items())) if status is not None and status.top is not None else {}
    nulls = 0
    if status is not None:
        nulls = status.nulls + sum(count for value, count in statuses.items() if value not in _MEASURED)
    return LayerSummary(name, version, statistics.rows, size_bytes, nulls, statuses, columns)


def summarise_column(name: str, column: ColumnStatistics) -> ColumnSummary:
    """Summarise a column's statistics."""
    length_name = "items" if column.kind == "list" else "bytes"
    numbers: tuple[tuple[str, IntegerStatistics | FloatStatistics | None], ...] = (
        (length_name, column.lengths),
        ("characters", column.characters),
        ("value", column.integers if column.floats is None else column.floats),
    )
    measures = tuple(_measure(name, part) for name, part in numbers if part is not None)
    distinct = None if column.distinct is None else column.distinct.estimate()
    if column.trues is not None:
        falses = column.rows - column.nulls - column.trues
        top = tuple(ValueCount(value, count) for value, count in (("true", column.trues), ("false", falses)) if count)
        return ColumnSummary(name, column.kind, column.rows, column.nulls, measures, distinct, top)
    if column.top is None:
        return ColumnSummary(name, column.kind, column.rows, column.nulls, measures, distinct)
    shown = column.top.capped(SHOWN_VALUES)
    top = tuple(ValueCount(value, count) for value, count in shown.ranked())
    # Unlike a shard's cap, this one hides values but not counts, so it does not add to `uncounted`.
    return ColumnSummary(
        name, column.kind, column.rows, column.nulls, measures, distinct, top, shown.other, column.top.uncounted
    )


def _measure(name: str, numbers: IntegerStatistics | FloatStatistics) -> Measure:
    found = [(fraction, numbers.quantile(fraction)) for fraction in QUANTILES]
    quantiles = tuple(Quantile(fraction, value) for fraction, value in found if value is not None)
    scale = numbers.histogram.scale
    bins = tuple(Bin(*bin_range(number, scale), count) for number, count in numbers.histogram.bins())
    return Measure(name, numbers.count, numbers.minimum, numbers.maximum, numbers.mean(), quantiles, bins)


def _balanced(given: int, kept: int, dropped: Mapping[str, int], quarantined: Mapping[str, int]) -> bool:
    return given == kept + sum(dropped.values()) + sum(quarantined.values())
