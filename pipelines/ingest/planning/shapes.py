"""Compares the formats and columns of new files with those that the recipe names, before anything is read.

Of a table its footer is read, of lines the first, and of a few files the first rows: what they lack would be found
hours later, one file at a run.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.boundary import is_for_its_task
from winnow.pipelines.ingest.formats import AUTO, HEAD_BYTES, format_by_content, format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.first_rows import check_first_rows
from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.tables.columns import Columns, Role, listed_columns
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import nearest, one_line

FIRST_BYTES: Final = 256 << 10
FIRST_ROWS: Final = 256
MOST_LISTED: Final = 50
MOST_REASONS: Final = 10
MOST_ARCHIVES: Final = 16  # of a source: their beginnings only tell whether they are of the format that it names
_REMEDY: Final = "correct 'format', or leave it out so that each file is read by its name"
_LIMITS: Final = ReadLimits(max_body_bytes=FIRST_BYTES, max_member_bytes=64 << 20)
_SETTING: Final[dict[Role, str]] = {"key": "key"}  # others are under `columns`


@dataclass(frozen=True, slots=True)
class NewFiles:
    """The files of a source that no task reads yet."""

    source: IngestSource
    files: Sequence[ObjectInfo]
    are_all: bool  # no other files of the source have been planned


@dataclass(frozen=True, slots=True)
class Shape:
    """A file with rows: its columns, and what prevents its rows from being read."""

    path: str
    columns: Columns
    misfit: str
    is_other_format: bool = False  # than the recipe says


def check_shapes(new: Sequence[NewFiles]) -> list[str]:
    """Looks at the new files of sources, and returns notes for the user; SourceError with a line for each file that
    does not fit the recipe's columns."""
    problems: list[str] = []
    notes: list[str] = []
    for one in new:
        source, named = one.source, one.source.named
        problems += [
            f"{named}: {one_line(info.path)}: {why}"
            for info in one.files
            if (why := format_of(source.format, info.path).why_not(info.path))
        ][:MOST_LISTED]
        shapes = look_at_shapes(source, one.files)
        misfits = [shape for shape in shapes if shape.misfit]
        lacking = nowhere(source, shapes) if one.are_all else {}
        already = len(problems)
        required = [text for role, text in lacking.items() if source.columns.is_required(role)]
        if required and len(misfits) == len(shapes):
            problems += required
        elif misfits and source.on_schema_mismatch == "error":
            problems += [f"{named}: {one_line(shape.path)}: {shape.misfit}" for shape in misfits[:MOST_LISTED]]
            problems += [f"{named}: and {len(misfits) - MOST_LISTED} more"] * (len(misfits) > MOST_LISTED)
            if not all(shape.is_other_format for shape in misfits):
                problems.append(
                    f"{named}: {len(misfits):,} of {len(shapes):,} new files do not fit its columns; correct "
                    "'columns' or 'key', leave the files out of 'files', or set 'on_schema_mismatch: quarantine'"
                )
        elif misfits:
            notes += _quarantined(source.rows.name, misfits)
        if len(problems) == already and source.clips is None:
            wrong = check_first_rows(source, one.files, are_all=one.are_all)
            if source.on_schema_mismatch == "error":
                problems += wrong
            else:
                notes += wrong
        notes += [f"{text}; it reads as null" for role, text in lacking.items() if not source.columns.is_required(role)]
    if problems:
        raise SourceError("\n".join(problems))
    return notes


def _quarantined(name: str, misfits: Sequence[Shape]) -> list[str]:
    """A note for each reason: one for all would give the first file's reason to the others."""
    by_reason: dict[str, list[str]] = {}
    for shape in misfits:
        by_reason.setdefault(shape.misfit, []).append(one_line(shape.path))
    notes = [
        f"source {name}: {paths[0]}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}: quarantined: {reason}"
        for reason, paths in [*by_reason.items()][:MOST_REASONS]
    ]
    left = sum(map(len, [*by_reason.values()][MOST_REASONS:]))
    return [*notes, *([f"source {name}: and {left:,} more, quarantined for other reasons"] if left else [])]


def look_at_shapes(source: IngestSource, files: Sequence[ObjectInfo]) -> list[Shape]:
    """The shapes of these files, without those that hold no rows or whose rows cannot be seen."""
    of = [(info, format_of(source.format, info.path)) for info in files if info.size]
    rows = [info for info, one in of if one.has_columns]
    archives = [info for info, one in of if one.marks and not one.has_columns]
    looked_at = [*rows, *(archives[:MOST_ARCHIVES] if source.format != AUTO else ())]
    return [
        shape for shape in map_objects(source.objects, lambda info: _look(source, info), looked_at) if shape is not None
    ]


def nowhere(source: IngestSource, shapes: Sequence[Shape]) -> dict[Role, str]:
    """The columns that the recipe names but no file has, each with what the files have instead."""
    found: dict[Role, str] = {}
    seen = [shape.columns for shape in shapes if shape.columns.names]
    for role, column in source.columns.roles():
        if not seen or source.columns.is_default(role) or any(one.state(role) is not None for one in seen):
            continue
        counts = Counter(name for one in seen for name in one.names)
        names = sorted(counts, key=lambda name: (-counts[name], name))
        listed = listed_columns(names)
        setting = _SETTING.get(role, f"columns.{role}")
        meant = nearest(column, names)
        hint = f" (did you mean {meant!r}?)" if meant is not None else ""
        found[role] = f"{source.named}.{setting}: {column!r} is in no row{hint}; the files have: {listed}"
    return found


def _look(source: IngestSource, info: ObjectInfo) -> Shape | None:
    try:
        with closing(source.objects.open(info.path)) as stream:
            of = format_of(source.format, info.path)
            found = None if source.format == AUTO else format_by_content(read_range(stream, 0, HEAD_BYTES), of)
            if found not in (None, of):
                misfit = f"the file is {found.called}, not {of.called}: {_REMEDY}"
                return Shape(info.path, Columns((), {}), misfit, is_other_format=True)
            if not of.has_columns:
                return None
            head = of.head(OpenFile(stream, info.path, info.size, _LIMITS), FIRST_ROWS, FIRST_BYTES)
            columns = head.columns(source.columns)
    except SourceError as error:
        return Shape(info.path, Columns((), {}), str(error).removeprefix(f"{info.path}: "))
    except Exception as error:
        if not is_for_its_task(error):
            raise
        return None
    return None if columns is None else Shape(info.path, columns, columns.misfit(source.columns))
