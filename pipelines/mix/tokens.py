"""The layer `mix.tokens`: how long each text is once it is edited, in tokens of the recipe's tokenizer and in bytes.

It is measured of every sample, whatever the rules say, so that moving a threshold counts nothing again. A text whose
edits are unknown has no length, as it is not exported; neither has one that the tokenizer cannot encode.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.tokenizers import Tokenizer
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.edits import Edits
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER, BoundTokens, TokensLayer
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.row_layers import RowLayerTask, load_layers, pending_shards, write_layers
from winnow.pipelines.running.shard_rows import Part, read_parts, text_of
from winnow.pipelines.running.worker import Heart
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.state import StoreState
from winnow.schemas.errors import WinnowError
from winnow.schemas.tombstones import FORGOTTEN

STATUSES: Final = ("ok", "no_text", "left_out", FORGOTTEN, "edit_unmeasured", "unencodable")
OK, NO_TEXT, LEFT_OUT, GONE, EDIT_UNMEASURED, UNENCODABLE = range(len(STATUSES))

STAGE: Final = f"{TOKENS_LAYER}/"  # what strikes and poison are kept under


@dataclass(frozen=True)
class TokensContext:
    """What every task of the stage knows. Picklable."""

    store: Store
    bound: BoundTokens
    columns: tuple[Column, ...]


def owed_counts(store: Store, state: StoreState, layer: TokensLayer) -> list[RowLayerTask]:
    """The shards that have no counts yet; the layers that are read must stand."""
    _know(state, layer)
    return pending_shards(store, state, [layer])


def take_tokens(store: Store, recipe: BoundRecipe, state: StoreState) -> bool:
    """Take the layer into the state if it stands for every shard, as the recipe asks for it; returns whether it does.

    Where a key of pseudonyms is not at hand nobody can tell: the layer is left out, and is found again with the key.
    """
    if recipe.config.mix is None or TOKENS_LAYER in state.layers:
        return recipe.config.mix is not None
    try:
        layer = recipe.tokens
    except WinnowError:
        return False  # what is wrong with it is said by the stage that makes it
    assert layer is not None
    if not _know(state, layer):
        return False
    return not pending_shards(store, state, [layer]) and not load_layers(store, state, [layer])


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
