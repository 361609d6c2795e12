"""The base of a source format: everything that winnow knows about files of one format, in one object."""

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, Final, Literal, TypeAlias

import pyarrow as pa

from winnow.filters.web.sniff import DetectedType
from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import codec_of
from winnow.pipelines.ingest.records import Reader, ReadLimits, Unreadable
from winnow.pipelines.ingest.sections import section, until_enough
from winnow.pipelines.ingest.tables.arrow_tables import SchemaTable, columns_of_schema
from winnow.pipelines.ingest.tables.cells import Cells
from winnow.pipelines.ingest.tables.columns import ColumnMapping, Columns, columns_of_rows
from winnow.pipelines.ingest.tables.plain_rows import Parse, ParsedRow
from winnow.pipelines.ingest.tiling.claims import Claim, check_remains, check_rows
from winnow.schemas.identity import Json
from winnow.schemas.recipe import ColumnNames, SourceConfig
from winnow.schemas.records import FilePart

Split: TypeAlias = Literal["anywhere", "groups", "members", "nowhere"]
"""Where a part of a file may begin: at any byte; at groups of rows; at members of a compressed file; at its start."""

MediaPlace: TypeAlias = Literal["plain", "cells", "records"]
"""How a medium is found again: as a range of the file's bytes; as a value of a row; or by reading its record."""

COMPRESSED: Final = r"(\.gz|\.zst)?"

_DAMAGED: Final = frozenset({"corrupt_member", "truncated"})
"""Reasons of what a decompressor does not read."""


@dataclass(frozen=True, slots=True)
class TableHead:
    """The beginning of a table: its first rows or its schema, or why there are none."""

    rows: Sequence[Mapping[str, Json]] = ()
    schema: pa.Schema | None = None
    problem: str = ""

    def columns(self, mapping: ColumnMapping) -> Columns | None:
        """Its columns; None if nothing tells them."""
        if self.schema is not None:
            return columns_of_schema(self.schema, mapping)
        return columns_of_rows(self.rows, mapping)


@dataclass(frozen=True, slots=True)
class HowRead:
    """How a file is to be read."""

    path: str
    columns: ColumnMapping
    checked: bool  # a table of another schema is refused, instead of its rows being quarantined
    with_referrers: bool  # captures have what records beside them say, which single records have no need of


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file, seekable."""

    stream: BinaryIO
    path: str
    size: int
    limits: ReadLimits


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceFormat:
    """A format of source files, with all that ingest, plan, audit, look and init need to know of it."""

    name: str  # in recipes
    aliases: tuple[str, ...] = ()
    container: str = ""  # of its records, if not its name; files of one container are taken to be alike
    called: str  # in "the file is a tar, not WARC"
    content: str  # what `look` says that a source of such files has
    version: int = 0
    """Of another package's format: goes up whenever the same bytes would give other rows."""

    endings: str = ""  # of names: a regular expression
    marks: tuple[tuple[int, bytes], ...] = ()  # bytes at a place that show the format beyond doubt
    holds: Callable[[DetectedType], bool] | None = None  # whether a file without an ending is of this format
    is_auto: bool = False
    """Whether `format: auto` reads files by these endings. Never of another package: no store depends on what else is
    installed."""
    unread: tuple[str, str] = ("", "")  # endings of files that are not read, and why

    reader: Callable[[HowRead], Reader]
    """The ranges of a reader's events tile the part it is given, every refusal has a reason of
    `winnow.pipelines.ingest.records`, and content never makes it raise."""
    split: Split | Literal["lines"] = "anywhere"  # lines are split at members where they are compressed
    table: Callable[[BinaryIO, int, ReadLimits], SchemaTable | str] | None = None
    """Of tables with a schema: opens one, or says why it cannot be read."""
    rows: Parse | None = None
    """Of other tables: the rows of a part, and what lies between them."""
    no_rows: Callable[[bytes], str] = "".format  # why there are none, by the first bytes
    count: Callable[[BinaryIO], int | None] | None = None
    """The records of a file, without code of the reader; None if it cannot be read."""
    tile: Callable[[OpenFile, list[Claim]], list[str]] | None = None
    """What is wrong with the claims on a file, from the file alone, where ranges and the count do not tell (law 3)."""

    is_one_record: bool = False  # whether each file is a record
    is_text: bool = False  # whether text is no longer than the decompressed file, character sets aside
    is_of_web: bool = False  # whether it holds pages
    has_sidecars: bool = False  # whether files and tables beside a file describe it
    has_table_beside: bool = False  # whether a table with a file's own name may repeat what it holds
    media: MediaPlace = "records"
    shows: Literal["image", "video", "any"] | None = None  # media that records may hold without a column for them

    own_keys: str = ""  # why a recipe names no key
    on_repeated_key: str = ""  # what may be done
    refuses: Callable[[SourceConfig], str] | None = None  # what else a source says that is not for this format

    def __post_init__(self) -> None:
        object.__setattr__(self, "container", self.container or self.name)

    @property
    def has_columns(self) -> bool:
        """Whether records are rows, of which a recipe names `key` and `columns`."""
        return self.table is not None or self.rows is not None

    @property
    def has_captures(self) -> bool:
        """Whether it is an archive of crawls."""
        return self.is_of_web and not self.is_one_record

    @property
    def in_recipe(self) -> str:
        """The value of `format` in a recipe for its files."""
        return "auto" if self.is_auto else self.name

    def ending(self, path: str) -> str:
        """The end of a name by which it is known; empty if it is not."""
        found = re.search(rf"({self.endings})$", path, re.IGNORECASE) if self.endings else None
        return found[0] if found else ""

    def why_not(self, path: str) -> str:
        """Why a file with such a name is not read, and what to do; empty if it is."""
        endings, why = self.unread
        return why if why and re.search(rf"({endings})$", path, re.IGNORECASE) else ""

    def split_of(self, stream: BinaryIO) -> Split:
        """Where parts of an open file may begin."""
        if self.split != "lines":
            return self.split
        return "anywhere" if codec_of(read_range(stream, 0, 8)) is None else "members"

    def split_by_name(self, path: str) -> Split:
        """The same, as far as a file's name tells."""
        return self.split if self.split != "lines" else "members" if compression_of(path) else "anywhere"

    def head(self, file: OpenFile, most_rows: int, most_bytes: int) -> TableHead:
        """The beginning of a table."""
        if self.table is not None:
            found = self.table(file.stream, file.size, file.limits)
            return TableHead(problem=found) if isinstance(found, str) else TableHead(schema=found.schema)
        assert self.rows is not None
        size = min(file.size, most_bytes)
        part = FilePart(file.path, size, 0, size)
        parsed = list(until_enough(islice(self.rows(section(file.stream, 0, size), part, file.limits), most_rows)))
        rows = [one.values for one in parsed if isinstance(one, ParsedRow)]
        if rows:
            return TableHead(rows)
        beginning = read_range(file.stream, 0, 64)
        reasons = {one.reason for one in parsed if isinstance(one, Unreadable)}
        if size == file.size and codec_of(beginning) is not None and reasons & _DAMAGED:
            return TableHead(problem="no rows can be read: the compressed data are damaged or cut; fetch them again")
        if "bad_utf8" in reasons:
            encoding = "UTF-16" if beginning[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} else "LATIN1"
            example = f"iconv -f {encoding} -t UTF-8"
            return TableHead(problem=f"no rows can be read: it is not UTF-8; convert it, for example with `{example}`")
        return TableHead(problem=self.no_rows(beginning))

    def groups(self, file: OpenFile) -> list[tuple[int, int]]:
        """Where groups of rows begin and how many rows they have; none if the table cannot be read."""
        found = "" if self.table is None else self.table(file.stream, file.size, file.limits)
        return [] if isinstance(found, str) else list(zip(found.starts, found.rows, strict=True))

    def cells(self, file: OpenFile) -> Cells | None:
        """The media of a table; None if it cannot be read."""
        found = "" if self.table is None else self.table(file.stream, file.size, file.limits)
        return None if isinstance(found, str) else Cells(found)

    def check_claims(self, file: OpenFile, claims: list[Claim]) -> list[str]:
        """Lists what is wrong with the claims on a file; empty if they make it up."""
        if self.tile is not None:
            return self.tile(file, claims)
        remains = check_remains(claims, file.size)
        counted = None if self.count is None else self.count(file.stream)
        return check_rows(claims, counted, file.size) if remains is None else remains

    def refused_settings(self, source: SourceConfig) -> str:
        """Settings of a source that do not fit this format; empty if there are none."""
        if self.refuses is not None and (why := self.refuses(source)):
            return why
        if source.clips is not None and self.container != "clips":
            return CLIPS_APART
        if self.own_keys:
            return "" if source.key is None else f"'key' is not for {source.format}: {self.own_keys}"
        if self.has_columns:
            return refused_columns(source.columns)
        given = {"key": source.key is not None, "columns": source.columns != ColumnNames()}
        wrong = next((setting for setting, is_given in given.items() if is_given), None)
        tables = "formats with columns, such as jsonl, csv, parquet and arrow"
        return "" if wrong is None else f"'{wrong}' is only for {tables}; the format is {source.format}"


CLIPS_APART: Final = "'clips' and 'format: clips' belong together: write clips: {} for the defaults"


def refused_columns(columns: ColumnNames) -> str:
    """What the columns of a table lack beside them; empty if nothing."""
    if columns.captions is not None and columns.media is None:
        return "'columns.captions' needs 'columns.media', the column that holds or names the media"
    if columns.language is not None and columns.captions is None:
        return "'columns.language' needs 'columns.captions', the column whose language it is"
    return ""


def compression_of(path: str) -> str:
    """The compression that a file's name declares: gz, zst or none."""
    found = re.search(r"\.(gz|zst)$", path, re.IGNORECASE)
    return found[1].lower() if found else ""
