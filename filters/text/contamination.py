"""Which items of evaluation sets a text contains, by n-grams of their words: how much of each, and where.

Training data that contains evaluation sets makes evaluations worthless. What is too much is a rule, as published ones
differ: AFM (Apple, 2024) drops a document for any n-gram of 4 to 13 words unless 1,000 or more documents have it;
DCLM, Llama 2 and decon go by the share of an item that is found. Presets `contamination@…` are these.

A text's values depend on that text alone, unless `common_documents` is set: then n-grams are counted over all measured
rows of the store first, each row once.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.contamination.index import MOST_WORDS, Index, Ints, Part, build_index, find_hits
from winnow.filters.contamination.matches import matches_of, spans_of
from winnow.filters.contamination.sets import SET_NAME, SetConfig, read_set
from winnow.filters.models.file_state import FileState, file_state
from winnow.filters.operators import KEYS, TEXT, Assets, Kernel, Operator, RowLookup, TextOperator
from winnow.filters.spans import TYPED_SPANS
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between, ByName, NotEmpty
from winnow.schemas.uint128 import values_of, words_of

WRITES = pa.schema(
    [
        pa.field("words", pa.int64()),
        pa.field("ngrams", pa.int64()),  # of the sets, each once
        pa.field("common", pa.int64()),  # of the sets, in too many texts to count
        pa.field("share", pa.float64()),  # of the text's words, covered by n-grams of the sets
        pa.field("items", pa.int64()),  # of the sets, of which the text has an n-gram; listed are the best 16
        pa.field("set", pa.list_(pa.string())),
        pa.field("item", pa.list_(pa.int64())),  # its line in the set's file, or row of its table
        pa.field(
            "found", pa.list_(pa.float32())
        ),  # the share of the n-grams of its question, or its answer, that the text has
        pa.field("covered", pa.list_(pa.float32())),  # the share of its words that these n-grams cover
        pa.field("weighted", pa.list_(pa.float32())),  # `found`, where n-grams of few items weigh more
        pa.field("answered", pa.list_(pa.bool_())),  # whether its whole answer is near; null if it has none
        pa.field("spans", TYPED_SPANS),  # all that n-grams cover; the kind is set:item
    ]
)


@dataclass(frozen=True, slots=True)
class ContaminationConfig:
    """The evaluation sets, and which of their n-grams are searched for."""

    sets: Annotated[tuple[SetConfig, ...], ByName(SET_NAME)] = ()  # a recipe must give one
    min_item_words: Annotated[int, Between(2, 1000)] = 4  # AFM 2024; shorter items are not searched for
    max_ngram_words: Annotated[int, Between(2, MOST_WORDS)] = 13  # AFM 2024; a shorter question is one n-gram
    parts: Annotated[tuple[Part, ...], NotEmpty()] = ("question", "answer", "both")  # in which n-grams lie
    common_documents: Annotated[int, Between(2, 1 << 40)] | None = None  # AFM: 1000; n-grams in so many do not count


@dataclass(frozen=True)
class Searched:
    """What is searched for."""

    index: Index
    common: NDArray[np.bool_] | None = None  # n-grams that do not count


def files(config: ContaminationConfig) -> tuple[str, ...]:
    """The files of the sets.

    Raises:
        RecipeError: There is no set.
    """
    if not config.sets:
        raise RecipeError("name the evaluation sets: sets: {NAME: {file: eval.jsonl, question: [question]}}")
    return tuple(one.file for one in config.sets)


def open_index(config: ContaminationConfig, assets: Assets) -> Index:
    """The index of the sets of a configuration, made once a process.

    Raises:
        RecipeError: A set cannot be read.
    """
    return _index(config, tuple(file_state(assets.path(one.file)) for one in config.sets))


@lru_cache(maxsize=2)
def _index(config: ContaminationConfig, states: tuple[FileState, ...]) -> Index:
    sets = [read_set(one, Path(state.path)) for one, state in zip(config.sets, states, strict=True)]
    return build_index(sets, config.min_item_words, config.max_ngram_words, config.parts)


def measure(searched: Searched, batch: pa.RecordBatch) -> pa.RecordBatch:
    """`WRITES` of some texts."""
    texts, rows, index = batch.column(TEXT), batch.num_rows, searched.index
    hits = find_hits(texts, index, searched.common)
    matches = matches_of(hits, index, texts)
    lengths = hits.runs[2] - hits.runs[1]
    listed = np.searchsorted(matches.row, np.arange(rows + 1)).astype(np.int32)
    items = index.items

    def lists(values: pa.Array) -> pa.ListArray:
        return pa.ListArray.from_arrays(pa.array(listed), values)

    sets = pa.DictionaryArray.from_arrays(
        pa.array(items.set_of[matches.item], pa.int32()), pa.array(index.sets, pa.string())
    )
    columns = [
        pa.array(hits.words),
        pa.array(np.bincount(hits.row, minlength=rows)),
        pa.array(hits.common),
        pa.array(np.bincount(hits.runs[0], lengths, rows) / np.maximum(hits.words, 1)),
        pa.array(matches.items),
        lists(sets.cast(pa.string())),
        lists(pa.array(items.number[matches.item])),
        *(lists(pa.array(one.astype(np.float32))) for one in (matches.found, matches.covered, matches.weighted)),
        lists(matches.answered),
        spans_of(hits, matches, index, texts),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def load(config: ContaminationConfig, assets: Assets) -> Kernel:
    """Called once a process: sets are read and indexed here."""
    return partial(measure, Searched(open_index(config, assets)))


def offered_keys(index: Index, batch: pa.RecordBatch) -> tuple[Ints, pa.Array]:
    """The rows that have n-grams of the sets, and these."""
    hits = find_hits(batch.column(TEXT), index)
    grams = index.grams[hits.gram]
    return hits.row, values_of(np.zeros_like(grams), grams).cast(KEYS)


def load_shard(index: Index, answers: pa.RecordBatch) -> Kernel:
    """The kernel for a shard, from the n-grams of its rows that are common."""
    common = np.zeros(len(index.grams), np.bool_)
    if answers.num_rows:
        common[np.searchsorted(index.grams, words_of(answers.column("key"))[1])] = True
    return partial(measure, Searched(index, common))


def remarks(config: ContaminationConfig, assets: Assets) -> tuple[str, ...]:
    """Lines on items that are not searched for, as they have no text or too few words."""
    index = open_index(config, assets)
    found = []
    for number, name in enumerate(index.sets):
        own = index.items.set_of == number
        short, empty, every = int((index.items.size[own] == 0).sum()), index.empty[number], int(own.sum())
        said = [f"{short:,} have fewer than {config.min_item_words} words"] * bool(short)
        said += [f"{empty:,} are empty"] * bool(empty)
        if said:
            found.append(f"of {every + empty:,} items of {name} {' and '.join(said)}: these are not searched for")
    return tuple(found)


_LOOKUP: Final = RowLookup(
    max_answers=lambda _config: 1,
    offered_keys=offered_keys,
    load=load_shard,
    least_total=lambda config: config.common_documents,
    sent_bytes=1,
    prepare=open_index,
)


class _Contamination(TextOperator):
    """An operator that looks at other rows only where n-grams are counted."""

    def configured(self, config: Any) -> Operator:
        return _operator(_LOOKUP if config.common_documents else None)


def _operator(lookup: RowLookup | None) -> TextOperator:
    return _Contamination(
        name="text.contamination",
        version=1,
        summary="items of evaluation sets that a text contains: how much of each, and where",
        config=ContaminationConfig,
        reads=lambda _config: (TEXT,),
        writes=lambda _config: WRITES,
        load=load,
        lookup=lookup,
        assets=files,
        remarks=remarks,
        guarded=True,
        covered=("share", "words"),
        memory=40,
    )


OPERATOR = _operator(None)
