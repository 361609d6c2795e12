"""Duplicates of the sites that a page lists."""

from winnow.pipelines.query.site_duplicates import (
    Clustered,
    SiteDuplicates,
    cluster_columns,
    clustered_rows,
    counted_sites,
    kinds_of_rows,
)
from winnow.runners.inspect.dimensions import DOMAIN, texts_of
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.measures import frame_layers, map_blocks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block
from winnow.schemas.rows.duplicates import Kind, layer_of_kind


def kinds_shown(opened: Opened) -> tuple[Kind, ...]:
    """The kinds of duplicates of rows that were searched for in all shards."""
    there = frame_layers(opened)
    return tuple(kind for kind in kinds_of_rows(opened.store, opened.generation) if layer_of_kind(kind) in there)


def site_duplicates(opened: Opened, frame: Frame, kind: Kind) -> SiteDuplicates:
    """The duplicates of every site, counted when they are first asked for.

    Sites are numbered as by `texts_of`, but from 1: 0 are rows without an address.
    """
    return opened.kept.get(("site duplicates", kind), lambda: _counted(opened, frame, kind))


def _counted(opened: Opened, frame: Frame, kind: Kind) -> SiteDuplicates:
    sites = texts_of(opened, frame, DOMAIN)
    cluster, size = cluster_columns(kind)

    def read(at: int, block: Block) -> Clustered:
        codes = sites.codes[at : at + len(block[size.name])] + 1
        return clustered_rows(block[cluster.name], block[size.name], codes)

    found = [one for _, some in map_blocks(opened, frame, [cluster, size], read) for one in some]
    return counted_sites(found, len(sites.values) + 1)
