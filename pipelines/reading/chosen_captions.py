"""Chooses each row's captions: of the columns that a recipe's `captions` names, the first that has any."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.items import list_counts, list_ends
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.samples import CAPTION, SAMPLES
from winnow.schemas.rules.checking import ColumnInfo

SAMPLE_CAPTIONS = Column("samples", "captions")
_TYPE = SAMPLES.field("captions").type
_PARTS = [(part.name, part.type) for part in CAPTION]  # which may be null in layers


def bind_captions(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> tuple[Column, ...]:
    """Return the columns that `captions` names, in order of preference; RecipeError if one does not exist, or has no
    captions."""
    known = {column.name: column for column, info in columns.items() if _has_captions(info.type)}
    for name in recipe.captions:
        if name not in known:
            raise RecipeError(
                f"{recipe.file}: captions: {shown(name)} is no column of captions{suggestion(name, list(known))}; "
                f"these are: {', '.join(known)}"
            )
    return tuple(known[name] for name in recipe.captions)


def _has_captions(kind: pa.DataType) -> bool:
    lists_structs = isinstance(kind, pa.ListType) and isinstance(kind.value_type, pa.StructType)
    return lists_structs and [(part.name, part.type) for part in kind.value_type] == _PARTS


def _without_nulls(column: pa.ListArray) -> pa.ListArray:
    """Lists without the elements that are null: of videos without subtitles, among others."""
    elements = column.flatten()
    if not elements.null_count:
        return column.cast(_TYPE)
    there = elements.is_valid().to_numpy(zero_copy_only=False)
    kept = np.concatenate([[0], np.cumsum(there)])[list_ends(column)]
    return pa.ListArray.from_arrays(pa.array(kept, pa.int32()), elements.filter(pa.array(there))).cast(_TYPE)


def chosen_captions(columns: Sequence[pa.Array]) -> pa.ListArray:
    """Of each row, the captions of the first column that has any; an empty list where none has."""
    count = len(columns[0])
    columns = [_without_nulls(column) for column in columns]
    chosen = np.full(count, count * len(columns), np.int64)  # an empty list behind all of them
    for number in reversed(range(len(columns))):
        there = list_counts(columns[number]) > 0
        chosen[there] = number * count + np.flatnonzero(there)
    return pa.concat_arrays([*columns, pa.array([[]], _TYPE)]).take(pa.array(chosen))
