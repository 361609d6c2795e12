"""Duplicates of sites: how many rows of each have one on the same site, and how many on another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import ROWS, find_kind
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.store_rows import rows_of_store
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import Kind, layer_of_kind
from winnow.schemas.uint128 import words_of

Counts = NDArray[np.int64]
Clustered = tuple[NDArray[np.uint64], NDArray[np.int32]]
"""Clusters, and numbers of sites, of rows in clusters of several."""

_DOMAIN = Column(layout.SAMPLES, "domain")


@dataclass(frozen=True)
class SiteDuplicates:
    """Rows by the number of their site."""

    within: Counts  # whose cluster has another row of the site
    across: Counts  # whose cluster has a row of another site

    @property
    def nbytes(self) -> int:
        """The bytes of both."""
        return int(self.within.nbytes + self.across.nbytes)


def kinds_of_rows(store: Store, generation: Generation) -> tuple[Kind, ...]:
    """The kinds of duplicates of rows that were searched for."""
    return tuple(kind for kind in Browser(store, generation, ()).kinds if find_kind(kind).unit == ROWS)


def cluster_columns(kind: Kind) -> tuple[Column, Column]:
    """The columns that `clustered_rows` reads: the cluster, and its size."""
    return Column(layer_of_kind(kind), "cluster"), Column(layer_of_kind(kind), "size")


def clustered_rows(cluster: pa.Array, size: pa.Array, sites: NDArray[np.int32]) -> Clustered:
    """The rows of a block that are in clusters of several."""
    rows = np.flatnonzero(pc.fill_null(pc.greater(size, 1), False).to_numpy(zero_copy_only=False))
    # Half of an id, which is a hash: among a billion, two equal halves are a chance of one in forty.
    high, _ = words_of(cluster.take(pa.array(rows)))
    return high, sites[rows]


def duplicates_of_sites(store: Store, generation: Generation, kind: Kind, names: Sequence[str]) -> SiteDuplicates:
    """The duplicates of these sites, whose numbers are their places; all other rows count as one more site."""
    cluster, size = cluster_columns(kind)
    listed, found = pa.array(names, pa.string()), []
    for block in rows_of_store(store, generation, [_DOMAIN, cluster, size], ROW_GROUP_ROWS):
        places = pc.fill_null(pc.index_in(block[_DOMAIN.name].cast(pa.string()), listed), len(names))
        found.append(clustered_rows(block[cluster.name], block[size.name], places.to_numpy(zero_copy_only=False)))
    return counted_sites(found, len(names) + 1)


def counted_sites(found: Sequence[Clustered], sites: int) -> SiteDuplicates:
    """The counts, given the rows of all blocks."""
    none: Clustered = (np.zeros(0, np.uint64), np.zeros(0, np.int32))
    clusters, codes = (np.concatenate(arrays) for arrays in zip(none, *found, strict=True))
    order = np.lexsort((codes, clusters))
    clusters, codes = clusters[order], codes[order]
    starts = np.ones(len(order), np.bool_)  # of the rows of one site in one cluster
    starts[1:] = (clusters[1:] != clusters[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(starts)
    rows = np.diff(np.append(first, len(order)))
    of_cluster, of_site = clusters[first], codes[first]
    alone = np.ones(len(first), np.bool_)
    if len(first) > 1:
        same = of_cluster[1:] == of_cluster[:-1]
        alone[1:] &= ~same
        alone[:-1] &= ~same
    within = np.bincount(of_site[rows > 1], rows[rows > 1], sites)
    across = np.bincount(of_site[~alone], rows[~alone], sites)
    return SiteDuplicates(within.astype(np.int64), across.astype(np.int64))
