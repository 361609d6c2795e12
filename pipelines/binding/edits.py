"""A recipe's `edits` bound to columns of the store, and ready to be applied to texts.

Binding needs no key. A key is read where edits are applied, from where the recipe says that it is, and is held there
alone: what is bound, pickled, planned and written down knows only its name.
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
from winnow.filters.operators import STATUS
from winnow.pipelines.binding.operators import Measurement
from winnow.pipelines.query.columns import Column
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import Place, Problem, recipe_error, shown, suggestion
from winnow.schemas.recipe import EditEntry, Recipe
from winnow.schemas.rules import ColumnInfo

Action: TypeAlias = Literal["delete", "placeholder", "pseudonym"]
WhenNull: TypeAlias = Literal["keep", "drop", "error"]

USUAL = "spans"
"""The column that is meant by a layer's name, where the layer has several columns of spans."""

_MAX_KEY_FILE_BYTES = 1 << 16
_MAKE_ONE = "make one with: head -c 32 /dev/urandom | base64"


@dataclass(frozen=True)
class BoundEdit:
    """The spans of one column, and what becomes of them."""

    column: Column
    action: Action
    kinds: tuple[str, ...] | None  # None for all
    placeholders: tuple[tuple[str, str], ...]
    variable: str | None  # that holds the key
    file: str | None  # that holds the key, seen from the current directory
    path: str  # where the recipe has it
    place: Place
    when_null: WhenNull  # what becomes of a text whose spans are null
    status: Column | None  # which says why they are


@dataclass(frozen=True)
class EditedTexts:
    """Texts as they are exported, and which are not."""

    texts: pa.LargeStringArray  # null where dropped, and where there was none
    dropped: pa.BooleanArray  # their spans are null: what would have to go from them is unknown


@dataclass(frozen=True)
class Edits:
    """What is done to texts, with the keys that it takes: of this process alone."""

    deletions: tuple[BoundEdit, ...]
    replacements: tuple[tuple[BoundEdit, Replacement], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of spans and of why there are none, each once."""
        pairs = [(one.column, one.status) for one in self._bound]
        return tuple(dict.fromkeys(column for pair in pairs for column in pair if column is not None))

    @property
    def _bound(self) -> tuple[BoundEdit, ...]:
        return (*self.deletions, *(bound for bound, _ in self.replacements))

    def apply(self, texts: pa.LargeStringArray, columns: Mapping[str, pa.Array]) -> EditedTexts:
        """The texts as they are exported.

        Args:
            texts: The texts that were measured.
            columns: Each of `columns` by its dotted name, a value a text.

        Raises:
            RecipeError: The spans of a text are null where the recipe says that this is an error.
        """
        for one in self._bound:
            if one.when_null == "error":
                _refuse_null(one, texts, columns)
        gone, replaced = self._chosen(columns)
        dropped = unmeasured(texts, [*gone, *replaced])
        made = apply_edits(texts, gone, list(zip(replaced, (made for _, made in self.replacements), strict=True)))
        return EditedTexts(made, dropped)

    def of(self, text: str, columns: Mapping[str, pa.Array]) -> list[tuple[Edit, str]]:
        """The edits of one text, each with what stands in its place; none by spans that are null."""
        gone, replaced = self._chosen(columns)
        utf8, found = text.encode(), edits_of(text, gone, replaced)
        return [(edit, self._written(edit, utf8[edit.start : edit.end].decode())) for edit in found]

    def _written(self, edit: Edit, value: str) -> str:
        if edit.kind is None:
            return ""
        (written,) = self.replacements[edit.source][1].written([edit.kind], [value])
        return written

    def _chosen(self, columns: Mapping[str, pa.Array]) -> tuple[list[pa.ListArray], list[pa.ListArray]]:
        def chosen(bound: BoundEdit) -> pa.ListArray:
            column = columns[bound.column.name]
            if bound.when_null == "keep" and column.null_count:
                column = pc.fill_null(column, pa.scalar([], column.type))
            return column if bound.kinds is None else spans_of_kinds(column, bound.kinds)

        return [chosen(bound) for bound in self.deletions], [chosen(bound) for bound, _ in self.replacements]


def _refuse_null(bound: BoundEdit, texts: pa.LargeStringArray, columns: Mapping[str, pa.Array]) -> None:
    unknown = np.flatnonzero(np.asarray(unmeasured(texts, [columns[bound.column.name]])))
    if not len(unknown):
        return
    row = int(unknown[0])
    status = None if bound.status is None else columns[bound.status.name][row].as_py()
    why = "" if status is None else f" (its {bound.column.layer}.{STATUS.name} is {status!r})"
    raise RecipeError(
        f"{bound.place}: {bound.path}: {bound.column.name} is null for text {row}{why}, so what to edit in it is "
        "unknown, and 'when_null' says error; drop such texts by a rule, or say drop or keep"
    )


def bind_edits(
    recipe: Recipe, measured: Sequence[Measurement], columns: Mapping[Column, ColumnInfo]
) -> tuple[BoundEdit, ...]:
    """The recipe's edits, each with the column that it means.

    Args:
        recipe: Whose edits.
        measured: Its measurements, which say the kinds of spans that they find.
        columns: Every column that its store will have.

    Raises:
        RecipeError: Everything that is wrong with them, one line each.
    """
    if not recipe.edits:
        return ()
    bound: list[BoundEdit] = []
    problems: list[Problem] = []
    first: dict[Column, str] = {}
    for number, entry in enumerate(recipe.edits):
        path = f"edits[{number}].{entry.name}"
        try:
            one = _bound(recipe, entry, path, measured, columns)
        except _RefusedError as refused:
            problems.append(Problem(entry.place, path, str(refused)))
            continue
        if (other := first.setdefault(one.column, path)) != path:
            problems.append(Problem(entry.place, path, f"edits {one.column.name}, as {other} does; write one"))
        bound.append(one)
    if problems:
        raise recipe_error(problems)
    return tuple(bound)


def with_keys(bound: Sequence[BoundEdit], env: Mapping[str, str] = os.environ) -> Edits:
    """The edits, ready to be applied in this process.

    Raises:
        RecipeError: A key is not there, or too short to be one.
    """
    return Edits(
        tuple(one for one in bound if one.action == "delete"),
        tuple((one, _replacement(one, env)) for one in bound if one.action != "delete"),
    )


class _RefusedError(Exception):
    """Why an entry cannot be bound."""


def _bound(
    recipe: Recipe,
    entry: EditEntry,
    path: str,
    measured: Sequence[Measurement],
    known: Mapping[Column, ColumnInfo],
) -> BoundEdit:
    column, typed = _meant(entry.name, known)
    action: Action = entry.replace or ("placeholder" if typed else "delete")
    if not typed and (action != "delete" or entry.kinds is not None):
        what = f"replace: {action}" if action != "delete" else "'kinds'"
        raise _RefusedError(f"the spans of {column.name} are of no kind: they can only be deleted; leave {what} out")
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
        entry.when_null,
        next((one for one in known if (one.layer, one.leaf) == (column.layer, STATUS.name)), None),
    )


def _require_kinds(measured: Sequence[Measurement], column: Column, named: Iterable[str]) -> None:
    """A kind that the operator never writes would silently be left in the text."""
    for one in measured:
        if one.entry.layer == column.layer:
            kinds = one.operator.kinds(one.config)
            for kind in named if kinds else ():
                if kind not in kinds:
                    raise _RefusedError(f"{column.layer} finds no {kind!r}{suggestion(kind, kinds)}")


def _meant(name: str, known: Mapping[Column, ColumnInfo]) -> tuple[Column, bool]:
    """The column of spans that an entry names, and whether its spans are of some kind."""
    spans = {column: info.type == TYPED_SPANS for column, info in known.items() if info.type in (SPANS, TYPED_SPANS)}
    named = next((column for column in spans if column.name == name), None)
    if named is not None:
        return named, spans[named]
    of_layer = [column for column in spans if column.layer == name]
    if len(of_layer) > 1:
        usual = [column for column in of_layer if column.leaf == USUAL]
        if not usual:
            raise _RefusedError(f"{name} has several columns of spans: {_listed(of_layer)}; name one")
        of_layer = usual
    if of_layer:
        return of_layer[0], spans[of_layer[0]]
    if any(name in (column.layer, column.name) for column in known):
        there = f"; of spans there are: {_listed(spans)}" if spans else ""
        raise _RefusedError(f"{name} says nothing of what to delete or to replace: it has no spans{there}")
    candidates = {*(column.name for column in spans), *(column.layer for column in spans)}
    hint = suggestion(name, candidates) or "; name it under 'annotate' to have it measured"
    raise _RefusedError(f"unknown layer or column {shown(name)}{hint}")


def _listed(columns: Sequence[Column] | Mapping[Column, bool]) -> str:
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
                f"the variable {bound.variable} is not set; it holds the key of pseudonyms, of {MIN_KEY_BYTES} bytes "
                f"or more ({_MAKE_ONE})"
            )
        return value.encode("utf-8", "surrogateescape")
    file = Path(bound.file or "")
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would block, a device may never end
            raise WinnowError(f"{file}: not a file; expected one with the key of pseudonyms ({_MAKE_ONE})")
        with file.open("rb") as stream:
            raw = stream.read(_MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        raise WinnowError(f"{file}: cannot be read: {error.strerror}; it holds the key ({_MAKE_ONE})") from None
    if len(raw) > _MAX_KEY_FILE_BYTES:
        raise WinnowError(f"{file}: larger than {_MAX_KEY_FILE_BYTES:_} bytes; a key is short")
    return raw.rstrip(b"\r\n")
