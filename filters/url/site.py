"""What the pages of a site have in common: their number, and shares and means of what other operators measured.

A site is a registered domain, as ingest finds it in the address (`winnow.filters.web.urls.registered_domain`). All
pages that the operator measures are counted, in whatever shard they are (`RowTotals`). Means are of sums of integers:
of each value's whole part, and of its fraction in units of 2**-30. So they do not depend on the order of rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.kernels.digests import digest_column, digests_of
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.operators import KEYS, PART, Assets, ColumnName, Kernel, RowTotals, TextOperator
from winnow.schemas.errors import RecipeError

DOMAIN: Final = "samples.domain"
AMOUNTS: Final = ("count", "whole", "rest")  # rows; of a mean, the sums of whole parts and of fractions
_SUMS = (pa.field(name, pa.int64(), nullable=False) for name in AMOUNTS)
LINES = pa.schema([pa.field("key", KEYS, nullable=False), PART, *_SUMS])

_PAGES = ""  # the part that counts a site's pages; that of a column is its name
_VALUE = "\n"  # between a column's name and a value, in the part that counts pages with this value
_LONGEST: Final = 256  # bytes; a longer text is not a value
_FRACTION: Final = 1 << 30
_MOST: Final = float(1 << 31)  # larger numbers count as this one, so that sums fit for four billion pages

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """Which columns of other layers are compared within a site."""

    values: tuple[ColumnName, ...] = ()  # of text: the most frequent value of a site, and how many pages have it
    means: tuple[ColumnName, ...] = ()  # of numbers and of booleans, whose mean is a share

    def __post_init__(self) -> None:
        names = [field.name for field in writes(self)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two columns would be named {twice}; name each column once")


def writes(config: SiteConfig) -> pa.Schema:
    """The columns of the layer; those about a column are named like it, with `_` for dots."""
    fields = [pa.field("site", pa.string()), pa.field("pages", pa.int64())]
    for name in map(_name, config.values):
        fields.append(pa.field(f"{name}_main", pa.string()))  # of equally frequent values the first in the alphabet
        fields += [pa.field(f"{name}_main_share", pa.float64()), pa.field(f"{name}_own_share", pa.float64())]
    fields += [pa.field(f"{_name(name)}_mean", pa.float64()) for name in config.means]
    return pa.schema(fields)


def _name(column: str) -> str:
    return column.replace(".", "_")


@dataclass(frozen=True, slots=True)
class _Sites:
    """The different sites of some rows."""

    names: pa.Array
    of: pa.Array  # the site of each row
    keys: pa.Array  # of each site


def _sites(batch: pa.RecordBatch) -> _Sites:
    encoded = batch.column(DOMAIN).dictionary_encode()
    names = encoded.dictionary
    keys = digest_column(digests_of(texts_of(names.cast(pa.large_string()))), np.ones(len(names), np.bool_))
    return _Sites(names, encoded.indices.cast(pa.int64()), keys)


def lines(config: SiteConfig, batch: pa.RecordBatch) -> pa.RecordBatch:
    """How many pages of each site there are, with which values, and the sums of their numbers."""
    _check_types(config, batch.schema)
    sites = _sites(batch)
    found = [pa.RecordBatch.from_arrays(columns, schema=LINES) for columns in _lines(config, batch, sites)]
    return pa.Table.from_batches(found).combine_chunks().to_batches()[0]


def _lines(config: SiteConfig, batch: pa.RecordBatch, sites: _Sites) -> Iterator[list[pa.Array]]:
    of, count = sites.of.to_numpy(), len(sites.names)

    def of_sites(part: str, *amounts: npt.NDArray[np.number]) -> list[pa.Array]:
        filled = [*amounts, *(np.zeros(count) for _ in AMOUNTS[len(amounts) :])]
        return [sites.keys, pa.array([part] * count, pa.string()), *(pa.array(one.astype(np.int64)) for one in filled)]

    yield of_sites(_PAGES, np.bincount(of, minlength=count))
    for name in config.means:
        there, whole, rest = _parts_of_numbers(batch.column(name))
        sums = np.zeros((2, count), np.int64)
        np.add.at(sums[0], of[there], whole)
        np.add.at(sums[1], of[there], rest)
        yield of_sites(name, np.bincount(of[there], minlength=count), *sums)
    for name in config.values:
        column = batch.column(name)
        there = _is_value(column)
        yield of_sites(name, np.bincount(of[there], minlength=count))
        pairs = pa.table({"site": sites.of, "value": column}).filter(pa.array(there)).group_by(["site", "value"])
        counts = pairs.aggregate([([], "count_all")]).combine_chunks()
        if counts.num_rows:
            keys, values = sites.keys.take(counts["site"].chunk(0)), counts["value"].chunk(0)
            zeros = pa.array(np.zeros(len(keys), np.int64))
            yield [keys, pc.binary_join_element_wise(name, values, _VALUE), counts["count_all"].chunk(0), zeros, zeros]


def _is_value(column: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.fill_null(pc.less_equal(pc.binary_length(column), _LONGEST), False).to_numpy(
        zero_copy_only=False
    )
    return found


def _parts_of_numbers(column: pa.Array) -> tuple[npt.NDArray[np.bool_], Ints, Ints]:
    """Which rows have a number, and the whole part and the fraction of each."""
    numbers = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    values = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    there = np.isfinite(values)  # nulls are none
    values = np.clip(values[there], -_MOST, _MOST)
    whole = np.floor(values)
    return there, whole.astype(np.int64), np.round((values - whole) * _FRACTION).astype(np.int64)


def shown(_config: SiteConfig, sums: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """All that is of whole columns, and of each column's values the most frequent one."""
    parts = sums.column("part")
    found: npt.NDArray[np.bool_] = pc.equal(pc.find_substring(parts, _VALUE), -1).to_numpy(zero_copy_only=False)
    values = sums.filter(pa.array(~found))
    columns = pc.list_element(pc.split_pattern(values.column("part"), _VALUE, max_splits=1), 0)
    found[np.flatnonzero(~found)[_most_frequent(values.column("count"), values.column("key"), columns)]] = True
    return found


def _most_frequent(counts: pa.Array, *of: pa.Array) -> Ints:
    """The places of the largest count for each different row of these columns; of equal counts the first."""
    codes = [column.dictionary_encode().indices.to_numpy() for column in of]
    order = np.lexsort((-counts.to_numpy(), *codes))
    firsts = np.unique(np.stack([column[order] for column in codes], 1), axis=0, return_index=True)[1]
    found: Ints = order[firsts]
    return found


@dataclass(frozen=True, slots=True)
class _Values:
    """How many pages of each site have which value of a column."""

    counted: pa.Array  # the site's key and the value, as one
    counts: pa.Array
    totals: pa.Array  # of each site, its pages with any value


def load_shard(config: SiteConfig, sums: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from the sums of its sites."""
    keys, parts = sums.column("key"), sums.column("part")
    sites = keys.filter(pc.equal(parts, _PAGES))

    def of_sites(part: str) -> list[pa.Array]:
        mine = sums.filter(pc.equal(parts, part))
        at = pc.index_in(sites, value_set=mine.column("key"))
        return [mine.column(name).take(at) for name in AMOUNTS]

    columns = {"pages": of_sites(_PAGES)[0]}
    values = {}
    for name in config.values:
        counted = sums.filter(pc.starts_with(parts, f"{name}{_VALUE}"))
        written = pc.utf8_slice_codeunits(counted.column("part"), len(name) + len(_VALUE))
        counts, total = counted.column("count"), of_sites(name)[0]
        main = pa.array(_most_frequent(counts, counted.column("key")))
        at = main.take(pc.index_in(sites, value_set=counted.column("key").take(main)))
        columns |= {f"{_name(name)}_main": written.take(at)}
        columns |= {f"{_name(name)}_main_share": _ratio(counts.take(at), total)}
        values[name] = _Values(_together(counted.column("key"), written), counts, total)
    for name in config.means:
        count, whole, rest = of_sites(name)
        columns[f"{_name(name)}_mean"] = _ratio(pc.add(_floats(whole), pc.divide(_floats(rest), _FRACTION)), count)
    return partial(_layer, config, sites, columns, values)


def _layer(
    config: SiteConfig,
    keys: pa.Array,
    columns: Mapping[str, pa.Array],
    values: Mapping[str, _Values],
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    _check_types(config, batch.schema)
    sites = _sites(batch)
    at = pc.index_in(sites.keys, value_set=keys).take(sites.of)
    found = {"site": batch.column(DOMAIN)} | {name: column.take(at) for name, column in columns.items()}
    for name, counted in values.items():
        own = _together(sites.keys.take(sites.of), batch.column(name))
        place = pc.index_in(own, value_set=counted.counted)
        found[f"{_name(name)}_own_share"] = _ratio(counted.counts.take(place), counted.totals.take(at))
    return pa.RecordBatch.from_pydict(found, schema=writes(config))


def _together(keys: pa.Array, values: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(keys.cast(pa.binary()), values.cast(pa.binary()), b"")


def _floats(amounts: pa.Array) -> pa.Array:
    return amounts.cast(pa.float64(), safe=False)


def _ratio(amounts: pa.Array, counts: pa.Array) -> pa.Array:
    """Amounts for each of what is counted; null where nothing is."""
    return pc.divide(_floats(amounts), _floats(pc.if_else(pc.greater(counts, 0), counts, None)))


def _check_types(config: SiteConfig, schema: pa.Schema) -> None:
    for name in config.values:
        if not pa.types.is_string(kind := schema.field(name).type):
            raise RecipeError(f"values: {name} is {kind}, not text; put numbers and booleans into 'means'")
    for name in config.means:
        if not (
            pa.types.is_boolean(kind := schema.field(name).type)
            or pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
        ):
            raise RecipeError(f"means: {name} is {kind}, which has no mean; it takes numbers and booleans")


def _load(config: SiteConfig, _assets: Assets) -> Kernel:
    return load_shard(config, pa.RecordBatch.from_pylist([], schema=LINES))


OPERATOR = TextOperator(
    name="url.site",
    version=1,
    summary="how many pages the page's site has, and what they have in common: main language, shares, means",
    config=SiteConfig,
    reads=lambda config: tuple(dict.fromkeys((DOMAIN, *config.values, *config.means))),
    writes=writes,
    load=_load,
    lookup=RowTotals(amounts=AMOUNTS, lines=lines, shown=shown, load=load_shard),
    needs=(DOMAIN,),
)
