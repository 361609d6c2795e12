"""Statistics that merge to the same bytes: counts, log-bin histograms, distinct counts and top values."""

from winnow.schemas.statistics.columns import ColumnSpec, ColumnStatistics, Kind
from winnow.schemas.statistics.distinct import Distinct
from winnow.schemas.statistics.histogram import RELATIVE_ERROR, Histogram, bin_range
from winnow.schemas.statistics.numbers import FloatStatistics, IntegerStatistics
from winnow.schemas.statistics.shard import (
    SAMPLES_STATISTICS,
    OrderedMerge,
    ShardStatistics,
    StatisticsSpec,
    by_layer_from_json,
    by_layer_to_json,
    layer_spec,
    merge_in_order,
    spec_of,
)
from winnow.schemas.statistics.top import TopValues

__all__ = [
    "RELATIVE_ERROR",
    "SAMPLES_STATISTICS",
    "ColumnSpec",
    "ColumnStatistics",
    "Distinct",
    "FloatStatistics",
    "Histogram",
    "IntegerStatistics",
    "Kind",
    "OrderedMerge",
    "ShardStatistics",
    "StatisticsSpec",
    "TopValues",
    "bin_range",
    "by_layer_from_json",
    "by_layer_to_json",
    "layer_spec",
    "merge_in_order",
    "spec_of",
]
