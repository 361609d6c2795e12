"""Binds a recipe's `edits` to columns of the store, and applies them to texts.

Binding needs no key. A key is read only by the process that applies edits, and stays there: bound edits, pickles and
plans hold only the name of its variable or file.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.edits import (
    MIN_KEY_BYTES,
    SPANS,
    TYPED_SPANS,
    Edit,
    Placeholders,
    Pseudonyms,
    Replacement,
    Secret,
    apply_edits,
    edits_of,
    spans_of_kinds,
    unmeasured,
)
from winnow.filters.operators import STATUS, TextOperator, operator_names
from winnow.pipelines.binding.operators import Measurement
from winnow.pipelines.reading.columns import Column
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import Place, Problem, nearest, recipe_error, shown, suggestion
from winnow.schemas.recipe import EditEntry, Recipe
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rules.checking import ColumnInfo

Action: TypeAlias = Literal["delete", "placeholder", "pseudonym"]
WhenNull: TypeAlias = Literal["keep", "drop", "error"]

DEFAULT_SPANS = "spans"
"""The column that a layer's name means if the layer has several columns of spans."""

_MAX_KEY_FILE_BYTES = 1 << 16
_MAKE_A_KEY = "make one with: head -c 32 /dev/urandom | base64"


@dataclass(frozen=True)
class BoundEdit:
    """A column of spans, and how they are edited."""

    column: Column
    action: Action
    kinds: tuple[str, ...] | None  # None for all
    placeholders: tuple[tuple[str, str], ...]
    variable: str | None  # the environment variable with the key
    file: str | None  # the file with the key; relative to the current directory
    path: str  # the edit's path in the recipe
    place: Place
    when_null: WhenNull  # the treatment of texts whose spans are null
    status: Column | None  # says why spans are null


@dataclass(frozen=True)
class EditedTexts:
    """Edited texts, and which of them are dropped."""

    texts: pa.LargeStringArray  # null if dropped, or if there was no text
    dropped: pa.BooleanArray  # whether spans are null, so that the edits are unknown


@dataclass(frozen=True)
class Edits:
    """Edits with their keys, for this process only."""

    deletions: tuple[BoundEdit, ...]
    replacements: tuple[tuple[BoundEdit, Replacement], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of spans and of their status, each once."""
        pairs = [(one.column, one.status) for one in self._bind_edit]
        return tuple(dict.fromkeys(column for pair in pairs for column in pair if column is not None))

    @property
    def _bind_edit(self) -> tuple[BoundEdit, ...]:
        return (*self.deletions, *(bound for bound, _ in self.replacements))

    def apply(self, texts: pa.LargeStringArray, columns: Mapping[str, pa.Array]) -> EditedTexts:
        """Return the edited texts.

        Args:
            texts: The texts that were measured.
            columns: Each of `columns` by its dotted name, with one value per text.

        Raises:
            RecipeError: The spans of a text are null, and `when_null` is error.
        """
        for one in self._bind_edit:
            if one.when_null == "error":
                _require_measured(one, texts, columns)
        deleted, replaced = self._spans(columns)
        dropped = unmeasured(texts, [*deleted, *replaced])
        edited = apply_edits(
            texts, deleted, list(zip(replaced, (edited for _, edited in self.replacements), strict=True))
        )
        return EditedTexts(edited, dropped)

    def of(self, text: str, columns: Mapping[str, pa.Array]) -> list[tuple[Edit, str]]:
        """Return the edits of one text, each with its replacement; null spans give none."""
        deleted, replaced = self._spans(columns)
        utf8, found = text.encode(), edits_of(text, deleted, replaced)
        return [(edit, self._replacement_text(edit, utf8[edit.start : edit.end].decode())) for edit in found]

    def _replacement_text(self, edit: Edit, value: str) -> str:
        if edit.kind is None:
            return ""
        (written,) = self.replacements[edit.source][1].written([edit.kind], [value])
        return written

    def _spans(self, columns: Mapping[str, pa.Array]) -> tuple[list[pa.ListArray], list[pa.ListArray]]:
        def chosen(bound: BoundEdit) -> pa.ListArray:
            column = columns[bound.column.name]
            if bound.when_null == "keep" and column.null_count:
                column = pc.fill_null(column, pa.scalar([], column.type))
            return column if bound.kinds is None else spans_of_kinds(column, bound.kinds)

        return [chosen(bound) for bound in self.deletions], [chosen(bound) for bound, _ in self.replacements]


def _require_measured(bound: BoundEdit, texts: pa.LargeStringArray, columns: Mapping[str, pa.Array]) -> None:
    unknown = np.flatnonzero(np.asarray(unmeasured(texts, [columns[bound.column.name]])))
    if not len(unknown):
        return
    row = int(unknown[0])
    status = None if bound.status is None else columns[bound.status.name][row].as_py()
    why = "" if status is None else f" (its {bound.column.layer}.{STATUS.name} is {status!r})"
    raise RecipeError(
        f"{bound.place}: {bound.path}: {bound.column.name} is null for text {row}{why}, and 'when_null' is error; "
        "drop such texts with a rule, or set when_null: drop or keep"
    )


def bind_edits(
    recipe: Recipe, measured: Sequence[Measurement], columns: Mapping[Column, ColumnInfo]
) -> tuple[BoundEdit, ...]:
    """Return the recipe's edits, each with its column of spans.

    Args:
        recipe: The recipe.
        measured: Its measurements, which declare the kinds of spans that they find.
        columns: Every column of its store.

    Raises:
        RecipeError: Edits are faulty, with one line each.
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


def with_keys(bound: Sequence[BoundEdit], env: Mapping[str, str] = os.environ) -> Edits:
    """Return the edits with their keys, for use in this process.

    Raises:
        RecipeError: A key is missing or too short.
    """
    return Edits(
        tuple(one for one in bound if one.action == "delete"),
        tuple((one, _replacement(one, env)) for one in bound if one.action != "delete"),
    )


class _EditError(Exception):
    """Why an entry cannot be bound."""


def _bind_edit(
    recipe: Recipe,
    entry: EditEntry,
    path: str,
    measured: Sequence[Measurement],
    known: Mapping[Column, ColumnInfo],
) -> BoundEdit:
    column, typed = _spans_column(entry.name, known)
    when_null = entry.when_null
    if column.layer.startswith(EXTRACTED):  # its places are those of its own text, and where that is missing, none
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


def _replacement(bound: BoundEdit, env: Mapping[str, str]) -> Replacement:
    if bound.action == "placeholder":
        return Placeholders(dict(bound.placeholders))
    try:
        return Pseudonyms(Secret(_key(bound, env)))
    except (ValueError, WinnowError) as error:
        setting = "key" if bound.variable is not None else "key_file"
        raise RecipeError(f"{bound.place}: {bound.path}.{setting}: {error}") from None


def _key(bound: BoundEdit, env: Mapping[str, str]) -> bytes:
    if bound.variable is not None:
        value = env.get(bound.variable)
        if value is None:
            raise WinnowError(
                f"the environment variable {bound.variable} is not set; it must hold the key of pseudonyms, at least "
                f"{MIN_KEY_BYTES} bytes ({_MAKE_A_KEY})"
            )
        return value.encode("utf-8", "surrogateescape")
    file = Path(bound.file or "")
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would block, a device may never end
            raise WinnowError(f"{file}: not a file; expected a file with the key of pseudonyms ({_MAKE_A_KEY})")
        with file.open("rb") as stream:
            raw = stream.read(_MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        message = (
            f"{file}: cannot be read: {error.strerror}; expected a file with the key of pseudonyms ({_MAKE_A_KEY})"
        )
        raise WinnowError(message) from None
    if len(raw) > _MAX_KEY_FILE_BYTES:
        raise WinnowError(f"{file}: larger than {_MAX_KEY_FILE_BYTES:_} bytes; expected a file with only the key")
    return raw.rstrip(b"\r\n")
