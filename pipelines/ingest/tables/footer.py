"""Parses a Parquet footer: its leaf columns, and the positions of its row groups' chunks.

pyarrow is not used because its accessors of chunk metadata crash the process on some footers, and
its schema builder recurses to any depth in the footer. The structures are those of parquet-format's
`FileMetaData`; unneeded fields are skipped.
"""

from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.ingest.tables.thrift import STRUCT, BadThriftError, Compact

MAX_SCHEMA_DEPTH: Final = 128  # a list takes two levels of it

BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 6, 7

_REPEATED = 2


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column of the schema."""

    path: str
    physical: int
    repeated: bool  # it is a list or lies inside one


@dataclass(frozen=True, slots=True)
class Chunk:
    """The values of one leaf in one row group."""

    start: int
    end: int
    values: int


@dataclass(slots=True)
class RowGroup:
    """A row group, with one chunk per leaf, in leaf order."""

    rows: int = -1
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def start(self) -> int:
        """The position of its first byte."""
        return min((chunk.start for chunk in self.chunks), default=0)


@dataclass(slots=True)
class Footer:
    """A self-consistent footer."""

    rows: int
    leaves: list[Leaf]
    groups: list[RowGroup]


@dataclass(slots=True)
class _Element:
    name: str = ""
    physical: int = -1
    repetition: int = 0
    children: int = 0


def parse_footer(raw: bytes) -> Footer:
    """Parses a footer; BadThriftError says in one line what is wrong."""
    thrift = Compact(raw)
    rows: int | None = None
    elements: list[_Element] = []
    groups: list[RowGroup] = []
    for number, kind in thrift.fields():
        if number == 2:
            elements = [_element(thrift) for _ in range(thrift.items(kind, STRUCT))]
        elif number == 3:
            rows = thrift.integer(kind)
        elif number == 4:
            groups = [_row_group(thrift) for _ in range(thrift.items(kind, STRUCT))]
        else:
            thrift.skip(kind)
    leaves = _leaves(elements)
    if rows is None or rows != sum(group.rows for group in groups) or any(group.rows < 0 for group in groups):
        raise BadThriftError(f"claims {rows} rows, its row groups {sum(group.rows for group in groups)}")
    if any(len(group.chunks) != len(leaves) for group in groups):
        raise BadThriftError(f"has {len(leaves)} leaf columns, a row group has another number")
    return Footer(rows, leaves, groups)


def _element(thrift: Compact) -> _Element:
    element = _Element()
    for number, kind in thrift.fields():
        if number == 1:
            element.physical = thrift.integer(kind)
        elif number == 3:
            element.repetition = thrift.integer(kind)
        elif number == 4:
            element.name = thrift.text(kind)
        elif number == 5:
            element.children = thrift.integer(kind)
        else:
            thrift.skip(kind)
    return element


def _row_group(thrift: Compact) -> RowGroup:
    group = RowGroup()
    for number, kind in thrift.fields():
        if number == 1:
            group.chunks = [_chunk(thrift) for _ in range(thrift.items(kind, STRUCT))]
        elif number == 3:
            group.rows = thrift.integer(kind)
        else:
            thrift.skip(kind)
    return group


def _chunk(thrift: Compact) -> Chunk:
    chunk: Chunk | None = None
    for number, kind in thrift.fields():
        if number == 3 and kind == STRUCT:
            chunk = _chunk_metadata(thrift)
        elif number in (1, 8, 9):
            raise BadThriftError("a column chunk lies in another file or is encrypted")
        else:
            thrift.skip(kind)
    if chunk is None:
        raise BadThriftError("a column chunk without metadata")
    return chunk


def _chunk_metadata(thrift: Compact) -> Chunk:
    values = packed = data = dictionary = None
    for number, kind in thrift.fields():
        if number == 5:
            values = thrift.integer(kind)
        elif number == 7:
            packed = thrift.integer(kind)
        elif number == 9:
            data = thrift.integer(kind)
        elif number == 11:
            dictionary = thrift.integer(kind)
        else:
            thrift.skip(kind)
    if values is None or packed is None or data is None:
        raise BadThriftError("a column chunk without size or place")
    start = data if dictionary is None or not 0 < dictionary < data else dictionary  # some writers say 0 for "none"
    return Chunk(start, start + packed, values)


def _leaves(elements: list[_Element]) -> list[Leaf]:
    """The leaf columns of a schema that is stored as a depth-first list of elements."""
    if not elements or elements[0].children < 0:
        raise BadThriftError("no schema")
    leaves: list[Leaf] = []
    open_groups = [(elements[0].children, "", False)]  # children left, path so far, whether inside a list
    for element in elements[1:]:
        while open_groups and open_groups[-1][0] == 0:
            open_groups.pop()
        if not open_groups:
            raise BadThriftError("a schema with an element too many")
        left, path, repeated = open_groups[-1]
        open_groups[-1] = (left - 1, path, repeated)
        path = f"{path}.{element.name}" if path else element.name
        repeated = repeated or element.repetition == _REPEATED
        if element.children > 0:
            open_groups.append((element.children, path, repeated))
            if len(open_groups) > MAX_SCHEMA_DEPTH:
                raise BadThriftError(f"a schema nested deeper than {MAX_SCHEMA_DEPTH}")
        elif element.physical >= 0:
            leaves.append(Leaf(path, element.physical, repeated))
    if any(left for left, _, _ in open_groups):
        raise BadThriftError("a schema with an element too few")
    return leaves
