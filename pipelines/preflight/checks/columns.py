"""Compares the formats, columns and first rows of new files with what the recipe says of them, before all is read.

Of a table its footer is read, of lines the first, and of a few files the first rows: what they lack would be found
hours later, one file at a run. A key that many rows share, or a column that is null in each, fits every schema: only
rows show it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.decoding.known_harm import KNOWN_HARM
from winnow.pipelines.ingest.boundary import is_for_its_task
from winnow.pipelines.ingest.formats import AUTO, HEAD_BYTES, format_by_content, format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.ingest.records import ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.tables.columns import Columns, Role, listed_columns
from winnow.pipelines.preflight.check import Check, NewInput
from winnow.pipelines.preflight.sampler import WHOLE_BYTES, Sampler, even_files, is_beyond_sample
from winnow.pipelines.query.generation import read_as
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import nearest, one_line, shown
from winnow.schemas.records import TaskCommit

MOST_LOOKED_AT: Final = 64  # files, to say what a source holds
FIRST_BYTES: Final = 256 << 10
FIRST_ROWS: Final = 256
SAMPLED_FILES: Final = 16  # of a source
SAMPLED_ROWS: Final = 256  # of a file
FEWEST_KEYS: Final = 3  # two rows of one key may be a mistake in the rows
MOST_LISTED: Final = 50
MOST_REASONS: Final = 10
MOST_ARCHIVES: Final = 16  # of a source: their beginnings only tell whether they are of the format that it names
_REMEDY: Final = "correct 'format', or leave it out so that each file is read by its name"
_UNLESS: Final = ", or set 'on_schema_mismatch: quarantine'"
_LIMITS: Final = ReadLimits(max_body_bytes=FIRST_BYTES, max_member_bytes=64 << 20)
_SETTING: Final[dict[Role, str]] = {"key": "key"}  # others are under `columns`


@dataclass(frozen=True, slots=True)
class Shape:
    """A file with rows: its columns, and what prevents its rows from being read."""

    path: str
    columns: Columns
    misfit: str
    is_other_format: bool = False  # than the recipe says


def _columns(about: NewInput) -> list[str]:
    """Compares new files with what the recipe says of their columns, and returns what a user should know of them.

    All files of a source are new to a recipe that reads them in another way than the latest generation, such as with
    another key.

    Raises:
        SourceError: Files do not fit: all of them, one line each.
    """
    latest = about.context.store.latest_record()
    samples = None if latest is None else latest.layers.get(layout.SAMPLES)
    problems: list[str] = []
    unmatched: list[str] = []
    notes: list[str] = []
    for plan in about.plans:
        source = about.context.sources[plan.name]
        unmatched += [f"{source.named}.files: no file matches {one}" for one in plan.listing.unmatched]
        is_read = samples is not None and plan.key in samples.keys
        added = plan.intake.added if is_read else plan.intake.tasks
        files = plan.listing.files.inside(added.parts["path"])
        wrong, said = _of_source(source, files, about.sampler, are_all=len(added) == len(plan.intake.tasks))
        problems += wrong
        notes += said
    if problems:
        raise SourceError("\n".join(problems))
    return [*unmatched, *notes]


def _of_source(
    source: IngestSource, files: Sequence[ObjectInfo], sampler: Sampler, *, are_all: bool
) -> tuple[list[str], list[str]]:
    """What is wrong with the new files of a source, and what is to be noted; `are_all`: it has no others."""
    named = source.named
    problems = [
        f"{named}: {one_line(info.path)}: {why}"
        for info in files
        if (why := format_of(source.format, info.path).why_not(info.path))
    ][:MOST_LISTED]
    notes: list[str] = []
    shapes = look_at_shapes(source, files)
    misfits = [shape for shape in shapes if shape.misfit]
    lacking = nowhere(source, shapes) if are_all else {}
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
        wrong = _wrong_in_first_rows(source, files, sampler, are_all=are_all)
        if source.on_schema_mismatch == "error":
            problems += wrong
        else:
            notes += wrong
    notes += [f"{text}; it reads as null" for role, text in lacking.items() if not source.columns.is_required(role)]
    return problems, notes


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
    """The columns that the recipe names and no file has, each with what the files have instead."""
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


@dataclass(slots=True)
class _FirstRows:
    """What became of a file's first rows."""

    path: str
    kept: int = 0  # or may be: a task reads what is beyond a sample
    reasons: Counter[str] = field(default_factory=Counter)
    detail: str = ""  # of the first row that cannot be read
    keys: Counter[str] = field(default_factory=Counter)
    is_all: bool = False  # the file has no other rows


def _wrong_in_first_rows(
    source: IngestSource, files: Sequence[ObjectInfo], sampler: Sampler, *, are_all: bool
) -> list[str]:
    """Says what is wrong with the key or the rows of a source, by a sample of its new files.

    Args:
        source: The source.
        files: Those of its files that no task reads yet, by path.
        sampler: Reads them.
        are_all: Whether the source has no other files.
    """
    wanted = even_files(files, SAMPLED_FILES)
    looked_at = map_objects(source.objects, lambda info: _read(sampler, source, info), wanted)
    found = [one for one in looked_at if one is not None and (one.kept or one.reasons)]
    if source.columns.key is not None and (wrong := _repeated_key(source, source.columns.key, found)):
        return [wrong]
    if not are_all or len(found) < len(wanted) or any(one.kept for one in found):
        return []
    is_whole = len(wanted) == len([info for info in files if info.size]) and all(one.is_all for one in found)
    reasons = sum((one.reasons for one in found), Counter[str]())
    if not reasons or not (is_whole or all(format_of(source.format, one.path).has_columns for one in found)):
        return []
    counted = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    rows = "every record" if is_whole else f"each of the first {reasons.total():,} rows of {_files(found)}"
    first = next(one for one in found if one.reasons)
    return [
        f"{source.named}: {rows} would be quarantined ({counted}): {one_line(first.path)}: {first.detail}; correct "
        "the recipe or the files" + ("" if is_whole else _UNLESS)
    ]


def _repeated_key(source: IngestSource, column: str, found: Sequence[_FirstRows]) -> str:
    """Why a column is no key: half of the rows or more repeat one of their file. Else empty."""
    keyed = [one for one in found if one.keys.total() >= FEWEST_KEYS]
    total = sum(one.keys.total() for one in keyed)
    repeated = sum(one.keys.total() - len(one.keys) for one in keyed)
    if not keyed or 2 * repeated < total:
        return ""
    worst = max(keyed, key=lambda one: one.keys.total() - len(one.keys))
    ((value, times),) = worst.keys.most_common(1)
    return (
        f"{source.named}.key: {column!r} is no key: {repeated:,} of the first {total:,} rows of {_files(keyed)} repeat "
        f"that of a row before them ({shown(value)} is in {times:,} rows of {one_line(worst.path)}), and would be "
        f"quarantined; name a column that differs in each row, or leave 'key' out{_UNLESS}"
    )


def _files(found: Sequence[_FirstRows]) -> str:
    return one_line(found[0].path) if len(found) == 1 else f"{len(found)} files"


def _read(sampler: Sampler, source: IngestSource, info: ObjectInfo) -> _FirstRows | None:
    """The first rows of a file; None if it cannot be read, which its task will report."""
    first = _FirstRows(info.path)
    is_table = format_of(source.format, info.path).has_columns
    if not is_table and info.size > WHOLE_BYTES:
        first.kept = 1  # the first records of a large archive decide nothing
        return first
    taken = 0
    for one in sampler.first(source, info, SAMPLED_ROWS):
        if one is None:
            return None
        taken += 1
        event = one.event
        if isinstance(event, Unreadable) and not is_beyond_sample(event):
            first.reasons[event.reason] += 1
            first.detail = first.detail or f"{event.reason}{f' ({event.detail})' if event.detail else ''}"
        elif isinstance(event, Record | Unreadable):
            first.kept += 1
        if is_table and isinstance(event, Record | Unreadable) and event.key is not None:
            first.keys[event.key] += 1
    first.is_all = taken < SAMPLED_ROWS and info.size <= WHOLE_BYTES
    return first


def _unlisted(about: NewInput) -> Iterator[str]:
    """A note about samples of sources that the recipe no longer lists."""
    store, recipe = about.context.store, about.recipe
    record = store.latest_record()
    if record is None:
        return
    there = store.manifest(read_as(recipe, store, record), layout.SAMPLES).sources
    if strays := sorted(set(there) - {source.name for source in recipe.config.sources}):
        yield (
            f"the store also has samples of {', '.join(strays)}, which the recipe does not list; they count below "
            f"until 'winnow run {recipe.file}' leaves them out"
        )


def require_samples(context: IngestContext, plan: SourcePlan, commits: Sequence[TaskCommit]) -> None:
    """Refuses to go on with a source of which nothing could be read.

    Raises:
        SourceError: All its records are quarantined.
    """
    reasons: Counter[str] = Counter()
    for commit in commits:
        reasons.update(commit.quarantined_by_reason)
    if reasons.keys() <= {KNOWN_HARM} or any(commit.kept for commit in commits):
        return
    source = context.sources[plan.name]
    counted = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    lacking = nowhere(source, look_at_shapes(source, plan.listing.files[:MOST_LOOKED_AT]))
    why = next((text for role, text in lacking.items() if source.columns.is_required(role)), None) or _first_detail(
        context, commits
    )
    raise SourceError(
        f"{source.named}: every record is quarantined ({counted}), so nothing is published: {why}; correct the "
        "recipe, or the files and run with --replace"
    )


def _first_detail(context: IngestContext, commits: Sequence[TaskCommit]) -> str:
    """Where and why the first record was quarantined."""
    for commit in commits:
        if commit.quarantine is not None:
            for batch in read_batches(context.store.objects, commit.quarantine.path):
                for row in batch.slice(0, 1).to_pylist():
                    return f"{one_line(row['path'])} at {row['offset']}: {row['detail'] or row['reason']}"
    return "the quarantine says why"


CHECKS = (
    Check("columns", NewInput, _columns, order=4),
    Check("unlisted-sources", NewInput, _unlisted, order=5, of_plan=True),
)
