"""The layer `mix.tokens` as a recipe asks for it: what is counted of each text, and what the counts depend on."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from winnow.filters.edits import Pseudonyms
from winnow.filters.language.tokenizers import Tokenizer, load_tokenizer, tokenizer_digest
from winnow.filters.operators import STATUS
from winnow.pipelines.binding.edits import BoundEdit, Edits, with_keys
from winnow.pipelines.query.columns import Column, column_of
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import Recipe

TOKENS_LAYER: Final = "mix.tokens"
TOKENS: Final = pa.schema([STATUS, pa.field("tokens", pa.int64()), pa.field("bytes", pa.int64())])
VERSION: Final = 1
"""Of all that decides what the layer says of a text, given the tokenizer and the edits."""


@dataclass(frozen=True)
class BoundTokens:
    """What is counted, and everything that counts depend on but keys of pseudonyms. Picklable."""

    text: tuple[Column, ...]  # in order of preference
    edits: tuple[BoundEdit, ...]
    tokenizer: str | None  # `bytes`, or where the file lies
    digest: str | None  # of the tokenizer

    def edited(self) -> Edits:
        """What is done to texts, in this process.

        A text whose edits are unknown is told of, not refused: the rules may drop it.
        """
        return with_keys([replace(one, when_null="drop") if one.when_null == "error" else one for one in self.edits])

    def ready(self) -> Tokenizer | None:
        """The tokenizer, in this process."""
        if self.tokenizer is None:
            return None
        made = load_tokenizer(self.tokenizer)
        if made.digest != self.digest:
            raise StageError(f"{self.tokenizer}: has changed since this run began; run again")
        return made


@dataclass(frozen=True)
class TokensLayer:
    """The layer as its driver knows it: with a mark of each key of pseudonyms, as other keys make other texts."""

    bound: BoundTokens
    columns: tuple[Column, ...]
    settings: str
    layer: str = TOKENS_LAYER

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""
        return tuple(dict.fromkeys(column.layer for column in self.columns))

    def key(self, keys: Mapping[str, str]) -> str:
        """The layer's key for one source, from the keys of the layers that it reads there."""
        return fingerprint_of({"settings": self.settings, "reads": {one: keys[one] for one in sorted(self.reads)}})


def bind_tokens(recipe: Recipe, columns: Iterable[Column], edits: tuple[BoundEdit, ...]) -> TokensLayer:
    """The layer that a recipe's mixture reads.

    Args:
        recipe: Whose mixture; there must be one.
        columns: Every column that its store will have.
        edits: Its edits.

    Raises:
        RecipeError: What is wrong with its tokenizer's file, or a key of an edit is not there.
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
    made = bound.edited()
    settings: Json = {
        "layer": TOKENS_LAYER,
        "version": VERSION,
        "tokenizer": digest,
        "text": list(recipe.text),
        "edits": [_settled(one, made) for one in bound.edits],
    }
    return TokensLayer(bound, tuple(dict.fromkeys((*text, *made.columns))), fingerprint_of(settings))


def try_tokens(recipe: Recipe, layer: TokensLayer) -> None:
    """Load the tokenizer once, so that a damaged file or a missing package is told of before hours of work."""
    assert recipe.mix is not None
    try:
        layer.bound.ready()
    except WinnowError as error:
        raise recipe_error([Problem(recipe.mix.place, "mix.tokenizer", str(error))]) from None


def _settled(bound: BoundEdit, edits: Edits) -> Json:
    """An edit as far as it decides what a text becomes: of a key a mark, not where it is kept."""
    made = next((made for one, made in edits.replacements if one.column == bound.column), None)
    return {
        "column": bound.column.name,
        "action": bound.action,
        "kinds": None if bound.kinds is None else sorted(bound.kinds),
        "placeholders": dict(bound.placeholders),
        "key": made.key.check if isinstance(made, Pseudonyms) else None,
        "nulls": "keep" if bound.when_null == "keep" else "drop",
    }
