"""Duplicates of sites: how many rows of each have one on the same site, and how many on another."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import ROWS, find_kind
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.reading.columns import Column
from winnow.runners.inspect.dimensions import DOMAIN, texts_of
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.measures import frame_layers, map_blocks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block
from winnow.schemas.rows.duplicates import Kind, layer_of_kind
from winnow.schemas.uint128 import words_of

Counts = NDArray[np.int64]
_Clustered = tuple[NDArray[np.uint64], NDArray[np.int32]]  # clusters, and sites, of rows in clusters of several


@dataclass(frozen=True)
class SiteDuplicates:
    """Rows by the number of their site: 0 for those without an address, else one more than `texts_of` says."""

    within: Counts  # whose cluster has another row of the site
    across: Counts  # whose cluster has a row of another site

    @property
    def nbytes(self) -> int:
        """The bytes of both."""
        return int(self.within.nbytes + self.across.nbytes)


def kinds_of_rows(opened: Opened) -> tuple[Kind, ...]:
    """The kinds of duplicates of rows that were searched for in all shards."""
    there = frame_layers(opened)
    kinds = Browser(opened.store, opened.generation, ()).kinds
    return tuple(kind for kind in kinds if find_kind(kind).unit == ROWS and layer_of_kind(kind) in there)


def site_duplicates(opened: Opened, frame: Frame, kind: Kind) -> SiteDuplicates:
    """The duplicates of every site, of a kind of rows, counted when they are first asked for."""
    return opened.kept.get(("site duplicates", kind), lambda: _counted(opened, frame, kind))


def _counted(opened: Opened, frame: Frame, kind: Kind) -> SiteDuplicates:
    sites = texts_of(opened, frame, DOMAIN)
    cluster, size = (Column(layer_of_kind(kind), leaf) for leaf in ("cluster", "size"))

    def read(at: int, block: Block) -> _Clustered:
        many = pc.fill_null(pc.greater(block[size.name], 1), False)
        rows = np.flatnonzero(many.to_numpy(zero_copy_only=False))
        # Half of an id, which is a hash: among a billion, two equal halves are a chance of one in forty.
        high, _ = words_of(block[cluster.name].take(pa.array(rows)))
        return high, sites.codes[at + rows] + 1

    found = [one for _, some in map_blocks(opened, frame, [cluster, size], read) for one in some]
    none: _Clustered = (np.zeros(0, np.uint64), np.zeros(0, np.int32))
    clusters, codes = (np.concatenate(arrays) for arrays in zip(none, *found, strict=True))
    return counted_sites(clusters, codes, len(sites.values) + 1)


def counted_sites(clusters: NDArray[np.uint64], codes: NDArray[np.int32], sites: int) -> SiteDuplicates:
    """The counts, given the cluster and the site of every row that is in a cluster of several."""
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
