"""What the first records of the sources make certain: that nothing can be taken of them, or that a rule stops the run.

Pictures in a recipe whose unit is tokens, or files that are all empty, would otherwise fail after all is measured. One
row stops a run for which a rule's condition fails, or is null though `when_null: error`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

import pyarrow as pa

from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.media_names import may_be_medium
from winnow.pipelines.ingest.records import Dropped
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.mix.candidates import OF_MEDIA
from winnow.pipelines.preflight.check import Check, NewInput
from winnow.pipelines.preflight.sampler import MOST_RECORDS, WHOLE_BYTES
from winnow.pipelines.reading.conditions import selected_rows
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problem, one_line
from winnow.schemas.rows.samples import TIMESTAMP
from winnow.schemas.rules.certain_failures import remedy
from winnow.schemas.rules.conditions import columns_read

FIRST_FILES: Final = 4  # of a source, whose rows decide rules
FIRST_ROWS: Final = 256  # of a file
NO_TEXT: Final = "without text"
MOST_FILES: Final = 64  # of a source; of more, what they hold is not known without reading them
_OF_TEXTS: Final = ("megatron",)  # formats that hold nothing but texts, and none that is missing
_TEXTS: Final = ("samples.text", "extract.")  # columns that are null where a record has neither a text nor markup


def _nothing_to_mix(about: NewInput) -> Iterator[Problem]:
    """Refuses if it is certain that the mixture, or an export of texts, can take no sample of any source."""
    recipe = about.recipe.config
    mix = recipe.mix
    if mix is None or not about.is_first:
        return
    may_need = all(column.startswith(_TEXTS) for column in recipe.text)
    if why := _why_nothing(about, needs_text=may_need and mix.unit not in OF_MEDIA):
        hint = "; to take media without text, write unit: samples" if any(NO_TEXT in reason for reason in why) else ""
        said = f"no sample may be taken, since no record of the sources can be counted in {mix.unit}: {_listed(why)}"
        yield Problem(mix.place, "mix", f"{said}{hint}")
        return
    of_texts = [(number, one) for number, one in enumerate(recipe.export) if may_need and one.name in _OF_TEXTS]
    if of_texts and (why := _why_nothing(about, needs_text=True)):
        said = f"writes texts, but no record of the sources has one: {_listed(why)}; export another format"
        yield from (Problem(one.place, f"export[{number}].{one.name}", said) for number, one in of_texts)


def _listed(why: Counter[str]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in why.most_common(4))


def _why_nothing(about: NewInput, *, needs_text: bool) -> Counter[str]:
    """Why no record of any source can be taken, each with how many; empty if one can, or if that is not certain."""
    why: Counter[str] = Counter()
    for plan in about.plans:
        source, files = about.context.sources[plan.name], plan.listing.files
        if needs_text and format_of(source.format, "").has_sidecars and all(may_be_medium(one.path) for one in files):
            why[f"files of {source.format} {NO_TEXT}"] += len(files)
            continue
        if source.clips is not None or len(files) > MOST_FILES or any(info.size > WHOLE_BYTES for info in files):
            return Counter()
        for info in files:
            for number, one in enumerate(about.sampler.first(source, info, MOST_RECORDS), 1):
                row = None if one is None else one.row
                if isinstance(row, Dropped):
                    why[f"dropped as {row.reason}"] += 1
                elif needs_text and isinstance(row, Row) and row.text is None and row.html is None:
                    why[f"of {row.mime} {NO_TEXT}"] += 1
                else:  # it has a text, or other checks look at it
                    return Counter()
                if number == MOST_RECORDS:
                    return Counter()
    del why["dropped as padding"]
    return why


COLUMNS: Final[Mapping[str, tuple[Callable[[Row], object], pa.DataType]]] = {
    "samples.url": (lambda row: row.url, pa.string()),
    "samples.domain": (lambda row: row.domain, pa.string()),
    "samples.mime": (lambda row: row.mime, pa.string()),
    "samples.text": (lambda row: row.text, pa.string()),
    "samples.source.fetched_at": (lambda row: row.fetched_at, TIMESTAMP),
}
"""The columns that a row has before anything is measured, and that may be null: their values and types."""


def _undecidable(about: NewInput) -> Iterator[Problem]:
    """Refuses a rule that cannot be decided for one of the first rows of a source."""
    of_samples = [
        (one, columns)
        for one in (about.recipe.rules.rules if about.is_first else ())
        if (columns := columns_read(one.rule.drop)) and {*columns} <= COLUMNS.keys()
    ]
    for plan in about.plans if of_samples else ():
        source = about.context.sources[plan.name]
        if source.clips is not None:
            continue
        for info in islice((info for info in plan.listing.files if info.size <= WHOLE_BYTES), FIRST_FILES):
            first = about.sampler.first(source, info, MOST_RECORDS)
            rows = list(islice((one.row for one in first if one is not None and isinstance(one.row, Row)), FIRST_ROWS))
            for one, columns in [*of_samples] if rows else []:
                values = {name: pa.array(map(value, rows), of) for name in columns for value, of in [COLUMNS[name]]}
                condition = f"(\n{one.rule.drop}\n) IS NULL"  # line breaks, so that a comment ends with it
                try:
                    null = selected_rows(condition, values, len(rows))
                except RecipeError as error:
                    failure = one_line(str(error).removeprefix(f"condition {condition!r}: "))
                    said = (
                        f"the condition of {one.rule.reason!r} fails for a sample of the source {plan.name!r} "
                        f"({one_line(info.path)}): {failure}; {remedy(failure)}"
                    )
                    yield Problem(one.rule.place, one.path, said)
                    of_samples.remove((one, columns))
                    continue
                if one.rule.when_null == "error" and null.any():
                    names = ", ".join(name for name in columns if values[name][int(null.argmax())].as_py() is None)
                    said = (
                        f"the condition of {one.rule.reason!r} is null for a sample of the source {plan.name!r} "
                        f"({one_line(info.path)}), which has no {names}, and 'when_null' is error; write when_null: "
                        "keep or drop, or fill the column"
                    )
                    yield Problem(one.rule.place, one.path, said)
                    of_samples.remove((one, columns))


CHECKS = (
    Check("nothing_to_mix", NewInput, _nothing_to_mix, order=2),
    Check("undecidable", NewInput, _undecidable, order=3),
)
