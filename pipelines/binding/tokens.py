"""Binds the layer `mix.tokens`: what is counted in each text, and what the counts depend on."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from winnow.filters.edits import Pseudonyms
from winnow.filters.language.tokenizers import Tokenizer, load_tokenizer, tokenizer_digest
from winnow.filters.operators import STATUS
from winnow.pipelines.reading.chosen_text import text_setting
from winnow.pipelines.reading.columns import Column, column_of
from winnow.pipelines.reading.text_edits import BoundEdit, Edits, with_keys
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import Recipe

TOKENS_LAYER: Final = "mix.tokens"
TOKENS: Final = pa.schema([STATUS, pa.field("tokens", pa.int64()), pa.field("bytes", pa.int64())])
VERSION: Final = 1
"""The version of everything that decides the layer's values, given the tokenizer and the edits."""


@dataclass(frozen=True)
class BoundTokens:
    """The settings of token counts, without the keys of pseudonyms. Picklable."""

    text: tuple[Column, ...]  # in order of preference
    edits: tuple[BoundEdit, ...]
    tokenizer: str | None  # `bytes`, or the path of a file
    digest: str | None  # of the tokenizer

    def open_edits(self) -> Edits:
        """Return the edits with their keys, for this process.

        A text with unknown edits gets a status instead of raising an error: the rules may drop it.
        """
        return with_keys([replace(one, when_null="drop") if one.when_null == "error" else one for one in self.edits])

    def open_tokenizer(self) -> Tokenizer | None:
        """Load the tokenizer in this process."""
        if self.tokenizer is None:
            return None
        opened = load_tokenizer(self.tokenizer)
        if opened.digest != self.digest:
            raise StageError(f"{self.tokenizer}: changed during this run; run again")
        return opened


@dataclass(frozen=True)
class TokensLayer:
    """The layer and its settings for the driver. They include a digest of each key, as other keys give other texts."""

    bound: BoundTokens
    columns: tuple[Column, ...]
    settings: str
    layer: str = TOKENS_LAYER

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""
        return tuple(dict.fromkeys(column.layer for column in self.columns))

    @property
    def covers(self) -> None:
        """None: its values depend on a row alone."""

    def key(self, keys: Mapping[str, str]) -> str:
        """Return the layer's key for one source, given the keys of the layers that it reads."""
        return fingerprint_of({"settings": self.settings, "reads": {one: keys[one] for one in sorted(self.reads)}})


def bind_tokens(recipe: Recipe, columns: Iterable[Column], edits: tuple[BoundEdit, ...]) -> TokensLayer:
    """Return the layer of token counts that a recipe's mixture reads.

    RecipeError if the tokenizer's file is faulty, or an edit's key is missing.
    """
    assert recipe.mix is not None
    layers = {column.layer for column in columns}
    text = tuple(column for name in recipe.text if (column := column_of(name, layers)) is not None)
    named = recipe.mix.tokenizer
    path = named if named is None or named == "bytes" else os.path.abspath(recipe.located(named))
    try:
        digest = None if path is None else tokenizer_digest(path)
    except WinnowError as error:
        raise recipe_error([Problem(recipe.mix.place, "mix.tokenizer", str(error))]) from None
    bound = BoundTokens(text, edits, path, digest)
    opened = bound.open_edits()
    settings: Json = {
        "layer": TOKENS_LAYER,
        "version": VERSION,
        "tokenizer": digest,
        "text": text_setting(recipe.text),
        "edits": [_edit_settings(one, opened) for one in bound.edits],
    }
    return TokensLayer(bound, tuple(dict.fromkeys((*text, *opened.columns))), fingerprint_of(settings))


def _edit_settings(bound: BoundEdit, edits: Edits) -> Json:
    """Return what the edited text depends on: for a key its digest, not where it is stored."""
    opened = next((opened for one, opened in edits.replacements if one.column == bound.column), None)
    return {
        "column": bound.column.name,
        "action": bound.action,
        "kinds": None if bound.kinds is None else sorted(bound.kinds),
        "placeholders": dict(bound.placeholders),
        "key": opened.key.check if isinstance(opened, Pseudonyms) else None,
        "nulls": "keep" if bound.when_null == "keep" else "drop",
    }
