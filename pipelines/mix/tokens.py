"""The layer `mix.tokens`: how long each text is once it is edited, in tokens of the recipe's tokenizer and in bytes.

It is measured of every sample, whatever the rules say, so that moving a threshold counts nothing again. A text whose
edits are unknown has no length, as it is not exported; neither has one that the tokenizer cannot encode.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.edits import Pseudonyms
from winnow.filters.language.tokenizers import Tokenizer, load_tokenizer, tokenizer_digest
from winnow.filters.operators import STATUS
from winnow.pipelines.binding.edits import BoundEdit, Edits, bind_edits, with_keys
from winnow.pipelines.binding.operators import store_columns
from winnow.pipelines.query.columns import Column, column_of
from winnow.pipelines.running.row_layers import RowLayerTask, load_layers, owed_shards, write_layers
from winnow.pipelines.running.shard_rows import Part, read_parts, text_of
from winnow.pipelines.running.worker import Heart, settle
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.state import StoreState
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import Recipe
from winnow.schemas.tombstones import FORGOTTEN

TOKENS_LAYER: Final = "mix.tokens"
TOKENS: Final = pa.schema([STATUS, pa.field("tokens", pa.int64()), pa.field("bytes", pa.int64())])
VERSION: Final = 1
"""Of all that decides what the layer says of a text, given the tokenizer and the edits."""

STATUSES: Final = ("ok", "no_text", "left_out", FORGOTTEN, "edit_unmeasured", "unencodable")
OK, NO_TEXT, LEFT_OUT, GONE, EDIT_UNMEASURED, UNENCODABLE = range(len(STATUSES))

STAGE: Final = f"{TOKENS_LAYER}/"  # what strikes and poison are kept under


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


@dataclass(frozen=True)
class TokensContext:
    """What every task of the stage knows. Picklable."""

    store: Store
    bound: BoundTokens
    columns: tuple[Column, ...]


def bind_tokens(recipe: Recipe) -> TokensLayer | None:
    """The layer that a recipe's mixture reads; None for a recipe without one.

    Raises:
        RecipeError: What is wrong with its edits or with its tokenizer's file, or a key is not there.
    """
    if recipe.mix is None:
        return None
    layers = {column.layer for column, _ in store_columns(recipe)}
    text = tuple(column for name in recipe.text if (column := column_of(name, layers)) is not None)
    named = recipe.mix.tokenizer
    path = named if named is None or named == "bytes" else os.path.abspath(recipe.located(named))
    try:
        digest = None if path is None else tokenizer_digest(path)
    except WinnowError as error:
        raise recipe_error([Problem(recipe.mix.place, "mix.tokenizer", str(error))]) from None
    bound = BoundTokens(text, bind_edits(recipe), path, digest)
    edits = bound.edited()
    settings: Json = {
        "layer": TOKENS_LAYER,
        "version": VERSION,
        "tokenizer": digest,
        "text": list(recipe.text),
        "edits": [_settled(one, edits) for one in bound.edits],
    }
    return TokensLayer(bound, tuple(dict.fromkeys((*text, *edits.columns))), fingerprint_of(settings))


def try_tokens(recipe: Recipe, layer: TokensLayer) -> None:
    """Load the tokenizer once, so that a damaged file or a missing package is told of before hours of work."""
    assert recipe.mix is not None
    try:
        layer.bound.ready()
    except WinnowError as error:
        raise recipe_error([Problem(recipe.mix.place, "mix.tokenizer", str(error))]) from None


def owed_counts(store: Store, state: StoreState, layer: TokensLayer) -> list[RowLayerTask]:
    """The shards that have no counts yet; the layers that are read must stand."""
    _know(state, layer)
    return owed_shards(store, state, [layer])


def take_tokens(store: Store, recipe: Recipe, state: StoreState) -> bool:
    """Take the layer into the state if it stands for every shard, as the recipe asks for it; returns whether it does.

    Where a key of pseudonyms is not at hand nobody can tell: the layer is left out, and is found again with the key.
    """
    if recipe.mix is None or TOKENS_LAYER in state.layers:
        return recipe.mix is not None
    try:
        layer = bind_tokens(recipe)
    except WinnowError:
        return False  # what is wrong with it is said by the stage that makes it
    assert layer is not None
    if not _know(state, layer):
        return False
    return not owed_shards(store, state, [layer]) and not load_layers(store, state, [layer])


def lacking_layers(state: StoreState, layer: TokensLayer) -> list[str]:
    """The layers that counts are made of and that do not stand."""
    return [one for one in layer.reads if one != layout.SAMPLES and one not in state.layers]


def _know(state: StoreState, layer: TokensLayer) -> bool:
    """Let the state know the keys of what the layer reads; False where something of it does not stand."""
    if lacking_layers(state, layer):
        return False
    for name in layer.reads:
        if name != layout.SAMPLES:
            state.keys[name] = {commit.source: commit.key for commit in state.layers[name]}
    return True


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


class CountTokens(beam.DoFn):
    """A committed shard without counts → the shard's name. Safe to repeat."""

    def __init__(self, context: TokensContext) -> None:
        self._context = context
        self._edits: Edits | None = None
        self._tokenizer: Tokenizer | None = None

    def setup(self) -> None:
        """Once a process."""
        settle()

    def process(self, element: bytes) -> Iterator[str]:
        """Counts and commits."""
        if self._edits is None:
            self._edits = self._context.bound.edited()
            self._tokenizer = self._context.bound.ready()
        task = RowLayerTask.from_json(element)
        heart = Heart(self._context.store.objects, TOKENS_LAYER, task.shard)
        try:
            count_shard(self._context, self._edits, self._tokenizer, task, heart)
        finally:
            heart.stop()
        yield task.shard


def count_shard(
    context: TokensContext, edits: Edits, tokenizer: Tokenizer | None, task: RowLayerTask, beat: Heart
) -> None:
    """Write one shard of the layer, and commit it."""
    texts = [column.name for column in context.bound.text]

    def counted(parts: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        return ({TOKENS_LAYER: count_tokens(part, texts, edits, tokenizer)} for part in parts)

    read = read_parts(context.store, STAGE, task.read, context.columns, texts)
    write_layers(context.store, task, {TOKENS_LAYER: TOKENS}, read, counted, beat)


def count_tokens(part: Part, text: list[str], edits: Edits, tokenizer: Tokenizer | None) -> pa.RecordBatch:
    """The layer of some rows.

    Args:
        part: The rows, with the columns of texts and of edits.
        text: The names of the columns of texts, in order of preference.
        edits: What is done to texts.
        tokenizer: What they are counted in beside bytes; None for nothing.
    """
    whole = text_of(text, part.columns)
    unread = np.zeros(part.count, np.bool_)
    fates = np.full(part.count, OK, np.int8)
    fates[whole.is_null().to_numpy(zero_copy_only=False)] = NO_TEXT
    for which, fate in ((part.left_out, LEFT_OUT), (part.forgotten, GONE)):
        if which is not None:
            fates[which] = fate
            unread |= which
    if unread.any():  # a row that kills its worker is not even looked at
        whole = whole.take(pa.array(np.arange(part.count), mask=unread))
    edited = edits.apply(whole, part.columns)
    fates[np.asarray(edited.dropped)] = EDIT_UNMEASURED
    sizes = pc.binary_length(edited.texts).cast(pa.int64())
    tokens = pa.nulls(part.count, pa.int64()) if tokenizer is None else tokenizer.count(edited.texts)
    if tokenizer is not None:
        fates[(fates == OK) & _null(tokens)] = UNENCODABLE
    status = pa.array(np.array(STATUSES, object)[fates], pa.string())
    return pa.RecordBatch.from_arrays([status, tokens, sizes], schema=TOKENS)


def _null(column: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found
