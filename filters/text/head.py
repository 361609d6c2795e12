"""Quality heads over the text's embedding, several in one pass: for each a score, and a probability or a grade.

A head is a small model that `winnow train-quality` trained on your labels, or another program's linear layers in
safetensors (`winnow.filters.models.heads.head`). A fastText model (`.bin`, `.ftz`) may stand beside them: it reads the
text, as `text.classifier` does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.models.heads.head import DECIMALS, Head, HeadCard, read_head
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, Operator, TextOperator
from winnow.filters.text.classifier import NO_WORDS, FastTextScorer, classify
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import NOT_WRITTEN, ByName, Matching

NAME: Final = "text.head"
NO_EMBEDDING: Final = "no_embedding"
"""The row has no vector, or one that is not finite."""

_FASTTEXT = (".bin", ".ftz")


@dataclass(frozen=True, slots=True)
class HeadFile:
    """One head, by the name of its columns."""

    name: str = field(metadata=NOT_WRITTEN)
    file: str  # the path of a .safetensors, or of a fastText .bin or .ftz
    positive: str = "__label__hq"  # fastText: the label whose probability is the answer


@dataclass(frozen=True, slots=True)
class HeadConfig:
    """The heads, and the layer of vectors that they read."""

    heads: Annotated[tuple[HeadFile, ...], ByName(Matching("[a-z][a-z0-9_]*", "a column's name"))] = ()  # required
    embedding: str = "text.embedding"  # the layer with the vectors
    language: str = "text.language.code"  # the column that chooses the calibration; "": that of all languages together

    def __post_init__(self) -> None:
        names = [name for one in self.heads for name in (one.name, f"{one.name}_score")]
        if len(set(names)) < len(names) or STATUS.name in names:
            raise ValueError(f"heads: two columns would have one name among {', '.join(names)}; rename a head")


Scored = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Scores and answers of the rows; NaN where there are none."""
Measure = Callable[[pa.RecordBatch], Scored]


def writes(config: HeadConfig) -> pa.Schema:
    """Two columns for each head: the score, and what the calibration makes of it."""
    names = [name for one in config.heads for name in (one.name, f"{one.name}_score")]
    return pa.schema([STATUS, *(pa.field(name, pa.float64()) for name in names)])


def vectors_of(rows: pa.ListArray, head: Head, path: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows that have a finite vector, and their vectors, one after the other.

    Raises:
        RecipeError: They are not as long as those that the head reads.
    """
    there = np.flatnonzero(rows.is_valid().to_numpy(zero_copy_only=False))
    lengths = np.diff(rows.offsets.to_numpy())[there]
    if (wrong := lengths[lengths != head.width]).size:
        raise RecipeError(
            f"{path}: the head reads vectors of {head.width:,} numbers, and the embedding has {wrong[0]:,}; "
            "use the encoder that it was trained on, or train it again"
        )
    numbers: NDArray[np.float32] = rows.flatten().to_numpy(zero_copy_only=False).reshape(-1, head.width)
    finite = np.isfinite(numbers).all(axis=1)
    return (there, numbers) if finite.all() else (there[finite], numbers[finite])


def _by_head(batch: pa.RecordBatch, head: Head, path: str, config: HeadConfig) -> Scored:
    rows, vectors = vectors_of(batch.column(f"{config.embedding}.vector"), head, path)
    scores, answers = np.full((2, batch.num_rows), np.nan)
    scores[rows] = head.scores(vectors)
    languages: Sequence[str | None] = (None,) * len(rows)
    if config.language:
        languages = batch.column(config.language).take(pa.array(rows)).to_pylist()
    answers[rows] = head.answers(scores[rows], languages)
    return scores, answers


def _by_fasttext(batch: pa.RecordBatch, scorer: FastTextScorer) -> Scored:
    found = classify(batch, scorer).column("score").to_numpy(zero_copy_only=False).astype(np.float64)
    return found, found


def measure(batch: pa.RecordBatch, config: HeadConfig, measures: Sequence[Measure]) -> pa.RecordBatch:
    """The layer of a batch: a row is `ok` if any head has an answer for it."""
    columns, known = [], np.zeros(batch.num_rows, np.bool_)
    for one in measures:
        scores, answers = one(batch)
        known |= ~np.isnan(scores)
        columns += [pa.array(values, pa.float64(), from_pandas=True) for values in (answers, scores)]
    absent = NO_EMBEDDING if any(not _is_fasttext(one) for one in config.heads) else NO_WORDS
    status = pa.array(np.where(known, "ok", absent).astype(object), pa.string())
    return pa.RecordBatch.from_arrays([status, *columns], schema=writes(config))


def _is_fasttext(head: HeadFile) -> bool:
    return head.file.lower().endswith(_FASTTEXT)


def _files(config: HeadConfig) -> tuple[str, ...]:
    if not config.heads:
        raise RecipeError(f"{NAME}: `heads` is not set; expected such as {{edu: {{file: edu.safetensors}}}}")
    return tuple(dict.fromkeys(one.file for one in config.heads))


def _reads(config: HeadConfig) -> tuple[str, ...]:
    texts = (TEXT,) if any(_is_fasttext(one) for one in config.heads) else ()
    if all(_is_fasttext(one) for one in config.heads):
        return texts
    return (*texts, f"{config.embedding}.vector", *((config.language,) if config.language else ()))


def heads_with_cards(config: HeadConfig, assets: Assets) -> Iterator[tuple[str, HeadCard]]:
    """The heads that say what they were trained on."""
    for one in config.heads:
        card = None if _is_fasttext(one) else read_head(assets.path(one.file)).card
        if card is not None:
            yield one.name, card


def _load(config: HeadConfig, assets: Assets) -> Kernel:
    measures: list[Measure] = []
    for one in config.heads:
        path = assets.path(one.file)
        if _is_fasttext(one):
            measures.append(partial(_by_fasttext, scorer=FastTextScorer(path, one.positive, "auto", DECIMALS)))
        else:
            measures.append(partial(_by_head, head=read_head(path), path=path, config=config))
    return partial(measure, config=config, measures=measures)


class _HeadOperator(TextOperator):
    """The operator; with a fastText model among its heads, one that needs a text."""

    __slots__ = ()

    def configured(self, config: HeadConfig) -> Operator:
        """Rows without a text are not measured where a head reads it."""
        if TEXT not in _reads(config):
            return self
        return replace(self, needs=(TEXT,))


OPERATOR = _HeadOperator(
    name=NAME,
    version=1,
    summary="quality by heads over the text's embedding, trained on your labels",
    config=HeadConfig,
    reads=_reads,
    writes=writes,
    load=_load,
    assets=_files,
    resource="model",
    reasons=(NO_EMBEDDING, NO_WORDS),
    needs=(),
    memory=72,  # as text.classifier's
)
