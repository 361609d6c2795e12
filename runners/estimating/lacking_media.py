"""Whether the sources hold the media that an export writes, before anything is read, by a sample of records.

Tars of texts under `media: image`, or samples of two pictures, would otherwise fail after all is measured and mixed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.formats.wanted_media import MediaOptions, WantedMedia
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.planning.first_rows import first_events, is_beyond_sample
from winnow.pipelines.ingest.planning.sampling import even_places
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.pipelines.ingest.rows import Row, row_of
from winnow.pipelines.ingest.sections import SAMPLE_LIMITS
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.counts import count_of
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import Problem, recipe_error

MOST_FILES: Final = 64  # of a source
MOST_RECORDS: Final = 256  # of a file
ENOUGH: Final = 64  # records with media that are wanted
_SHOWN: Final = 4
MOST_BYTES: Final = 8 << 20  # of a file that is certainly read to its end
_REMEDY: Final = "write media: none, or add a source that has them"


@dataclass(slots=True)
class _Seen:
    """The records that were looked at, by the types of their media; whether they are all that there are."""

    types: Counter[str] = field(default_factory=Counter)
    is_all: bool = True
    fitting: int = 0  # those with a wanted medium and no other
    several: Counter[str] = field(default_factory=Counter)  # those with more, by what they have


def lacking_media(recipe: BoundRecipe, context: IngestContext, plans: Sequence[SourcePlan]) -> list[str]:
    """A note for each export whose media no record of the sources has that was looked at.

    Raises:
        RecipeError: Every record of all sources was looked at.
    """
    notes: list[str] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, ...], _Seen | None] = {}
    for export in recipe.part(bind_exports):
        wanted = export.config.wanted() if isinstance(export.config, MediaOptions) else None
        if wanted is None:
            continue
        if wanted.mimes not in seen:
            seen[wanted.mimes] = _look(wanted, context, plans)
        found = seen[wanted.mimes]
        if found is None:
            continue
        if not wanted.many and found.several and not _chooses_media(recipe):
            ((most, _),) = found.several.most_common(1)
            total = found.fitting + found.several.total()
            count = f"{found.several.total():,} of {count_of(total, 'record')} with such media"
            said = f"{wanted.expected}, but {count} that were looked at have more, such as {most}; {wanted.remedy}"
            if 2 * found.several.total() > total:
                problems.append(Problem(export.place, export.where, said))
            else:
                notes.append(f"{export.where}: {said}")
        if found.fitting or found.several:
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


def _chooses_media(recipe: BoundRecipe) -> bool:
    """Whether the recipe chooses among samples or media by what they hold, which only a run can tell."""
    mix, program = recipe.config.mix, recipe.rules
    read = {column.name for column in program.columns}
    chosen = mix is not None and any(stage.where is not None for stage in mix.outputs)
    return chosen or program.judges_items or not read.isdisjoint(_OF_MEDIA)


_OF_MEDIA: Final = frozenset({"samples.media", "samples.mime", "samples.modality", "samples.source.name"})


def _look(wanted: WantedMedia, context: IngestContext, plans: Sequence[SourcePlan]) -> _Seen | None:
    """What records hold; None if one cannot be looked at, or there are none."""
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
                    if types is None:
                        return None
                    if not any(one.startswith(wanted.mimes) for one in types):
                        seen.types[types[0] if types else "without media"] += 1
                    elif len(types) == 1:
                        seen.fitting += 1
                    else:
                        seen.several[" and ".join(sorted(types)[:_SHOWN])] += 1
                    if seen.fitting + seen.several.total() >= ENOUGH:
                        return seen
            except (FileNotFoundError, SourceError):  # its task will say so
                seen.is_all = False
    return seen if seen.types or seen.fitting or seen.several else None


def _records(source: IngestSource, info: ObjectInfo, seen: _Seen) -> Iterator[list[str] | None]:
    """The types of the media of each record of a file; None for one that cannot be looked at."""
    taken = 0
    for event in first_events(source, info, SAMPLE_LIMITS, MOST_RECORDS):
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
