"""Applies a recipe's edits to texts.

A key is read only by the process that applies edits, and stays there: bound edits, pickles and plans hold only the name
of its variable or file.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.edits import (
    MIN_KEY_BYTES,
    NO_MOVES,
    Edit,
    Moves,
    Placeholders,
    Pseudonyms,
    Replacement,
    Secret,
    edited,
    edits_of,
    unmeasured,
)
from winnow.filters.operators import STATUS
from winnow.filters.spans import spans_of_kinds
from winnow.pipelines.reading.columns import Column
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import Place

Action: TypeAlias = Literal["delete", "placeholder", "pseudonym"]
WhenNull: TypeAlias = Literal["keep", "drop", "error"]

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
    moves: Moves = NO_MOVES  # where what is in the texts is after the edits


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

        `texts` are those that were measured; `columns` are the columns of spans and statuses by dotted name.
        RecipeError if the spans of a text are null, and `when_null` is error.
        """
        for one in self._bind_edit:
            if one.when_null == "error":
                _require_measured(one, texts, columns)
        deleted, replaced = self._spans(columns)
        dropped = unmeasured(texts, [*deleted, *replaced])
        made, moves = edited(texts, deleted, list(zip(replaced, (one for _, one in self.replacements), strict=True)))
        return EditedTexts(made, dropped, moves)

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


def with_keys(bound: Sequence[BoundEdit], env: Mapping[str, str] = os.environ) -> Edits:
    """Return the edits with their keys, for use in this process; RecipeError if a key is missing or too short."""
    return Edits(
        tuple(one for one in bound if one.action == "delete"),
        tuple((one, _replacement(one, env)) for one in bound if one.action != "delete"),
    )


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
