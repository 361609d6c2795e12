"""Whether the sources hold a medium of the kind that an export writes, before anything is read, by a sample of records.

Tars of texts under `media: image` would otherwise fail after all is measured and mixed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.formats.wanted_media import MediaOptions, WantedMedia
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.planning.first_rows import is_beyond_sample
from winnow.pipelines.ingest.planning.sampling import even_places
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.ingest.records import ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.rows import Row, row_of
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.estimating.takeable import first_events
from winnow.schemas.counts import count_of
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import Problem, recipe_error

MOST_FILES: Final = 64  # of a source
MOST_RECORDS: Final = 256  # of a file
MOST_BYTES: Final = 8 << 20  # of a file that is certainly read to its end
_LIMITS: Final = ReadLimits(max_body_bytes=4 << 20, max_member_bytes=64 << 20)
_REMEDY: Final = "write media: none, or add a source that has them"


@dataclass(slots=True)
class _Seen:
    """The records that were looked at, by the types of their media; whether they are all that there are."""

    types: Counter[str] = field(default_factory=Counter)
    is_all: bool = True


def lacking_media(recipe: BoundRecipe, context: IngestContext, plans: Sequence[SourcePlan]) -> list[str]:
    """A note for each export whose media no record of the sources has that was looked at.

    Raises:
        RecipeError: Every record of all sources was looked at.
    """
    notes: list[str] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, ...], _Seen | None] = {}
    for export in recipe.exports:
        wanted = export.config.wanted() if isinstance(export.config, MediaOptions) else None
        if wanted is None:
            continue
        if wanted.mimes not in seen:
            seen[wanted.mimes] = _look(wanted, context, plans)
        found = seen[wanted.mimes]
        if found is None:
            continue
        listed = ", ".join(f"{count:,} {kind}" for kind, count in found.types.most_common(4))
        which = f"none of the {count_of(found.types.total(), 'record')} of the sources"
        if found.is_all:
            said = f"{wanted.expected}, but {which} has one: {listed}; {_REMEDY}"
            problems.append(Problem(export.place, export.where, said))
        else:
            notes.append(f"{export.where}: {wanted.expected}, but {which} that were looked at has one: {listed}")
    if problems:
        raise recipe_error(problems)
    return notes


def _look(wanted: WantedMedia, context: IngestContext, plans: Sequence[SourcePlan]) -> _Seen | None:
    """What records are where none has a medium that is wanted; None if one has, or may have, or there are none."""
    seen = _Seen()
    for plan in plans:
        source = context.sources[plan.name]
        files = [info for info in plan.listing.files if info.size]
        if source.clips is not None:
            return None
        if len(files) > MOST_FILES:
            seen.is_all = False
            files = list(dict.fromkeys(info for info, _ in even_places(files, MOST_FILES)))
        for info in files:
            try:
                for types in _records(source, info, seen):
                    if types is None or any(one.startswith(wanted.mimes) for one in types):
                        return None
                    seen.types[types[0] if types else "without media"] += 1
            except (FileNotFoundError, SourceError):  # its task will say so
                seen.is_all = False
    return seen if seen.types else None


def _records(source: IngestSource, info: ObjectInfo, seen: _Seen) -> Iterator[list[str] | None]:
    """The types of the media of each record of a file; None for one that cannot be looked at."""
    taken = 0
    for event in first_events(source, info, _LIMITS, MOST_RECORDS):
        taken += 1
        if isinstance(event, Record) and any(one.names is not None for one in event.items):
            yield None  # a file beside the table
            continue
        row = row_of(event, info.path, "", source.rows) if isinstance(event, Record) else event
        if isinstance(row, Row):
            yield [str(medium["mime"]) for medium in row.media]
        elif isinstance(row, Unreadable) and is_beyond_sample(row):
            yield None
    seen.is_all &= taken < MOST_RECORDS and info.size <= MOST_BYTES
