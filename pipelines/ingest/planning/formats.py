"""Chooses a file's reader by the recipe's `format`, else by the file's extension. Readers detect compression."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from winnow.pipelines.ingest.archives.arc import read_arc
from winnow.pipelines.ingest.archives.referrers import TiedReader
from winnow.pipelines.ingest.archives.tar_samples import TarReader
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.boundary import GuardedReader
from winnow.pipelines.ingest.caption_tables import caption_table_reader, is_caption_table
from winnow.pipelines.ingest.files import FilesReader
from winnow.pipelines.ingest.records import Reader
from winnow.pipelines.ingest.sidecars import BESIDE
from winnow.pipelines.ingest.tables.arrow import ArrowReader
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.csv_rows import CsvReader
from winnow.pipelines.ingest.tables.jsonl import JsonlReader
from winnow.pipelines.ingest.tables.parquet import ParquetReader

Kind: TypeAlias = Literal["warc", "arc", "jsonl", "csv", "parquet", "arrow", "tar", "file", "clips"]

TABLES = frozenset({"jsonl", "csv", "parquet", "arrow"})  # kinds whose rows have the columns that a recipe names

ARCHIVES = frozenset({"warc", "arc", "tar"})

HEAD_BYTES = 512  # of a file, by which its content is known
_MARKS: tuple[tuple[Kind, int, bytes], ...] = (
    ("parquet", 0, b"PAR1"),
    ("arrow", 0, b"ARROW1"),
    ("warc", 0, b"WARC/"),
    ("arc", 0, b"filedesc://"),
    ("tar", 257, b"ustar"),
    ("jsonl", 0, b'{"'),
)
NAMES: Mapping[Kind | None, str] = {
    "parquet": "Parquet",
    "arrow": "Arrow",
    "warc": "WARC",
    "arc": "ARC",
    "tar": "a tar",
    "jsonl": "JSON lines",
    "csv": "CSV",
}

MEDIA_FOLDERS = frozenset({"image_folder", "video_folder"})  # formats of media with sidecars beside them

_ENDINGS: tuple[tuple[Kind, str], ...] = (
    ("arc", r"\.arc(\.gz|\.zst)?"),
    ("warc", r"\.(warc|wet|wat)(\.gz|\.zst)?"),  # also *.warc.wet.gz
    ("jsonl", r"\.(jsonl|ndjson|json)(\.gz|\.zst)?"),
    ("csv", r"\.(csv|tsv)(\.gz|\.zst)?"),
    ("parquet", r"\.(parquet|pq)"),
    ("arrow", r"\.(arrow|arrows|feather|ipc)"),
    ("tar", r"\.(tar(\.(gz|zst|bz2|xz))?|tgz)"),
)
_BY_FORMAT: dict[str, Kind] = {
    "warc": "warc",
    "wet": "warc",
    "arc": "arc",
    "jsonl": "jsonl",
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "webdataset": "tar",
    "image_folder": "file",
    "video_folder": "file",
    "html": "file",
    "text": "file",
    "clips": "clips",
}


def kind_of(format_name: str, path: str) -> Kind:
    """The kind of reader for a file; one with an unknown extension is one record, sniffed like any other."""
    if format_name != "auto":
        return _BY_FORMAT[format_name]
    for kind, ending in _ENDINGS:
        if re.search(ending + r"$", path, re.IGNORECASE):
            return kind
    return "file"


def content_of(head: bytes) -> Kind | None:
    """The kind that a file's first bytes show beyond doubt; None if they may be of any."""
    return next((kind for kind, at, mark in _MARKS if head.startswith(mark, at)), None)


def ending_of(path: str) -> str:
    """The ending by which a file is known to be of a kind, such as `.jsonl.gz`; empty if there is none."""
    matches = (re.search(rf"({ending})$", path, re.IGNORECASE) for _, ending in _ENDINGS)
    return next((found[0] for found in matches if found), "")


def compression_of(path: str) -> str:
    """The compression that a file's name declares: gz, zst or none."""
    found = re.search(r"\.(gz|zst)$", path, re.IGNORECASE)
    return found[1].lower() if found else ""


def is_compressed_tar(format_name: str, path: str) -> bool:
    """Whether a file's name says that it is a tar whose members have no ranges of their own in the file."""
    return kind_of(format_name, path) == "tar" and re.search(r"(\.tgz|\.tar\.\w+)$", path, re.IGNORECASE) is not None


def container_reader(
    format_name: str, path: str, columns: ColumnMapping, *, checked: bool = True, tied: bool = False
) -> Reader:
    """Creates the reader of a file, which quarantines what it cannot read for whatever reason.

    Args:
        format_name: The source's format.
        path: The file.
        columns: The columns of tables.
        checked: Refuse a table of another schema, instead of quarantining its rows.
        tied: Read with captures of an archive what records beside them say, which single records have no need of.
    """
    return GuardedReader(_reader(kind_of(format_name, path), format_name, path, columns, checked, tied))


def _reader(kind: Kind, format_name: str, path: str, columns: ColumnMapping, checked: bool, tied: bool) -> Reader:
    if kind == "warc":
        return TiedReader(read_warc) if tied else read_warc
    if kind == "arc":
        return read_arc
    if kind == "jsonl":
        return JsonlReader(columns, checked)
    if kind == "csv":
        return CsvReader(columns, checked)
    if kind == "parquet":
        return ParquetReader(columns, checked)
    if kind == "arrow":
        return ArrowReader(columns, checked)
    if kind == "tar":
        return TarReader(columns)
    if format_name in MEDIA_FOLDERS and is_caption_table(path):
        return caption_table_reader(path, columns)
    return FilesReader(BESIDE if format_name in MEDIA_FOLDERS else ())
