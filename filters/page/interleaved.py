"""A document's texts and pictures in reading order: nodes that refer to the text and to media, of which none is copied.

Of a page, the extractor says where images stand in its text. Each is matched with the row of the store that has the
picture, by the addresses that the page gives for it (`caption/pages/crawl.py`); that row may be in any file or shard.
The text between two pictures that are found is one node. A row with media of its own, as of tables and tars, has these
first and its text last; any other text is one node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.caption.lists import MEDIA, lengths_of
from winnow.filters.caption.pages.crawl import SHOWING, SHOWN, image_keys, keys_of, of_kind
from winnow.filters.operators import ANSWERS, STATUS, TEXT, Assets, ColumnName, Kernel, RowLookup, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.rows.extraction import IMAGE
from winnow.schemas.rows.interleaved import INTERLEAVED, LAYER, MOST_BETWEEN, NODE, NODES, TEXT_NODE, fact_name
from winnow.schemas.rows.measured import NO_TEXT
from winnow.schemas.rows.samples import MEDIA as MEDIUM

URL: Final = "samples.url"
SOURCE: Final = "samples.source.name"

_ONE: Final = pa.list_(pa.field("item", MEDIUM, nullable=False))

_FACTS: Final = pa.list_(pa.float64())

ANSWER_COLUMNS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("url", pa.string()),
        pa.field("media", _ONE),  # the first of the row; none where a page answers, which only counts
        pa.field("facts", _FACTS),  # of that medium, each that the configuration names
    ]
)
"""What is told of the row that has a picture."""

Ints: TypeAlias = NDArray[np.int64]
_NONE: Final = -1
_NO_EXTRACTOR: Final = "none"


@dataclass(frozen=True, slots=True)
class InterleavedConfig:
    """Which extractor says where images stand."""

    extractor: str = "main"  # `none`: no row is a page
    facts: tuple[ColumnName, ...] = ()  # numbers and booleans that were measured of each picture, with its own row

    def __post_init__(self) -> None:
        names = [field.name for field in writes(self)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two columns would be named {twice}; name each fact once")

    @property
    def reads_pages(self) -> bool:
        """Whether an extractor is read."""
        return self.extractor != _NO_EXTRACTOR


def writes(config: InterleavedConfig) -> pa.Schema:
    """The columns of the layer; those of facts are named like these, with `_` for dots."""
    return pa.schema([STATUS, *INTERLEAVED, *(pa.field(fact_name(fact), _FACTS) for fact in config.facts)])


class _Images(NamedTuple):
    """The images that stand in the texts of some pages."""

    rows: Ints  # of each, the number of its page
    items: pa.StructArray


def _column(config: InterleavedConfig, leaf: str) -> str:
    return f"extract.{config.extractor}.{leaf}"


def _columns(config: InterleavedConfig) -> tuple[str, ...]:
    return tuple(_column(config, leaf) for leaf in ("text", "parts", "images")) if config.reads_pages else ()


class _Parts(NamedTuple):
    """The parts of pages whose text is the extractor's, in reading order."""

    rows: Ints
    starts: Ints
    ends: Ints
    images: Ints  # in the extractor's list; -1 for a text


def _parts(config: InterleavedConfig, batch: pa.RecordBatch) -> _Parts:
    if not config.reads_pages:
        return _Parts(*(np.zeros(0, np.int64),) * 4)
    lists = batch.column(_column(config, "parts"))
    same = pc.equal(batch.column(TEXT), batch.column(_column(config, "text")).cast(pa.large_string()))
    placed = pc.fill_null(same, False).to_numpy(zero_copy_only=False) & (lengths_of(batch.column(MEDIA)) == 0)
    counts = lengths_of(lists)
    parts = lists.flatten()
    rows = np.repeat(np.arange(len(lists)), counts)
    starts, ends, images = (
        pc.fill_null(pc.struct_field(parts, name), _NONE).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("start", "end", "image")
    )
    here = placed[rows] & ((images >= 0) | (ends > starts))
    return _Parts(rows[here], starts[here], ends[here], images[here])


def _images(config: InterleavedConfig, batch: pa.RecordBatch, parts: _Parts) -> tuple[_Images, Ints]:
    """The images of these parts, each once, and which of them each part is; -1 for a text."""
    if not len(parts.rows):
        return _Images(parts.rows, pa.array([], IMAGE)), parts.rows
    lists = batch.column(_column(config, "images"))
    counts = lengths_of(lists)
    shows = (parts.images >= 0) & (parts.images < counts[parts.rows])
    numbers = (np.cumsum(counts) - counts)[parts.rows] + parts.images
    used, which = np.unique(numbers[shows], return_inverse=True)
    of_part = np.full(len(shows), _NONE, np.int64)
    of_part[shows] = which
    rows = np.repeat(np.arange(len(lists)), counts)[used]
    return _Images(rows, lists.flatten().take(pa.array(used))), of_part


def _addresses(config: InterleavedConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The pages that show pictures, and the key of each address of these."""
    images, _ = _images(config, batch, _parts(config, batch))
    keys, places = image_keys(images.items)
    there = keys.is_valid()
    return images.rows[places][there.to_numpy(zero_copy_only=False)], keys.filter(there)


def wanted_keys(config: InterleavedConfig, batch: pa.RecordBatch) -> pa.Array:
    """For each page, the keys of its pictures, and those by which pages that show them are counted."""
    _, keys = _addresses(config, batch)
    return pa.concat_arrays([keys, of_kind(keys, SHOWING)])


def offered_keys(config: InterleavedConfig, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """Rows with a medium and an address offer this, pages those of the pictures that they show."""
    rows, keys = _addresses(config, batch)
    having = np.flatnonzero(lengths_of(batch.column(MEDIA)) > 0)
    own = keys_of(batch.column(URL).take(pa.array(having)), SHOWN)
    there = own.is_valid()
    held = having[there.to_numpy(zero_copy_only=False)]
    return np.concatenate([held, rows]), pa.concat_arrays([own.filter(there), of_kind(keys, SHOWING)])


def answers_for(config: InterleavedConfig, batch: pa.RecordBatch, rows: Ints, keys: pa.Array) -> pa.RecordBatch:
    """What is told of each row that has a picture; of pages, which only count, no medium."""
    del keys
    first = pc.list_slice(batch.column(MEDIA), 0, 1).cast(_ONE)
    columns = [batch.column(name).cast(pa.string()) for name in (SOURCE, URL)]
    facts = [_of_first(batch.column(name)) for name in config.facts]
    lists = pa.FixedSizeListArray.from_arrays(_interleave(facts, len(batch)), max(len(facts), 1)).cast(_FACTS)
    columns = [*columns, first, lists]
    return pa.RecordBatch.from_arrays([one.take(pa.array(rows)) for one in columns], schema=ANSWER_COLUMNS)


def _numbers(column: pa.Array) -> pa.Array:
    """Numbers, or booleans as 0 and 1; RecipeError for anything else."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8()).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False)
    raise RecipeError(f"{LAYER}: facts are numbers or booleans, not {kind}")


def _of_first(column: pa.Array) -> pa.Array:
    """The number of each row's first medium, or the row's own where the column is no list."""
    if not pa.types.is_list(column.type):
        return _numbers(column)
    counts = lengths_of(column)
    first = pa.array(np.cumsum(counts) - counts, mask=counts == 0)
    return _numbers(column.flatten()).take(first)


def _interleave(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """The values of several columns, row by row; a null for each row if there are none."""
    if not columns:
        return pa.nulls(count, pa.float64())
    order = np.arange(count * len(columns)).reshape(len(columns), count).T.reshape(-1)
    return pa.concat_arrays(columns).take(pa.array(order))


def load_shard(config: InterleavedConfig, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from the rows that have its pictures."""
    return lambda batch: _layer(config, batch, answers)


class _Nodes(NamedTuple):
    """Nodes of some rows."""

    rows: Ints
    kinds: pa.Array
    starts: Ints  # -1 for media
    ends: Ints
    items: Ints  # -1 for texts
    images: Ints


class _Items(NamedTuple):
    """The pictures of other rows that some pages show: by page, in the order of their first nodes."""

    rows: Ints
    answers: Ints  # which answer names each
    pages: Ints


def _layer(config: InterleavedConfig, batch: pa.RecordBatch, answers: pa.RecordBatch) -> pa.RecordBatch:
    parts = _parts(config, batch)
    placed, items, missing = _placed(config, batch, parts, answers)
    pages = np.zeros(len(batch), np.bool_)
    pages[parts.rows] = True
    nodes = _sorted([placed, _unplaced(batch, pages)])
    texts, pictures = (
        np.bincount(nodes.rows[np.asarray(pc.equal(nodes.kinds, kind), np.bool_)], minlength=len(batch))
        for kind in (TEXT_NODE, "image")
    )
    empty = np.bincount(nodes.rows, minlength=len(batch)) == 0
    struct = pa.StructArray.from_arrays(
        [nodes.kinds, *(pa.array(one, pa.int32(), mask=one < 0) for one in nodes[2:])], fields=list(NODE)
    )
    columns: dict[str, pa.Array] = {
        STATUS.name: pc.if_else(pa.array(empty), NO_TEXT, "ok"),
        "nodes": _lists(nodes.rows, struct, len(batch), empty).cast(NODES),
        **_of_media(config, batch, items, answers, empty),
        **{
            name: pa.array(values, pa.int32(), mask=empty)
            for name, values in (("texts", texts), ("pictures", pictures), ("missing", missing))
        },
    }
    schema = writes(config)
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _placed(
    config: InterleavedConfig, batch: pa.RecordBatch, parts: _Parts, answers: pa.RecordBatch
) -> tuple[_Nodes, _Items, Ints]:
    """The nodes of pages, the pictures that they show, and of each row how many the store lacks."""
    images, of_part = _images(config, batch, parts)
    answer, pages = _found(images.items, answers)
    shown = np.where(of_part >= 0, np.append(answer, _NONE)[of_part], _NONE)
    lacks = (parts.images >= 0) & (shown < 0)
    missing = np.bincount(parts.rows[lacks], minlength=len(batch))
    stay = ~lacks
    left = np.cumsum(lacks)[stay]
    rows, shown, of_part = parts.rows[stay], shown[stay], of_part[stay]
    starts, ends, numbers = parts.starts[stay], parts.ends[stay], parts.images[stay]
    is_text = shown < 0
    joins = np.zeros(len(rows), np.bool_)  # a text behind a text of the same page
    joins[1:] = is_text[1:] & is_text[:-1] & (rows[1:] == rows[:-1])
    joins[1:] &= (left[1:] == left[:-1]) | (starts[1:] - ends[:-1] <= MOST_BETWEEN)
    first = np.flatnonzero(~joins)
    last = np.append(first[1:], len(rows))[: len(first)] - 1
    items, which = _numbered(rows[~is_text], shown[~is_text], pages[of_part[~is_text]])
    item = np.full(len(rows), _NONE, np.int64)
    item[~is_text] = which
    texts = is_text[first]
    kinds = pc.if_else(pa.array(texts), TEXT_NODE, "image").cast(pa.string())
    nodes = _Nodes(
        rows[first],
        kinds,
        np.where(texts, starts[first], _NONE),
        np.where(texts, ends[last], _NONE),
        item[first],
        np.where(texts, _NONE, numbers[first]),
    )
    return nodes, items, missing


def _found(images: pa.StructArray, answers: pa.RecordBatch) -> tuple[Ints, Ints]:
    """Of each image, the answer that names its picture, or -1, and how many pages show that address."""
    keys, places = image_keys(images)
    at = pc.fill_null(pc.index_in(keys, value_set=answers.column("key")), _NONE)
    at = at.to_numpy(zero_copy_only=False).astype(np.int64)
    hits = np.flatnonzero(at >= 0)
    found, first = np.unique(places[hits], return_index=True)  # of several addresses the first that a row has
    hits = hits[first]
    answer, pages = np.full(len(images), _NONE, np.int64), np.zeros(len(images), np.int64)
    answer[found] = at[hits]
    counting = pc.index_in(of_kind(keys.take(pa.array(hits)), SHOWING), value_set=answers.column("key"))
    pages[found] = answers.column("total").take(counting).to_numpy(zero_copy_only=False)
    return answer, pages


def _numbered(rows: Ints, answers: Ints, pages: Ints) -> tuple[_Items, Ints]:
    """The distinct pictures of each page by their first nodes, and the number of each node's picture in its page."""
    pairs = np.stack([rows, answers], axis=1)
    _, first, which = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by page, and there by the first node, as nodes are in order
    firsts = first[order]
    of_pages = rows[firsts]
    starts = np.searchsorted(of_pages, of_pages)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first)) - starts
    return _Items(of_pages, answers[firsts], pages[firsts]), rank[which.reshape(-1)]


def _unplaced(batch: pa.RecordBatch, pages: NDArray[np.bool_]) -> _Nodes:
    """Of rows that are no pages: their media, then their text."""
    media = batch.column(MEDIA)
    counts = lengths_of(media)
    owners = np.repeat(np.arange(len(media)), counts)
    types = pc.list_element(pc.split_pattern(pc.struct_field(media.flatten(), "mime"), "/", max_splits=1), 0)
    known = pc.is_in(types, value_set=pa.array(["image", "video", "audio"]))
    sizes = pc.fill_null(pc.binary_length(batch.column(TEXT)), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = np.flatnonzero((sizes > 0) & ~pages)
    nothing, of_media = np.full(len(texts), _NONE, np.int64), np.full(len(owners), _NONE, np.int64)
    return _Nodes(
        np.concatenate([owners, texts]),
        pa.concat_arrays(
            [pc.if_else(known, types, "other").cast(pa.string()), pa.array([TEXT_NODE] * len(texts), pa.string())]
        ),
        np.concatenate([of_media, np.zeros(len(texts), np.int64)]),
        np.concatenate([of_media, sizes[texts]]),
        np.concatenate([np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts), nothing]),
        np.concatenate([of_media, nothing]),
    )


def _sorted(parts: list[_Nodes]) -> _Nodes:
    """The nodes of several groups of rows, by row; those of a row stay in their order."""
    rows = np.concatenate([one.rows for one in parts])
    order = np.argsort(rows, kind="stable")
    kinds = pa.concat_arrays([one.kinds for one in parts]).take(pa.array(order))
    numbers = (np.concatenate([one[column] for one in parts])[order] for column in range(2, len(_Nodes._fields)))
    return _Nodes(rows[order], kinds, *numbers)


def _of_media(
    config: InterleavedConfig, batch: pa.RecordBatch, items: _Items, answers: pa.RecordBatch, empty: NDArray[np.bool_]
) -> dict[str, pa.Array]:
    """The columns with a value for each medium: those of pages' pictures, or the row's own."""
    own = batch.column(MEDIA).cast(_ONE)
    counts = lengths_of(own)
    taken = pa.array(items.answers)
    shown = answers.column("media").take(taken).flatten()
    ids = [one.hex() for one in answers.column("id").take(taken).to_pylist()]
    rows = np.concatenate([items.rows, np.repeat(np.arange(len(own)), counts)])
    order = pa.array(np.argsort(rows, kind="stable"))
    rows = np.sort(rows)
    media = pa.concat_arrays([shown, own.flatten()])
    nulls = len(rows) - len(items.rows)
    sides = [pc.cast(pc.struct_field(media, name), pa.int32()) for name in ("width", "height")]
    both = pc.and_(pc.is_valid(sides[0]), pc.is_valid(sides[1]))
    shorter, longer = (pc.if_else(both, side(*sides), None) for side in (pc.min_element_wise, pc.max_element_wise))
    aspect = pc.divide(longer.cast(pa.float64()), pc.if_else(pc.greater(shorter, 0), shorter, None))
    values = {
        "sources": pa.concat_arrays([answers.column("source").take(taken), pa.nulls(nulls, pa.string())]),
        "samples": pa.array([*ids, *([None] * nulls)], pa.string()),
        "urls": pa.concat_arrays([answers.column("url").take(taken), pa.nulls(nulls, pa.string())]),
        "pages": pa.concat_arrays([pa.array(items.pages, pa.int64()), pa.nulls(nulls, pa.int64())]),
        "shorter": shorter,
        "longer": longer,
        "aspect": aspect,
        "bytes": pc.struct_field(media, "bytes"),
    }
    facts = answers.column("facts").take(taken).flatten()
    for number, name in enumerate(config.facts):
        shown_facts = facts.take(pa.array(np.arange(number, len(facts), len(config.facts))))
        values[fact_name(name)] = pa.concat_arrays([shown_facts, _of_own(batch.column(name), counts)])
    lists = {name: _lists(rows, column.take(order), len(batch), empty) for name, column in values.items()}
    return {"media": _lists(items.rows, shown, len(batch), empty | (counts > 0)), **lists}


def _of_own(column: pa.Array, counts: Ints) -> pa.Array:
    """The number of each of the rows' own media; null where a row has other numbers of values."""
    owners = np.repeat(np.arange(len(column)), counts)
    if not pa.types.is_list(column.type):
        return _numbers(column).take(pa.array(owners))
    own = lengths_of(column)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = pa.array((np.cumsum(own) - own)[owners] + within, mask=(own != counts)[owners])
    return _numbers(column.flatten()).take(at)


def _lists(rows: Ints, values: pa.Array, count: int, null: NDArray[np.bool_]) -> pa.ListArray:
    """Values, which are by row, as a list for each row; rows of `null` have none."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(null))


def _load(config: InterleavedConfig, _assets: Assets) -> Kernel:
    return load_shard(config, pa.RecordBatch.from_pylist([], schema=pa.schema([*ANSWERS, *ANSWER_COLUMNS])))


OPERATOR = TextOperator(
    name=LAYER,
    version=1,
    summary="a document's texts and pictures in reading order, those of other rows by their addresses",
    config=InterleavedConfig,
    reads=lambda config: tuple(dict.fromkeys((TEXT, *_columns(config), URL, SOURCE, MEDIA, *config.facts))),
    writes=writes,
    load=_load,
    lookup=RowLookup(
        max_answers=lambda _: 1,  # the row with the smallest id has the picture
        wanted_keys=wanted_keys,
        offered_keys=offered_keys,
        answers_for=answers_for,
        answer_columns=ANSWER_COLUMNS,
        load=load_shard,
    ),
    needs=(),
    as_written=True,
)
