"""Whether a rule is certain to stop the run, by the first rows of the sources.

One row stops it for which the condition fails, or is null though `when_null: error`. So one of the first rows is
enough, and it is told before anything is measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import pyarrow as pa

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.ingest.planning.context import IngestContext, IngestSource
from winnow.pipelines.ingest.planning.stage import SourcePlan
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.estimating.takeable import MOST_BYTES, sampled_rows
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problem, one_line, recipe_error
from winnow.schemas.rows.samples import TIMESTAMP
from winnow.schemas.rules.certain_failures import remedy
from winnow.schemas.rules.conditions import columns_read

COLUMNS: Final[Mapping[str, tuple[Callable[[Row], object], pa.DataType]]] = {
    "samples.url": (lambda row: row.url, pa.string()),
    "samples.domain": (lambda row: row.domain, pa.string()),
    "samples.mime": (lambda row: row.mime, pa.string()),
    "samples.text": (lambda row: row.text, pa.string()),
    "samples.source.fetched_at": (lambda row: row.fetched_at, TIMESTAMP),
}
"""The columns that a row has before anything is measured, and that may be null: their values and types."""

MOST_FILES: Final = 4  # of a source
MOST_ROWS: Final = 256  # of a file


def refuse_undecidable(recipe: BoundRecipe, context: IngestContext, plans: Sequence[SourcePlan]) -> None:
    """Raise RecipeError if a rule cannot be decided for one of the first rows of a source."""
    of_samples = [
        (one, columns)
        for one in recipe.rules.rules
        if (columns := columns_read(one.rule.drop)) and {*columns} <= COLUMNS.keys()
    ]
    if not of_samples:
        return
    problems = []
    for plan in plans:
        source = context.sources[plan.name]
        if source.clips is not None:
            continue
        for info in islice((info for info in plan.listing.files if info.size <= MOST_BYTES), MOST_FILES):
            rows = list(islice(_rows(source, info), MOST_ROWS))
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
                    problems.append(Problem(one.rule.place, one.path, said))
                    of_samples.remove((one, columns))
                    continue
                if one.rule.when_null == "error" and null.any():
                    names = ", ".join(name for name in columns if values[name][int(null.argmax())].as_py() is None)
                    said = (
                        f"the condition of {one.rule.reason!r} is null for a sample of the source {plan.name!r} "
                        f"({one_line(info.path)}), which has no {names}, and 'when_null' is error; write when_null: "
                        "keep or drop, or fill the column"
                    )
                    problems.append(Problem(one.rule.place, one.path, said))
                    of_samples.remove((one, columns))
    if problems:
        raise recipe_error(problems)


def _rows(source: IngestSource, info: ObjectInfo) -> Iterator[Row]:
    return (row for row in sampled_rows(source, info) if isinstance(row, Row))
