"""Texts of nearly the same letters, in any order: anagrams, and those that differ in a few letters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.components import spanning_forest
from winnow.filters.duplicates.kind import ROWS, DuplicateKind, Measure, Signature
from winnow.filters.duplicates.searches import BlockPairs, BlockSearch, Partitions, Positions, SentValues
from winnow.filters.operators import TEXT, Assets, Kernel, TextOperator
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import NOT_MEASURED, OK

LETTERS = 26
WRITES = pa.schema([pa.field("counts", pa.binary(LETTERS))])


@dataclass(frozen=True, slots=True)
class LettersConfig:
    """Nothing to set."""


def _load(_: LettersConfig, __: Assets) -> Kernel:
    def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
        texts = [text.as_py().lower() for text in batch.column(TEXT)]  # a small example; a kernel loops over arrays
        counts = [bytes(min(text.count(chr(97 + letter)), 255) for letter in range(LETTERS)) for text in texts]
        return pa.RecordBatch.from_arrays([pa.array(counts, WRITES.field("counts").type)], schema=WRITES)

    return measure


OPERATOR = TextOperator(
    name="text.letters",
    version=1,
    summary="how often each letter from a to z occurs",
    config=LettersConfig,
    reads=lambda _: (TEXT,),
    writes=lambda _: WRITES,
    load=_load,
)


@dataclass(frozen=True)
class SameLetters:
    """What the recipe may say under `dedupe: {letters: {…}}`."""

    most_apart: Annotated[int, Between(0, 1_000)] = 2  # letters that one text has and the other lacks
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 100


def _values(_: SameLetters, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    (counts,) = leaves
    return pc.if_else(counts.is_valid(), OK, NOT_MEASURED), counts


def _blocks(_: int, __: Partitions) -> int:
    return 1


def _send(_: SameLetters, values: pa.Array, __: int, ___: Mapping[str, pa.Array]) -> Iterator[SentValues]:
    yield SentValues(np.arange(len(values)), np.zeros(len(values), np.int64), counted={"texts": len(values)})


def _join(settings: SameLetters, values: pa.Array, _: Positions, __: int, ___: int) -> BlockPairs:
    counts = np.frombuffer(b"".join(values.to_pylist()), np.uint8).reshape(-1, LETTERS).astype(np.int64)
    apart = np.abs(counts[:, None] - counts[None]).sum(axis=2) + np.eye(len(counts), dtype=np.int64) * (1 << 20)
    nearest = apart.argmin(axis=1)
    least = apart[np.arange(len(counts)), nearest]
    matched = np.flatnonzero(least <= settings.most_apart)
    one, other = np.nonzero(np.triu(apart <= settings.most_apart))
    first, second = spanning_forest(one.astype(np.uint64), other.astype(np.uint64))
    forest = (first.astype(np.int64), second.astype(np.int64))
    return BlockPairs(matched, nearest[matched], 1 / (1.0 + least[matched]), True, forest)


def _said(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    return columns["likeness"], pc.if_else(columns["likeness"].is_valid(), "letters", None).cast(pa.string())


def _remarks(_: Any, counted: Mapping[str, int]) -> tuple[str, ...]:
    return (f"the letters of {counted['texts']} different texts were compared",)


KIND = DuplicateKind(
    name="letters",
    version=1,
    summary="texts of nearly the same letters",
    unit=ROWS,
    settings=SameLetters,
    signature=Signature("text.letters", ("counts",), _values),
    search=BlockSearch(_blocks, _send, _join),
    distinct="sets",
    measures=(Measure("likeness", pa.float64(), lambda found: found.similarity),),
    said=_said,
    described=lambda settings: f"texts that differ in at most {settings.most_apart} letters",
    remarks=_remarks,
)
