"""Guesses which column of a table holds the text, the key, the address, the media and their captions."""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from winnow.pipelines.ingest.boundary import failure, is_of_content
from winnow.pipelines.ingest.formats import format_by_name
from winnow.pipelines.ingest.formats.source_format import OpenFile, SourceFormat
from winnow.pipelines.ingest.media_names import PICTURES, VIDEOS, may_be_medium
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import ReadLimits, Record
from winnow.pipelines.ingest.rows import SourceRows
from winnow.pipelines.ingest.tables.arrow_tables import repeated_column
from winnow.pipelines.ingest.tables.columns import ColumnMapping, moment
from winnow.pipelines.preflight.sampler import Sampler
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json

FIRST_BYTES: Final = 1 << 20
FIRST_ROWS: Final = 200
LIMITS: Final = ReadLimits(max_body_bytes=4 << 20, max_member_bytes=64 << 20)

_TEXTS: Final = (
    *("text", "content", "body", "raw_content", "document", "article", "markdown", "story", "passage"),
    "sentence",
)
_KEYS: Final = ("id", "_id", "doc_id", "document_id", "docid", "uuid", "guid", "uid", "key")
_ADDRESSES: Final = ("url", "uri", "link", "source_url", "page_url", "target_uri", "permalink")
_TIMES: Final = (
    *("fetched_at", "crawl_date", "fetch_time", "timestamp", "date", "published", "published_at"),
    "created_at",
)
_MEDIA: Final = (
    *("image", "images", "img", "picture", "photo", "jpg", "png", "file_name", "filename"),
    *("image_path", "path", "video"),
)
_NAMED_AS_MEDIA: Final = frozenset(_MEDIA) | PICTURES | VIDEOS  # columns of bytes
_CAPTIONS: Final = ("caption", "captions", "alt", "alt_text", "alttext", "description", "title", "text")
_SAID_OF_MEDIA: Final = _CAPTIONS[:5]  # never the text of a document
_LANGUAGES: Final = ("language", "lang", "caption_language")
_MOST_ROWS_HAVE: Final = 0.5
_TRIED: Final = 4  # files named by a column that are looked for
_DESCRIBE_MEDIA: Final = frozenset({"width", "height", "similarity", "clip_similarity", "punsafe", "status", "phash"})
"""Columns that tables of pictures or videos have beside their addresses."""
_SHORTEST_TEXT: Final = 16  # characters, in the mean, of a column that is taken for the text by its values alone


@dataclass(frozen=True, slots=True)
class TableGuess:
    """What a table's columns seem to be."""

    columns: ColumnMapping | None  # None: nothing in it looks like a text or a medium
    names: tuple[str, ...]  # all columns
    problem: str = ""  # why its rows cannot be read
    media: tuple[str, ...] = ()  # files that its first rows name and that are there, from the folder of the source
    captions_alone: bool = False  # the text is what somebody said of media that are elsewhere

    @property
    def describes_shard(self) -> bool:
        """Whether it is a table about what a shard of the same name holds."""
        return {"key", "status"} <= set(self.names) and (self.columns is None or self.columns.media is None)

    def has(self, columns: ColumnMapping) -> bool:
        """Whether the table has all of these columns."""
        return all(column in self.names for role, column in columns.roles() if not columns.is_default(role))


def guess_columns(objects: ObjectStore, info: ObjectInfo) -> TableGuess:
    """Reads the first rows of a table and says what its columns seem to be."""
    of = format_by_name(info.path)
    if of is None or not of.has_columns:
        return TableGuess(None, (), "no table by its name")
    try:
        with closing(objects.open(info.path)) as stream:
            head = of.head(OpenFile(stream, info.path, info.size, LIMITS), FIRST_ROWS, FIRST_BYTES)
            if head.problem:
                return TableGuess(None, (), head.problem)
            rows, schema = head.rows, head.schema or pa.schema([])
            if head.schema is not None:
                if repeated := repeated_column(schema):
                    return TableGuess(None, (), repeated)
                rows = list(_rows_of_table(objects, info, of, schema))
            exists = _looked_for(objects, info)
            columns = _guess(rows, _pictures_of(schema), exists)
            names = _names([dict.fromkeys(schema.names), *rows])
            media = tuple(_named_media(rows, columns, info, exists))
            return TableGuess(columns, names, media=media, captions_alone=_captions_alone(columns, names))
    except FileNotFoundError:
        return TableGuess(None, (), "the file is gone")
    except SourceError as error:
        return TableGuess(None, (), str(error).removeprefix(f"{info.path}: "))
    except Exception as error:
        if not is_of_content(error):
            raise
        return TableGuess(None, (), f"winnow failed on it, please report it: {failure(error)}")


def _looked_for(objects: ObjectStore, info: ObjectInfo) -> Callable[[str], bool]:
    """Whether a file that a table names is there, relative to the table's folder."""
    folder = PurePosixPath(info.path).parent

    def exists(name: str) -> bool:
        path = posixpath.normpath(str(folder / name))
        return not path.startswith(("/", "..")) and "\0" not in path and objects.exists(path)

    return exists


def _captions_alone(columns: ColumnMapping | None, names: Sequence[str]) -> bool:
    if columns is None or columns.media is not None or columns.url is None:
        return False
    spelled = {name.lower() for name in names}
    said = columns.text.rpartition(".")[2].lower()
    return said in _SAID_OF_MEDIA or (said in _CAPTIONS and len(spelled & _DESCRIBE_MEDIA) > 1)


def _named_media(
    rows: Sequence[Mapping[str, Json]], columns: ColumnMapping | None, info: ObjectInfo, exists: Callable[[str], bool]
) -> Iterator[str]:
    if columns is not None and columns.media is not None:
        for row in rows[:_TRIED]:
            name = dict(_leaves(row)).get(columns.media)
            if isinstance(name, str) and exists(name):
                yield posixpath.normpath(str(PurePosixPath(info.path).parent / name))


def _rows_of_table(
    objects: ObjectStore, info: ObjectInfo, of: SourceFormat, schema: pa.Schema
) -> Iterator[dict[str, Json]]:
    """The first rows of a table without its pictures, as ingest reads them if a column of strings is the text."""
    strings = [field.name for field in schema if _is_string(field.type)]
    if not strings:
        return
    chosen = next((name for name in _TEXTS if name in strings), strings[0])
    source = IngestSource(SourceRows("", "", "", ()), objects, of.name, ColumnMapping(text=chosen, url=None))
    for one in Sampler().first(source, info, FIRST_ROWS):
        if one is not None and isinstance(one.event, Record):
            yield {chosen: one.event.text, **one.event.metadata}


def _guess(
    rows: Sequence[Mapping[str, Json]], pictures: frozenset[str], exists: Callable[[str], bool]
) -> ColumnMapping | None:
    values: dict[str, list[Json]] = {}
    for row in rows:
        for name, value in _leaves(row):
            if value is not None:
                values.setdefault(name, []).append(value)
    taken = ColumnMapping(url=None)
    media = next(
        (
            name
            for name in _sorted(_MEDIA, [*values, *pictures])
            if name in pictures or (_are_files(values[name]) and any(exists(str(one)) for one in values[name][:_TRIED]))
        ),
        None,
    )
    url = next((name for name in _sorted(_ADDRESSES, values) if _are_addresses(values[name])), None)
    key = next((name for name in _known(_KEYS, values) if _is_unique(values[name], len(rows))), None)
    time = next((name for name in _known(_TIMES, values) if all(moment(one) is not None for one in values[name])), None)
    taken = replace(taken, url=url, key=key, fetched_at=time, media=media)
    free = {name: found for name, found in values.items() if name not in (url, key, time, media)}
    if media is None:
        text = _text(free, len(rows))
        return None if text is None else replace(taken, text=text)
    captions = next((name for name in _known(_CAPTIONS, free) if _are_captions(free[name])), None)
    language = next((name for name in _known(_LANGUAGES, free) if _are_captions(free[name])), None)
    text = next((name for name in _known(_TEXTS, free) if name != captions), "text")
    return replace(taken, text=text, captions=captions, language=language if captions else None)


def _text(values: Mapping[str, Sequence[Json]], rows: int) -> str | None:
    """The column of the text: by its name, else the longest one that looks like text; a few rows may lack it."""
    strings = {
        name: found
        for name, every in values.items()
        if len(found := [one for one in every if isinstance(one, str)]) > _MOST_ROWS_HAVE * rows
    }
    named = next(iter(_known((*_TEXTS, *_SAID_OF_MEDIA), strings)), None)
    if named is not None:
        return named
    means = {
        name: sum(len(str(one)) for one in found) / len(found)
        for name, found in strings.items()
        if not name.endswith(".$base64") and 2 * sum(map(_is_prose, found)) > len(found)
    }
    longest = max(means, key=lambda name: (means[name], name), default=None)
    return longest if longest is not None and means[longest] >= _SHORTEST_TEXT else None


def _is_prose(text: str) -> bool:
    """Whether a value may be a text: words, or a script without spaces between them; no hash, code, date or address."""
    return "://" not in text.partition(" ")[0] and (len(text.split()) > 1 or max(text, default="") > "\u0e00")


def _names(rows: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name, _ in _leaves(row)))


def _leaves(row: Mapping[str, Json], depth: int = 2) -> Iterator[tuple[str, Json]]:
    """The values of a row by name; those inside of objects by dotted names."""
    for name, value in row.items():
        if isinstance(value, Mapping) and depth:
            yield from ((f"{name}.{inner}", found) for inner, found in _leaves(value, depth - 1))
        else:
            yield name, value


def _known(wanted: Sequence[str], names: Mapping[str, object]) -> list[str]:
    """Those of these names whose last part is a wanted one in some spelling, the most wanted first."""
    spelled: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name.count(".")):
        spelled.setdefault(name.rpartition(".")[2].lower().replace("-", "_"), name)
    return [spelled[name] for name in wanted if name in spelled]


def _sorted(wanted: Sequence[str], names: Sequence[str] | Mapping[str, object]) -> list[str]:
    """All names, the wanted ones first."""
    return list(dict.fromkeys([*_known(wanted, dict.fromkeys(names)), *names]))


def _are_addresses(values: Sequence[Json]) -> bool:
    return all(isinstance(one, str) and one.startswith(("http://", "https://")) for one in values)


def _are_files(values: Sequence[Json]) -> bool:
    return all(isinstance(one, str) and "://" not in one and may_be_medium(one) for one in values)


def _are_captions(values: Sequence[Json]) -> bool:
    return all(
        isinstance(one, str) or (isinstance(one, list) and all(isinstance(each, str) for each in one)) for one in values
    )


def _is_unique(values: Sequence[Json], rows: int) -> bool:
    found = {one for one in values if isinstance(one, str | int) and not isinstance(one, bool)}
    return len(found) == len(values) == rows


def _is_string(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _pictures_of(schema: pa.Schema) -> frozenset[str]:
    """The columns that hold files: as Hugging Face stores pictures, or bytes under a picture's name."""
    return frozenset(
        field.name
        for field in schema
        if (pt.is_struct(field.type) and {one.name for one in field.type} >= {"bytes", "path"})
        or (_is_binary(field.type) and field.name.lower() in _NAMED_AS_MEDIA)
    )


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind))
