"""Whether a mixture can take anything of its sources, before anything is read, where all their files can be sampled.

Pictures in a recipe whose unit is tokens, or files that are all empty, would otherwise fail after all is measured.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from winnow.pipelines.ingest.boundary import is_for_its_task
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.media_names import may_be_medium
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.planning.first_rows import first_events
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.ingest.records import Covered, Dropped, Event, ReadLimits, Record
from winnow.pipelines.ingest.rows import Row, row_of
from winnow.pipelines.mix.candidates import OF_MEDIA
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import Recipe

NO_TEXT: Final = "without text"
MOST_FILES: Final = 64  # of a source; of more, what they hold is not known without reading them
MOST_RECORDS: Final = 1024  # of a file
MOST_BYTES: Final = 8 << 20  # of a file
_LIMITS: Final = ReadLimits(max_body_bytes=MOST_BYTES, max_member_bytes=64 << 20)
_OF_TEXTS: Final = ("megatron",)  # formats that hold nothing but texts, and none that is missing
_TEXTS: Final = ("samples.text", "extract.")  # columns that are null where a record has neither a text nor markup


def refuse_untakeable(recipe: Recipe, context: IngestContext, plans: Sequence[SourcePlan]) -> None:
    """Raise RecipeError if it is certain that the mixture, or an export of texts, can take no sample of any source."""
    mix = recipe.mix
    if mix is None:
        return
    may_need = all(column.startswith(_TEXTS) for column in recipe.text)
    why = _why_nothing_at_all(context, plans, needs_text=may_need and mix.unit not in OF_MEDIA)
    if not why:
        of_texts = [(number, one) for number, one in enumerate(recipe.export) if may_need and one.name in _OF_TEXTS]
        if of_texts and (why := _why_nothing_at_all(context, plans, needs_text=True)):
            said = f"writes texts, but no record of the sources has one: {_listed(why)}; export another format"
            raise recipe_error(Problem(one.place, f"export[{number}].{one.name}", said) for number, one in of_texts)
        return
    listed = _listed(why)
    hint = "; to take media without text, write unit: samples" if any(NO_TEXT in reason for reason in why) else ""
    said = f"no sample may be taken, since no record of the sources can be counted in {mix.unit}: {listed}{hint}"
    raise recipe_error([Problem(mix.place, "mix", said)])


def _listed(why: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in why.most_common(4))


def _why_nothing_at_all(context: IngestContext, plans: Sequence[SourcePlan], *, needs_text: bool) -> Counter[str]:
    """Why no record of any source can be taken, each with how many; empty if one can, or if that is not certain."""
    why: Counter[str] = Counter()
    for plan in plans:
        found = _why_nothing(context.sources[plan.name], plan.listing.files, needs_text=needs_text)
        if found is None:
            return Counter()
        why += found
    return why


def _why_nothing(source: IngestSource, files: Sequence[ObjectInfo], *, needs_text: bool) -> Counter[str] | None:
    """Why no record of a source can be taken, each with how many; None if one can, or if that is not certain."""
    in_folder = format_of(source.format, "").has_sidecars
    if needs_text and in_folder and all(may_be_medium(info.path) for info in files):
        return Counter({f"files of {source.format} {NO_TEXT}": len(files)})
    if source.clips is not None or len(files) > MOST_FILES or any(info.size > MOST_BYTES for info in files):
        return None
    why: Counter[str] = Counter()
    for info in files:
        of_file = Counter(_records(source, info))
        if None in of_file or of_file.total() >= MOST_RECORDS:
            return None
        why += Counter({reason: count for reason, count in of_file.items() if reason is not None})
    if not needs_text and any(reason.endswith(NO_TEXT) for reason in why):
        return None
    return why


def _records(source: IngestSource, info: ObjectInfo) -> Iterator[str | None]:
    """Why each record of a file has no text; None for one that has, or that other checks look at."""
    for row in sampled_rows(source, info):
        if isinstance(row, Dropped):
            if row.reason != "padding":
                yield f"dropped as {row.reason}"
        elif isinstance(row, Row) and row.text is None and row.html is None:
            yield f"of {row.mime} {NO_TEXT}"
        else:
            yield None


def sampled_rows(source: IngestSource, info: ObjectInfo) -> Iterator[Row | Event | Covered | None]:
    """What the first records of a file become; the last is None where it cannot be read, which its task will report."""
    try:
        for event in first_events(source, info, _LIMITS, MOST_RECORDS):
            yield row_of(event, info.path, "", source.rows) if isinstance(event, Record) else event
    except Exception as error:
        if not is_for_its_task(error):
            raise
        yield None
