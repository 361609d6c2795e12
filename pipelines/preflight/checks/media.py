"""Media that exports or budgets need and no source has: by the recipe's columns, and by a sample of records.

Tars of texts under `media: image`, or samples of two pictures, would otherwise fail after all is measured and mixed.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.formats.wanted_media import MediaOptions, WantedMedia
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.preflight.check import Check, Finding, NewInput, WholeRecipe
from winnow.pipelines.preflight.sampler import WHOLE_BYTES, even_files, is_beyond_sample
from winnow.schemas.counts import count_of
from winnow.schemas.problems import Problem
from winnow.schemas.recipe import Recipe

MOST_FILES: Final = 64  # of a source
MOST_RECORDS: Final = 256  # of a file
ENOUGH: Final = 64  # records with media that are wanted
_SHOWN: Final = 4
_WITHOUT: Final = "but no source has media: name their column with `columns.media`"
_REMEDY: Final = "write media: none, or add a source that has them"


@dataclass(slots=True)
class _Seen:
    """The records that were looked at, by the types of their media; whether they are all that there are."""

    types: Counter[str] = field(default_factory=Counter)
    is_all: bool = True
    fitting: int = 0  # those with a wanted medium and no other
    several: Counter[str] = field(default_factory=Counter)  # those with more, by what they have


def _no_pictures_for_unit(about: WholeRecipe) -> Iterator[Problem]:
    """A unit of media that no source has: tables without a column of media, or pictures for seconds."""
    recipe = about.recipe.config
    if (mix := recipe.mix) is None:
        return
    of_pictures = all(format_of(source.format, "").shows == "image" for source in recipe.sources)
    if mix.unit == "seconds" and of_pictures:
        yield Problem(mix.place, "mix.unit", "seconds are of videos, but every source is of pictures; write pixels")
    if mix.unit in ("pixels", "seconds") and _are_without_media(recipe):
        said = f"{mix.unit} are of pictures or videos, {_WITHOUT}, or write unit: tokens"
        yield Problem(mix.place, "mix.unit", said)


def _no_media_for_exports(about: WholeRecipe) -> Iterator[Problem]:
    """Exports that write media where no source has a column of them."""
    for export in about.recipe.part(bind_exports) if _are_without_media(about.recipe.config) else ():
        if getattr(export.config, "wants_media", False):
            said = f"writes media: {export.config.media}, {_WITHOUT}, or export texts"
            yield Problem(export.place, export.where, said)


def _are_without_media(recipe: Recipe) -> bool:
    """Whether every source is of tables, and has no column of media."""
    return all(
        source.columns.media is None and all(format_of(source.format, one).has_columns for one in source.files)
        for source in recipe.sources
    )


def _no_media_found(about: NewInput) -> Iterator[Finding]:
    """For each export whose media no record has that was looked at a note, or a refusal if those were all."""
    seen: dict[tuple[str, ...], _Seen | None] = {}
    for export in about.recipe.part(bind_exports) if about.is_first else ():
        wanted = export.config.wanted() if isinstance(export.config, MediaOptions) else None
        if wanted is None:
            continue
        if wanted.mimes not in seen:
            seen[wanted.mimes] = _look(wanted, about)
        found = seen[wanted.mimes]
        if found is None:
            continue
        if not wanted.many and found.several and not _chooses_media(about.recipe):
            ((most, _),) = found.several.most_common(1)
            total = found.fitting + found.several.total()
            count = f"{found.several.total():,} of {count_of(total, 'record')} with such media"
            said = f"{wanted.expected}, but {count} that were looked at have more, such as {most}; {wanted.remedy}"
            if 2 * found.several.total() > total:
                yield Problem(export.place, export.where, said)
            else:
                yield f"{export.where}: {said}"
        if found.fitting or found.several:
            continue
        listed = ", ".join(f"{count:,} {kind}" for kind, count in found.types.most_common(4))
        which = f"none of the {count_of(found.types.total(), 'record')} of the sources"
        if found.is_all:
            said = f"{wanted.expected}, but {which} has one: {listed}; {_REMEDY}"
            yield Problem(export.place, export.where, said)
        else:
            yield f"{export.where}: {wanted.expected}, but {which} that were looked at has one: {listed}"


def _chooses_media(recipe: BoundRecipe) -> bool:
    """Whether the recipe chooses among samples or media by what they hold, which only a run can tell."""
    mix, program = recipe.config.mix, recipe.rules
    read = {column.name for column in program.columns}
    chosen = mix is not None and any(stage.where is not None for stage in mix.outputs)
    return chosen or program.judges_items or not read.isdisjoint(_OF_MEDIA)


_OF_MEDIA: Final = frozenset({"samples.media", "samples.mime", "samples.modality", "samples.source.name"})


def _look(wanted: WantedMedia, about: NewInput) -> _Seen | None:
    """What records hold; None if one cannot be looked at, or there are none."""
    seen = _Seen()
    for plan in about.plans:
        source = about.context.sources[plan.name]
        if source.clips is not None:
            return None
        files = even_files(plan.listing.files, MOST_FILES)
        seen.is_all &= len(files) == sum(info.size > 0 for info in plan.listing.files)
        for info in files:
            taken = 0
            for one in about.sampler.first(source, info, MOST_RECORDS):
                taken += 1
                if one is None:  # its task will say why
                    seen.is_all = False
                    break
                if isinstance(one.event, Record) and any(item.names is not None for item in one.event.items):
                    return None  # a file beside the table
                if isinstance(one.row, Unreadable) and is_beyond_sample(one.row):
                    return None
                if not isinstance(one.row, Row):
                    continue
                types = [str(medium["mime"]) for medium in one.row.media]
                if not any(kind.startswith(wanted.mimes) for kind in types):
                    seen.types[types[0] if types else "without media"] += 1
                elif len(types) == 1:
                    seen.fitting += 1
                else:
                    seen.several[" and ".join(sorted(types)[:_SHOWN])] += 1
                if seen.fitting + seen.several.total() >= ENOUGH:
                    return seen
            seen.is_all &= taken < MOST_RECORDS and info.size <= WHOLE_BYTES
    return seen if seen.types or seen.fitting or seen.several else None


CHECKS = (
    Check("unit-without-media", WholeRecipe, _no_pictures_for_unit, "mix", order=2),
    Check("exports-without-media", WholeRecipe, _no_media_for_exports, "export", order=2),
    Check("sampled-media", NewInput, _no_media_found, order=6),
)
