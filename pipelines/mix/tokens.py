"""Writes the layer `mix.tokens`: the length of each edited text, in tokens of the recipe's tokenizer and in bytes.

Every sample is counted, whether the rules keep it or not, so that a changed threshold needs no new counts. A text with
unknown edits has no length, because it is not exported; a text that the tokenizer cannot encode has only bytes.
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
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER, BoundTokens, TokensLayer
from winnow.pipelines.reading.chosen_text import text_of
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import Edits
from winnow.pipelines.running.row_layers import PendingShards, RowLayerTask, load_layers, pending_shards, write_layers
from winnow.pipelines.running.shard_rows import Part, read_parts
from winnow.pipelines.running.worker import HeartbeatWriter
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.state import StoreState
from winnow.schemas.errors import WinnowError
from winnow.schemas.tombstones import FORGOTTEN

STATUSES: Final = ("ok", "no_text", "left_out", FORGOTTEN, "edit_unmeasured", "unencodable")
OK, NO_TEXT, LEFT_OUT, IS_FORGOTTEN, EDIT_UNMEASURED, UNENCODABLE = range(len(STATUSES))

STAGE: Final = f"{TOKENS_LAYER}/"  # the prefix for strikes and poison records


@dataclass(frozen=True)
class TokensContext:
    """The settings of the stage that every task gets. Picklable."""

    store: Store
    bound: BoundTokens
    columns: tuple[Column, ...]


def pending_counts(state: StoreState, layer: TokensLayer) -> PendingShards:
    """Return the shards without counts; the layers that counts depend on must exist."""
    _load_keys(state, layer)
    return pending_shards(state, [layer])


def load_tokens(recipe: BoundRecipe, state: StoreState) -> bool:
    """Add the layer to the state if every shard has it for this recipe; return whether that is so.

    Without the key of pseudonyms this cannot be known: the layer is then left out, and found again with the key.
    """
    if recipe.config.mix is None or TOKENS_LAYER in state.layers:
        return recipe.config.mix is not None
    try:
        layer = recipe.tokens
    except WinnowError:
        return False  # the stage that computes it reports the problem
    assert layer is not None
    if not _load_keys(state, layer):
        return False
    return not pending_shards(state, [layer]) and not load_layers(state, [layer])


def missing_layers(state: StoreState, layer: TokensLayer) -> list[str]:
    """Return the layers that counts depend on and that do not exist."""
    return [read for read in layer.reads if read != layout.SAMPLES and read not in state.layers]


def _load_keys(state: StoreState, layer: TokensLayer) -> bool:
    """Add the keys of the layers that counts depend on to the state; return whether all of them exist."""
    if missing_layers(state, layer):
        return False
    for name in layer.reads:
        if name != layout.SAMPLES:
            state.note_keys(name)
    return True


def count_shard(
    context: TokensContext, edits: Edits, tokenizer: Tokenizer | None, task: RowLayerTask, heartbeat: HeartbeatWriter
) -> None:
    """Write and commit one shard of the layer."""
    texts = [column.name for column in context.bound.text]

    def count_parts(parts: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        return ({TOKENS_LAYER: count_tokens(part, texts, edits, tokenizer)} for part in parts)

    read = read_parts(context.store, STAGE, task.read, context.columns, texts)
    write_layers(context.store, task, {TOKENS_LAYER: TOKENS}, read, count_parts, heartbeat)


def count_tokens(part: Part, text: list[str], edits: Edits, tokenizer: Tokenizer | None) -> pa.RecordBatch:
    """Return the layer for some rows. `text`: the columns of texts, in order of preference. Without a tokenizer only
    bytes are counted."""
    original = text_of(text, part.columns)
    unread = np.zeros(part.count, np.bool_)
    codes = np.full(part.count, OK, np.int8)
    codes[original.is_null().to_numpy(zero_copy_only=False)] = NO_TEXT
    for which, code in ((part.left_out, LEFT_OUT), (part.forgotten, IS_FORGOTTEN)):
        if which is not None:
            codes[which] = code
            unread |= which
    if unread.any():  # rows that kill workers are not read
        original = original.take(pa.array(np.arange(part.count), mask=unread))
    edited = edits.apply(original, part.columns)
    codes[np.asarray(edited.dropped)] = EDIT_UNMEASURED
    sizes = pc.binary_length(edited.texts).cast(pa.int64())
    tokens = pa.nulls(part.count, pa.int64()) if tokenizer is None else tokenizer.count(edited.texts)
    if tokenizer is not None:
        codes[(codes == OK) & _null(tokens)] = UNENCODABLE
    status = pa.array(np.array(STATUSES, object)[codes], pa.string())
    return pa.RecordBatch.from_arrays([status, tokens, sizes], schema=TOKENS)


def _null(column: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found
