"""Tables of captions in folders of media: `metadata.csv`, `.tsv` and `.jsonl`, as in Hugging Face's `imagefolder`.

A medium has the captions of all rows that name it, in tables of its folder and those above, the nearest first. If a
table is a file of the source, each of its rows is accounted for: it describes an existing file, or none.
"""

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Final, TypeAlias

from winnow.pipelines.ingest.files import NOT_THERE
from winnow.pipelines.ingest.records import Caption, Dropped, Reader, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.sidecars import CAPTION, distinct
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.csv_rows import CsvReader
from winnow.pipelines.ingest.tables.jsonl import JsonlReader
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

NAMES: Final = ("metadata.csv", "metadata.tsv", "metadata.jsonl")
TABLE_BYTES: Final = 16 << 20  # a task holds its content
FILE_NAME: Final = "file_name"  # the column, unless the recipe names one
DESCRIBED: Final = "described"

_HELD: Final = 8  # folders


Rows: TypeAlias = Mapping[str, list[Record]]
Tables: TypeAlias = Mapping[str, Rows]


def is_caption_table(path: str) -> bool:
    """Whether a file in a folder of media is a table of captions, by its name."""
    return path.rpartition("/")[2] in NAMES


def caption_table_reader(path: str, mapping: ColumnMapping) -> Reader:
    """The reader of such a table; captions are in the column `text`, unless the recipe names one."""
    names = replace(mapping, key=None, media=mapping.media or FILE_NAME, captions=mapping.captions or mapping.text)
    return JsonlReader(names) if path.endswith(".jsonl") else CsvReader(names)


def row_of_table(objects: ObjectStore, path: str, record: Record) -> Dropped | Unreadable:
    """The event for a row of the table at a path: the file that it names is a sample of its own."""
    folder = path[: path.rfind("/") + 1]
    names = [item.names or "" for item in record.items]
    if not names:
        return Unreadable(record.span, "missing_media", "the row names no file")
    flaw = next((item.flaw for item in record.items if item.flaw is not None), None)
    if flaw is not None:
        return flaw
    for name in names:
        if not name.startswith(folder) or name.startswith("/"):
            return Unreadable(record.span, "missing_media", f"{name}: not in or below the table's folder"[:200])
        if not objects.exists(name):
            return Unreadable(record.span, "missing_media", f"{name}: not there"[:200])
    return Dropped(record.span, DESCRIBED)


class CaptionTables:
    """The tables in a source's folders; some are cached, since files of a folder come together."""

    def __init__(self, objects: ObjectStore, mapping: ColumnMapping, limits: ReadLimits) -> None:
        self._objects, self._mapping, self._limits = objects, mapping, limits
        self._held: OrderedDict[str, Tables] = OrderedDict()

    def add(self, path: str, record: Record) -> None:
        """Adds the captions that the tables in its folder and above have of a medium.

        SourceError if a table is too large; OSError if one exists but cannot be read, perhaps temporarily.
        """
        captions, folder = [*record.captions], path
        while folder:
            folder = folder.rpartition("/")[0]
            for name, rows in self._tables(folder).items():
                described = rows.get(path, [])
                captions += [replace(caption, origin=name) for row in described for caption in _captions(row)]
                if described and described[0].metadata:
                    record.metadata.setdefault(name, described[0].metadata)
        record.captions = distinct(captions)

    def _tables(self, folder: str) -> Tables:
        """The tables of a folder."""
        if folder not in self._held:
            self._held[folder] = {name: rows for name in NAMES if (rows := self._rows(folder, name)) is not None}
            if len(self._held) > _HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(folder)
        return self._held[folder]

    def _rows(self, folder: str, name: str) -> Rows | None:
        """The rows of a table by the files that they name; None if it is not there."""
        path = f"{folder}/{name}" if folder else name
        try:
            stream = self._objects.open(path)
        except NOT_THERE:
            return None
        with closing(stream):
            size = stream.seek(0, 2)
            if size > TABLE_BYTES:
                raise SourceError(
                    f"{self._objects.root}/{path}: {size} bytes; captions beside pictures are read from tables of at "
                    f"most {TABLE_BYTES}: name it in 'files' of a source of its own, with "
                    "'columns: {media: file_name, captions: text}'"
                )
            rows: dict[str, list[Record]] = {}
            read = caption_table_reader(path, self._mapping)
            for event in read(stream, FilePart(path, size, 0, size), self._limits):
                if isinstance(event, Record):
                    for item in event.items:
                        rows.setdefault(item.names or "", []).append(event)
            return rows


def _captions(row: Record) -> tuple[Caption, ...]:
    """The captions of a row; those of a table without the column `text` are often called `caption`."""
    caption = row.metadata.get(CAPTION)
    return row.captions or ((Caption(caption),) if isinstance(caption, str) and caption else ())
