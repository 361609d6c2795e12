"""The nodes of documents as exports write them: without pictures that rules drop, with texts where edits moved them.

A picture that is dropped leaves its place: the texts around it become one, unless the text names the picture there, as
Markdown does. What is no picture is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.edits import Moves
from winnow.pipelines.mix.dropped_media import DroppedMedia
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.item_lists import SHOWN, media_of
from winnow.pipelines.reading.items import list_counts, rows_and_items
from winnow.schemas.rows.draws import DOCUMENT_NODE, MIXED
from winnow.schemas.rows.interleaved import LAYER, MOST_BETWEEN, TEXT_NODE

_NODES, _SOURCES, _URLS = (Column(LAYER, leaf) for leaf in ("nodes", "sources", "urls"))
_KIND: Final = MIXED.field("nodes").type

_Ints: TypeAlias = NDArray[np.int64]
_Marks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Documents:
    """The documents of some rows."""

    nodes: pa.ListArray  # as `winnow.schemas.rows.draws.MIXED` has them
    media: pa.ListArray  # the references of each row's pictures
    sources: pa.ListArray  # of each picture, the source of its row; null for the row itself


def columns_of_documents(images: Column | None) -> tuple[Column, ...]:
    """The columns that are read; `images` has what pages say of their images, None where there are no pages."""
    return (_NODES, SHOWN, _SOURCES, _URLS, *(() if images is None else (images,)))


def no_documents(rows: int) -> pa.ListArray:
    """The nodes of rows that are written without them."""
    return pa.ListArray.from_arrays(np.zeros(rows + 1, np.int32), pa.array([], _KIND.value_type), type=_KIND)


def documents_of(
    read: Mapping[str, pa.Array], rows: _Ints, dropped: DroppedMedia, moves: Moves, images: Column | None
) -> Documents:
    """The documents of rows of a shard, ascending, whose columns were read; `moves` are those of their edits."""
    media = media_of(read)
    counts = list_counts(media)
    pictures = np.asarray(pc.starts_with(pc.struct_field(media.flatten(), "mime"), "image/"), np.bool_)
    stay = pictures & _kept(counts, rows, dropped)
    owners, _ = rows_and_items(counts)
    left = np.bincount(owners[stay], minlength=len(counts))
    number = np.cumsum(stay) - 1 - (np.cumsum(left) - left)[owners]  # of each that stays, among its row's
    firsts = np.cumsum(counts) - counts
    nodes = _Nodes(read[_NODES.name])
    of_media = nodes.items >= 0
    item = np.where(of_media, firsts[nodes.rows] + nodes.items, 0)
    there = np.zeros(len(of_media), np.bool_)
    there[of_media] = stay[item[of_media]]
    starts, ends = (moves.of(nodes.rows, np.maximum(one, 0)) for one in (nodes.starts, nodes.ends))
    texts = ~of_media & (ends > starts)
    chosen = np.flatnonzero(there | texts)
    merged = _merged(nodes, chosen, there[chosen])
    first, last = chosen[merged[0]], chosen[merged[1]]
    shows = there[first]
    numbers = np.where(shows, number[item[first]] if len(number) else 0, 0)
    url, alt = _said(read, nodes, first, item[first], shows, images)
    made = pa.StructArray.from_arrays(
        [
            pc.if_else(pa.array(shows), "image", TEXT_NODE),
            pa.array(starts[first], mask=shows),
            pa.array(ends[last], mask=shows),
            pa.array(numbers, pa.int32(), mask=~shows),
            url,
            alt,
        ],
        fields=list(DOCUMENT_NODE),
    )
    sources = pc.if_else(pa.array(stay), _of_items(read[_SOURCES.name], counts), None).filter(pa.array(stay))
    return Documents(
        _listed(np.bincount(nodes.rows[first], minlength=len(counts)), made).cast(_KIND),
        _listed(left, media.flatten().filter(pa.array(stay))).cast(media.type),
        _listed(left, sources),
    )


class _Nodes:
    """The nodes of some rows, one line each."""

    def __init__(self, lists: pa.ListArray) -> None:
        found = lists.flatten()
        self.rows, _ = rows_and_items(list_counts(lists))
        self.starts, self.ends, self.items, self.images = (
            pc.fill_null(pc.struct_field(found, name), -1).to_numpy(zero_copy_only=False).astype(np.int64)
            for name in ("start", "end", "item", "image")
        )


def _kept(counts: _Ints, rows: _Ints, dropped: DroppedMedia) -> _Marks:
    """Which media no rule of items drops."""
    _, numbers = rows_and_items(counts)
    left = dropped.left(_listed(counts, pa.array(numbers)), rows)
    of, _ = rows_and_items(list_counts(left))
    marks = np.zeros(len(numbers), np.bool_)
    marks[(np.cumsum(counts) - counts)[of] + left.flatten().to_numpy(zero_copy_only=False)] = True
    return marks


def _merged(nodes: _Nodes, chosen: _Ints, pictures: _Marks) -> tuple[_Ints, _Ints]:
    """The first and the last of each run of texts of a row, among the chosen nodes; a picture is a run of its own.

    Where the text has the name of a picture that left, or what edits delete, a run ends.
    """
    rows, starts, ends = (one[chosen] for one in (nodes.rows, nodes.starts, nodes.ends))
    joins = np.zeros(len(rows), np.bool_)
    joins[1:] = ~pictures[1:] & ~pictures[:-1] & (rows[1:] == rows[:-1])
    joins[1:] &= starts[1:] - ends[:-1] <= MOST_BETWEEN
    first = np.flatnonzero(~joins)
    return first, np.append(first[1:], len(rows))[: len(first)] - 1


def _said(
    read: Mapping[str, pa.Array], nodes: _Nodes, first: _Ints, item: _Ints, shows: _Marks, images: Column | None
) -> tuple[pa.Array, pa.Array]:
    """The address of each picture's row, as its page may name others first, and the page's alternative text."""
    counts = list_counts(media_of(read))
    own = _of_items(read[_URLS.name], counts).take(pa.array(item, mask=~shows))
    if images is None:
        return own, pa.nulls(len(first), pa.string())
    lists = read[images.name]
    starts = np.cumsum(list_counts(lists)) - list_counts(lists)
    on_page = shows & (nodes.images[first] >= 0)
    at = pa.array(np.where(on_page, starts[nodes.rows[first]] + nodes.images[first], 0), mask=~on_page)
    return own, pc.struct_field(lists.flatten(), "alt").take(at)


def _of_items(lists: pa.ListArray, counts: _Ints) -> pa.Array:
    """The values of a list with one for each medium; null for rows that were not measured."""
    own = list_counts(lists)
    if (own == counts).all():
        return lists.flatten()
    rows, items = rows_and_items(counts)
    fits = (own == counts)[rows]
    return lists.flatten().take(pa.array((np.cumsum(own) - own)[rows] + items, mask=~fits))


def _listed(counts: _Ints, values: pa.Array) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
