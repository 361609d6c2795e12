"""Columns of a store in memory, as far as the page has asked for them: a value for each row of the frame.

Their values are exact and of the store's own types, so that conditions over them decide as `winnow plan` does. Columns
of long texts are not kept: who needs them reads the store.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, column_of
from winnow.pipelines.rules.map_shards import THREADS
from winnow.pipelines.rules.pinning import PinnedShards
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import map_in_order, table_threads
from winnow.runners.inspect.frame import Frame, packs_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block, Part, PartReader
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.problems import suggestion

CHUNK_ROWS: Final = 1 << 18
MOST_TEXT_BYTES: Final = 24  # of a row, on average: codes and names, no texts
FEW_ROWS: Final = 16_384  # of which any text is kept

Span = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """The values of one column, in chunks of whole shards; null for forgotten rows."""

    held: tuple[pa.Array, ...]  # few different texts as numbers of them
    is_long: bool = False  # it holds long texts, so nothing is held

    @property
    def nbytes(self) -> int:
        """The bytes of its values."""
        return sum(chunk.nbytes for chunk in self.held)

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return _plain_type(self.held[0].type) if self.held else pa.null()

    @property
    def chunks(self) -> Iterator[pa.Array]:
        """The values, a chunk after the other."""
        return map(self.chunk, range(len(self.held)))

    def chunk(self, number: int) -> pa.Array:
        """The values of one chunk."""
        return plain(self.held[number])

    def some(self, number: int, rows: NDArray[np.integer[Any]]) -> pa.Array:
        """The values of some rows of a chunk."""
        return plain(self.held[number].take(pa.array(rows)))


def plain(values: pa.Array) -> pa.Array:
    """Values that are not numbered."""
    return values.dictionary.take(values.indices) if pa.types.is_dictionary(values.type) else values


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def chunks_of(frame: Frame) -> tuple[Span, ...]:
    """The rows of each chunk, as their first and the one after their last."""
    bounds = [0]
    for end in (part.start + part.rows for part in frame.parts):
        if end - bounds[-1] >= CHUNK_ROWS or end == frame.rows:
            bounds.append(end)
    return tuple(span for span in pairwise(bounds) if span[0] < span[1])


def measure_of(opened: Opened, frame: Frame, column: Column) -> Measure:
    """The values of a column, read from the store when they are first asked for."""
    return opened.kept.get(("measure", column.name), lambda: _read(opened, frame, column))


def numbers_of(opened: Opened, frame: Frame, name: str) -> Measure:
    """The numbers of a column, or lists of them; AskedError for a column of anything else, or of lists too long to be
    held."""
    column, kind = find_column(opened, name), opened.tables.columns[name]
    of = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    if not (pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_boolean(of)):
        raise AskedError(f"{name} is {kind}, which has no ranges and no order; choose a column of numbers")
    return held_measure(opened, frame, column)


def held_measure(opened: Opened, frame: Frame, column: Column) -> Measure:
    """The values of a column that are in memory; AskedError if they are too long for that."""
    measure = measure_of(opened, frame, column)
    if measure.is_long:
        raise AskedError(f"{column.name} has values too long to be compared here; choose a column of numbers or names")
    return measure


def find_column(opened: Opened, name: str) -> Column:
    """The column of a dotted name; UnavailableError, with the nearest name or the command to run, if there is none."""
    column = column_of(name, frame_layers(opened))
    if column is not None and name in opened.tables.columns:
        return column
    known = set(opened.tables.columns)
    raise UnavailableError(f"the store has no column {name}{suggestion(name, known)}")


def frame_layers(opened: Opened) -> tuple[str, ...]:
    """The layers that every shard has."""
    generation = opened.generation
    return tuple(layer for layer in generation.layers if layer not in generation.partial)


def with_layers(opened: Opened, frame: Frame, layers: Iterable[str]) -> PinnedShards:
    """The frame's shards with the objects of these layers, too; UnavailableError if a shard lacks one."""
    wanted = dict.fromkeys(layers)
    there = frame_layers(opened)
    for layer in wanted:
        if layer not in there:
            recipe = "RECIPE" if opened.recipe is None else opened.recipe.file
            raise UnavailableError(f"not every shard has the layer {layer} yet; run: winnow run {recipe}")
    had = frame.shards
    more = {layer: opened.store.manifest(opened.generation, layer) for layer in wanted if layer not in had.layers}
    return replace(had, layers={**had.layers, **more}) if more else had


def map_blocks(
    opened: Opened, frame: Frame, columns: Sequence[Column], work: Callable[[int, Block], T]
) -> Iterator[tuple[Part, list[T]]]:
    """What `work` makes of the columns of all rows, some at a time and several parts at once, in the order of parts.

    It is given the number of the first of its rows. Forgotten rows are read as those that a purge makes of them.
    UnavailableError if not every shard has a column's layer.
    """
    shards = with_layers(opened, frame, [layout.SAMPLES, *(column.layer for column in columns)])
    reader = PartReader(opened.store.objects, shards, packs_of(opened))

    def of_part(part: Part) -> list[T]:
        at, found = part.start, []
        for block in reader.blocks(part, columns):
            found.append(work(at, block))
            at += len(next(iter(block.values())))
        return found

    threads = table_threads(opened.store.objects, THREADS)
    yield from zip(frame.parts, map_in_order(of_part, frame.parts, threads), strict=True)


def _read(opened: Opened, frame: Frame, column: Column) -> Measure:
    spans = chunks_of(frame)
    parts: list[list[pa.Array]] = [[] for _ in spans]
    ends = [end for _, end in spans]
    for part, blocks in map_blocks(opened, frame, [column], lambda _, block: block[column.name]):
        if part.rows:
            values = pa.concat_arrays(blocks)
            if _has_bytes(values.type) and values.nbytes > MOST_TEXT_BYTES * max(FEW_ROWS, len(values)):
                return Measure((), is_long=True)
            parts[int(np.searchsorted(ends, part.start, side="right"))].append(values)
    held = tuple(_numbered(pa.concat_arrays(some)) for some in parts)
    pa.default_memory_pool().release_unused()
    return Measure(held)


def _numbered(values: pa.Array) -> pa.Array:
    """Texts as numbers of the different ones, if there are few."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    coded = values.dictionary_encode()
    kind = next((kind for kind in (pa.int8(), pa.int16()) if len(coded.dictionary) < 1 << kind.bit_width - 1), None)
    return values if kind is None else pa.DictionaryArray.from_arrays(coded.indices.cast(kind), coded.dictionary)


def _has_bytes(kind: pa.DataType) -> bool:
    return not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind))
