"""Binds a recipe's `edits` to columns of the store, which needs no key."""

from collections.abc import Iterable, Mapping, Sequence

from winnow.filters.operators import STATUS, TextOperator, operator_names
from winnow.filters.spans import SPANS, TYPED_SPANS
from winnow.pipelines.binding.operators import Measurement
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import Action, BoundEdit
from winnow.schemas.problems import Problem, nearest, recipe_error, shown, suggestion
from winnow.schemas.recipe import EditEntry, Recipe
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rules.checking import ColumnInfo

DEFAULT_SPANS = "spans"
"""The column that a layer's name means if the layer has several columns of spans."""


def bind_edits(
    recipe: Recipe, measured: Sequence[Measurement], columns: Mapping[Column, ColumnInfo]
) -> tuple[BoundEdit, ...]:
    """Return the recipe's edits, each with its column of spans; RecipeError with a line for each faulty edit.

    `measured` are the recipe's measurements, which declare the kinds of spans they find.
    """
    if not recipe.edits:
        return ()
    bound: list[BoundEdit] = []
    problems: list[Problem] = []
    first: dict[Column, str] = {}
    for number, entry in enumerate(recipe.edits):
        path = f"edits[{number}].{entry.name}"
        try:
            one = _bind_edit(recipe, entry, path, measured, columns)
        except _EditError as refused:
            problems.append(Problem(entry.place, path, str(refused)))
            continue
        if (other := first.setdefault(one.column, path)) != path:
            message = f"edits {one.column.name}, which {other} edits already; remove one of them"
            problems.append(Problem(entry.place, path, message))
        bound.append(one)
    if problems:
        raise recipe_error(problems)
    return tuple(bound)


class _EditError(Exception):
    """Why an entry cannot be bound."""


def _bind_edit(
    recipe: Recipe, entry: EditEntry, path: str, measured: Sequence[Measurement], known: Mapping[Column, ColumnInfo]
) -> BoundEdit:
    column, typed = _spans_column(entry.name, known)
    when_null = entry.when_null
    if column.layer.startswith(EXTRACTED):  # its spans refer to its own text; where that is missing, there are none
        own = f"{column.layer}.text"
        if recipe.text[:1] != (own,):
            raise _EditError(f"its places are those of {own}, which must come first in the recipe's 'text'")
        when_null = "keep"
    action: Action = entry.replace or ("placeholder" if typed else "delete")
    if not typed and (action != "delete" or entry.kinds is not None):
        what = f"replace: {action}" if action != "delete" else "'kinds'"
        raise _EditError(f"the spans of {column.name} have no kinds, so they can only be deleted; remove {what}")
    _require_kinds(measured, column, (*(entry.kinds or ()), *entry.placeholders.by_kind))
    return BoundEdit(
        column,
        action,
        entry.kinds,
        tuple(entry.placeholders.by_kind.items()),
        entry.key,
        None if entry.key_file is None else recipe.located(entry.key_file),
        path,
        entry.place,
        when_null,
        next((one for one in known if (one.layer, one.leaf) == (column.layer, STATUS.name)), None),
    )


def _require_kinds(measured: Sequence[Measurement], column: Column, named: Iterable[str]) -> None:
    """Refuse kinds that the operator never writes: their spans would silently stay in the text."""
    for one in measured:
        if one.entry.layer == column.layer:
            kinds = one.operator.kinds(one.config) if isinstance(one.operator, TextOperator) else ()
            for kind in named if kinds else ():
                if kind not in kinds:
                    raise _EditError(f"{column.layer} finds no {kind!r}{suggestion(kind, kinds)}")


def _spans_column(name: str, known: Mapping[Column, ColumnInfo]) -> tuple[Column, bool]:
    """Return the column of spans that an entry names, and whether its spans have kinds."""
    spans = {column: info.type == TYPED_SPANS for column, info in known.items() if info.type in (SPANS, TYPED_SPANS)}
    named = next((column for column in spans if column.name == name), None)
    if named is not None:
        return named, spans[named]
    of_layer = [column for column in spans if column.layer == name]
    if len(of_layer) > 1:
        default = [column for column in of_layer if column.leaf == DEFAULT_SPANS]
        if not default:
            raise _EditError(f"{name} has several columns of spans: {_names(of_layer)}; name one of them")
        of_layer = default
    if of_layer:
        return of_layer[0], spans[of_layer[0]]
    if any(name in (column.layer, column.name) for column in known):
        there = f"; columns of spans: {_names(spans)}" if spans else ""
        raise _EditError(f"{name} has no spans to edit{there}")
    candidates = {*(column.name for column in spans), *(column.layer for column in spans)}
    near = nearest(name, operator_names()) if name not in operator_names() else None
    hint = suggestion(name, candidates) or f"{f' (did you mean {near!r}?)' if near else ''}; add it to 'annotate'"
    raise _EditError(f"unknown layer or column {shown(name)}{hint}")


def _names(columns: Sequence[Column] | Mapping[Column, bool]) -> str:
    return ", ".join(column.name for column in columns)
