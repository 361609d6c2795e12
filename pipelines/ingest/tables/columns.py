"""Maps source columns to parts of a sample, the same for JSON lines and Parquet rows.

Columns use the source's names; `meta.url` reaches into an object or struct, unless a column
has exactly that name. An unmapped column, or a mapped value that cannot be used (a URL that is a number), goes into
the record's metadata, so nothing in the source is lost.
"""

import difflib
import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final, Literal, TypeAlias

from winnow.pipelines.ingest.records import Caption, Dropped, Event, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.media_values import EXPECTED_MEDIA, BadMedia, is_media, kind_of_value, row_media
from winnow.pipelines.ingest.tables.values import Binary
from winnow.pipelines.ingest.unusable_media import without_media
from winnow.schemas.identity import Json
from winnow.schemas.problems import one_line

Role: TypeAlias = Literal["text", "key", "url", "fetched_at", "media", "captions", "language"]

MOST_NAMED: Final = 20
REPLACED_SURROGATES: Final = "replaced_surrogates"  # metadata: lone surrogates that became U+FFFD in this row
ABSENT_MEDIA: Final = "absent_media"  # metadata: entries of a list of media that hold nothing
NON_FINITE_NUMBERS: Final = "non_finite_numbers"  # metadata: NaN, Infinity and overflows that became null


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Names of the source's columns."""

    text: str = "text"
    key: str | None = None  # None means the ordinal in the file
    url: str | None = "url"
    fetched_at: str | None = None  # ISO 8601, a timestamp, or seconds or milliseconds since 1970
    media: str | None = None  # bytes, or paths relative to the table's own folder
    captions: str | None = None  # of the media: a string or a list of strings
    language: str | None = None  # of the captions: a string, or a list with one for each

    def roles(self) -> list[tuple[Role, str]]:
        """The roles that have a column, with its name."""
        named: list[tuple[Role, str | None]] = [
            ("text", self.text),
            ("key", self.key),
            ("url", self.url),
            ("fetched_at", self.fetched_at),
            ("media", self.media),
            ("captions", self.captions),
            ("language", self.language),
        ]
        return [(role, column) for role, column in named if column is not None]

    def is_required(self, role: Role) -> bool:
        """Whether rows without this role's column are quarantined; those of another column read as null."""
        return role == "key" or (role == "text" and self.media is None)

    def is_default(self, role: Role) -> bool:
        """Whether the column may be missing without a message, as nobody named it."""
        return (role == "url" and self.url == ColumnMapping().url) or (role == "text" and self.media is not None)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file's rows, and how those that the recipe names fit: "", an error, or absent."""

    names: tuple[str, ...]
    states: Mapping[Role, str]
    fault: str = ""  # why no row of the file is read, whatever columns the recipe names

    def state(self, role: Role) -> str | None:
        """How the column of this role fits; None if it is absent."""
        return self.states.get(role)

    def misfit(self, mapping: ColumnMapping) -> str:
        """Why every row of the file would be quarantined; empty if there is no such reason."""
        if self.fault:
            return self.fault
        for role, column in mapping.roles():
            state = self.state(role)
            if state is None and (mapping.is_required(role) or (role == "media" and self.state("text") is None)):
                return _no_such_column(column, self.names)
            if state and role not in ("url", "fetched_at", "language") and not mapping.is_default(role):
                return f"column {column!r} {state}"
        return ""


def columns_of_rows(rows: Sequence[Mapping[str, Json]], mapping: ColumnMapping) -> Columns | None:
    """The columns of rows; None if there are none."""
    if not rows:
        return None
    states: dict[Role, str] = {}
    for role, column in mapping.roles():
        found = [value for row in rows if (value := find(row, column)) is not ABSENT]
        if not found:
            continue
        wrong = [value for value in found if value is not None and not _fits(role, value)]
        all_wrong = bool(wrong) and len(wrong) == sum(value is not None for value in found)
        states[role] = f"holds {kind_of_value(wrong[0])}, expected {EXPECTED[role]}" if all_wrong else ""
    return Columns(tuple(dict.fromkeys(name for row in rows for name in row)), states)


_STRINGS: Final = "expected a string or a list of strings"
EXPECTED: Final[Mapping[Role, str]] = {
    "text": "a string",
    "key": "a string or an integer",
    "url": "a string",
    "fetched_at": "a timestamp, a string or a number",
    "media": EXPECTED_MEDIA,
    "captions": "a string or a list of strings",
    "language": "a string or a list of strings",
}


def _fits(role: Role, value: Json) -> bool:
    if role == "key":
        return _key(value) is not None
    if role == "fetched_at":
        return moment(value) is not None
    if role == "media":
        return is_media(value)
    if role in ("captions", "language") and isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return isinstance(value, str | Binary)


class _Absent(Enum):
    ABSENT = 0


ABSENT: Final = _Absent.ABSENT
Found: TypeAlias = Json | Literal[_Absent.ABSENT]


def find(row: Mapping[str, Json], column: str) -> Found:
    """Finds a column's value in a row; a dotted name reaches inside unless a column has the full name."""
    if column in row:
        return row[column]
    if "." not in column:
        return ABSENT
    value: Json = row
    for name in column.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return ABSENT
        value = value[name]
    return value


def remove(row: MutableMapping[str, Json], column: str) -> None:
    """Removes a found column from the row, along with any enclosing objects left empty."""
    if column in row:
        del row[column]
        return
    name, _, rest = column.partition(".")
    inner = row.get(name)
    if rest and isinstance(inner, MutableMapping):
        remove(inner, rest)
        if not inner:
            del row[name]


def row_event(
    row: dict[str, Json], span: Span, container: str, mapping: ColumnMapping, limits: ReadLimits, path: str = ""
) -> Event:
    """Converts one row to an event. The row is consumed: unmapped values become the record's metadata.

    `path`: the table's path from the source's root; media paths are relative to its folder.
    """
    key: str | None = None
    if mapping.key is not None:
        found = find(row, mapping.key)
        if found is None or found is ABSENT:
            return Unreadable(span, "missing_key", _missing(found, mapping.key))
        key = _key(found)
        if key is None:
            detail = f"column {mapping.key!r} holds {kind_of_value(found)}, expected a string or an integer of 64 bits"
            return Unreadable(span, "wrong_type", detail[:200])
    if mapping.media is not None and (found := find(row, mapping.media)) is not ABSENT:
        media = row_media(found, mapping.media, span, container, path)
        if isinstance(media, BadMedia):
            return Unreadable(span, media.reason, media.detail[:200], key)
        if media.items:
            remove(row, mapping.media)
            if media.rest is not None:
                row[mapping.media] = media.rest
            if media.absent:
                row[ABSENT_MEDIA] = media.absent
            event = _media_event(row, Record(span, key, container, items=media.items), mapping, limits)
            flaws = [item.flaw for item in media.items]
            return (without_media(event, flaws) or event) if isinstance(event, Record) else event
    text = ABSENT if mapping.text == mapping.captions else find(row, mapping.text)
    if isinstance(text, Binary):
        try:
            text = text.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            return Unreadable(span, "bad_utf8", f"column {mapping.text!r}: byte {error.start}"[:200], key)
    if text is None or text is ABSENT:
        if mapping.media is not None:
            nothing = "" if mapping.text == mapping.captions else f"; {_missing(text, mapping.text)}"
            return Unreadable(span, "missing_media", f"column {mapping.media!r}: no medium{nothing}"[:200], key)
        return Unreadable(span, "missing_text", _missing(text, mapping.text), key)
    if not isinstance(text, str):
        return Unreadable(
            span, "wrong_type", f"column {mapping.text!r} holds {kind_of_value(text)}, expected a string"[:200], key
        )
    if len(text) > limits.max_body_bytes // 4:  # a character takes up to four bytes
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > limits.max_body_bytes:
            return Unreadable(
                span, "too_large", f"a text of {size} bytes, the limit is {limits.max_body_bytes} bytes", key
            )
    if not text:
        return Dropped(span, "empty")
    record = Record(span=span, key=key, container=container, text=text)
    return _completed(row, record, mapping, [mapping.text] if mapping.key is None else [mapping.text, mapping.key])


def _completed(row: dict[str, Json], record: Record, mapping: ColumnMapping, taken: list[str]) -> Record:
    """Adds the row's other values to the record."""
    if mapping.url is not None:
        url = find(row, mapping.url)
        if isinstance(url, str) and url:
            record.url = url
            taken.append(mapping.url)
    if mapping.fetched_at is not None:
        record.fetched_at = moment(find(row, mapping.fetched_at))
        if record.fetched_at is not None:
            taken.append(mapping.fetched_at)
    for column in taken:  # only after all are found: one column may have two roles
        remove(row, column)
    record.metadata = row
    return record


def _media_event(row: dict[str, Json], record: Record, mapping: ColumnMapping, limits: ReadLimits) -> Event:
    """The event of a row with media, which are taken already; its text is the row's text and captions."""
    span, key = record.span, record.key
    taken = [column for role, column in mapping.roles() if role == "key"]
    text = find(row, mapping.text)
    if mapping.text != mapping.captions and isinstance(text, str) and text:
        record.text = text
        taken.append(mapping.text)
    if mapping.captions is not None:
        found = find(row, mapping.captions)
        captions = [found] if isinstance(found, str) else found
        if isinstance(captions, list) and all(isinstance(one, str) for one in captions):
            language = ABSENT if mapping.language is None else find(row, mapping.language)
            languages = languages_of(language, len(captions))
            record.captions = tuple(
                Caption(one, language=language)
                for one, language in zip(captions, languages, strict=True)
                if isinstance(one, str) and one
            )
            taken.append(mapping.captions)
            if mapping.language is not None and any(languages):
                taken.append(mapping.language)
        elif found is not None and found is not ABSENT:
            detail = f"column {mapping.captions!r} holds {kind_of_value(found)}, {_STRINGS}"
            return Unreadable(span, "wrong_type", detail[:200], key)
    texts = (record.text or "", *(caption.text for caption in record.captions))
    held = sum(len(one.encode("utf-8", "surrogatepass")) for one in texts)
    if held > limits.max_body_bytes:
        detail = f"a text and captions of {held} bytes, the limit is {limits.max_body_bytes} bytes"
        return Unreadable(span, "too_large", detail, key)
    return _completed(row, record, mapping, taken)


def languages_of(found: Found, count: int) -> list[str | None]:
    """The language of each of `count` captions: one for all, or a list with one each; null if not given."""
    if isinstance(found, str) and found:
        return [found] * count
    if isinstance(found, list) and len(found) == count:
        return [one if isinstance(one, str) and one else None for one in found]
    return [None] * count


def moment(value: Found) -> datetime | None:
    """Parses a time into UTC from ISO 8601 (no zone means UTC), or seconds or milliseconds since 1970; else None."""
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value.strip())
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            seconds = value / 1000 if abs(value) >= 1e11 else value  # 1e11 s is the year 5138
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _no_such_column(column: str, present: Sequence[str]) -> str:
    """What to say of a configured column that a file lacks."""
    near = difflib.get_close_matches(column, present, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"no column {column!r}{hint}; the columns are: {listed_columns(present)}"


def listed_columns(names: Sequence[str]) -> str:
    """The first names of a file's columns, on one line."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (", ".join(one_line(name, 60) for name in names[:MOST_NAMED]) or "none") + more


def _key(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Binary):
        try:
            return value.raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return None


def _missing(found: Found, column: str) -> str:
    return (f"no column {column!r}" if found is ABSENT else f"column {column!r} is null")[:200]
