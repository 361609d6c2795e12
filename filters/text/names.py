"""Names of persons and street addresses, found by a model of another package.

winnow has no such model: a recipe names an installed one (see `filters/private/names.py`). A text is not
measured if the model does not know its language, fails, or returns a span outside the text or overlapping another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.filters.private.names import KINDS, ByteSpan, FoundModel, byte_spans, find_model, model_identity, no_model
from winnow.filters.spans import TYPED_SPANS, typed_spans_column
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

LANGUAGE = "text.language.code"
UNKNOWN = "und"

_SCHEMA = pa.schema(
    [
        STATUS,
        pa.field("model", pa.string()),  # with its package and version
        pa.field("names", pa.int32()),  # null where the model does not look for them
        pa.field("addresses", pa.int32()),
        pa.field("spans", TYPED_SPANS),
    ]
)
_COLUMNS = {"name": "names", "address": "addresses"}
_FAILED, _WRONG = "model_failed", "wrong_spans"


@dataclass(frozen=True, slots=True)
class Config:
    """The model, and how much text it gets."""

    model: str = ""  # an entry point of `winnow.ner`, package.module:object, or spacy:PIPELINE
    max_characters: Annotated[int, Between(1, 100_000_000)] = 100_000  # longer texts are not measured
    batch_texts: Annotated[int, Between(1, 10_000)] = 64  # texts per call of the model


class _Batch:
    """The results for one batch so far."""

    def __init__(self, found: FoundModel, config: Config, batch: pa.RecordBatch) -> None:
        self._found, self._config = found, config
        texts = batch.column(TEXT)
        short = pc.less_equal(pc.utf8_length(texts), config.max_characters)
        self._texts: list[str | None] = pc.if_else(short, texts, None).to_pylist()  # a long one is never decoded
        self._codes: list[str | None] = batch.column(LANGUAGE).to_pylist()
        self._status = ["ok"] * len(self._texts)
        self._spans: list[list[ByteSpan]] = [[] for _ in self._texts]

    def measured(self) -> pa.RecordBatch:
        """Measure all rows, language by language."""
        for language, rows in self._by_language().items():
            for first in range(0, len(rows), self._config.batch_texts):
                self._recognise(language, rows[first : first + self._config.batch_texts])
        unmeasured = np.array([status != "ok" for status in self._status], np.bool_)
        counts = {
            kind: np.array([sum(one[2] == kind for one in spans) for spans in self._spans], np.int32) for kind in KINDS
        }
        blind = {kind: unmeasured if kind in self._found.model.kinds else np.ones_like(unmeasured) for kind in KINDS}
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self._status, pa.string()),
                pa.array([self._found.label] * len(unmeasured), pa.string(), mask=unmeasured),
                *(pa.array(counts[kind], mask=blind[kind]) for kind in KINDS),
                _column(self._spans, unmeasured),
            ],
            schema=_SCHEMA,
        )

    def _by_language(self) -> Mapping[str, list[int]]:
        """The rows that the model reads, by ISO 639-3; the others get their status."""
        rows: dict[str, list[int]] = {}
        known: dict[str | None, bool] = {}
        for row, code in enumerate(self._codes):
            language = None if code is None else code.partition("_")[0]
            if language not in known:
                known[language] = self._found.knows(language)
            if not known[language]:
                self._status[row] = "no_language" if language is None else "no_detector"
            elif self._texts[row] is None:
                self._status[row] = "too_long"
            else:
                rows.setdefault(language or UNKNOWN, []).append(row)
        return rows

    def _recognise(self, language: str, rows: Sequence[int]) -> None:
        for row, answer in zip(rows, self._answers(language, [self._texts[row] or "" for row in rows]), strict=True):
            if isinstance(answer, str):
                self._status[row] = answer
            else:
                self._spans[row] = answer

    def _answers(self, language: str, texts: list[str]) -> Iterator[list[ByteSpan] | str]:
        """The spans of each text, or the reason there are none. If a batch fails, its texts are tried one by one."""
        try:
            found = [list(spans) for spans in self._found.model(list(texts), language)]
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, a model may raise anything at a text; the text is what it does not take
            if len(texts) == 1:
                yield _FAILED
                return
            for text in texts:
                yield from self._answers(language, [text])
            return
        if len(found) != len(texts):
            raise RecipeError(
                f"text.names: the model {self._found.label} gave {len(found)} lists of spans for {len(texts)} texts; "
                "expected one list per text"
            )
        for text, spans in zip(texts, found, strict=True):
            yield byte_spans(text, spans, self._found.model.kinds) or (_WRONG if spans else [])


def _column(
    spans: Sequence[Sequence[ByteSpan]], unmeasured: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> pa.ListArray:
    flat = [one for row in spans for one in row]
    column = typed_spans_column(
        np.concatenate([[0], np.cumsum([len(row) for row in spans], dtype=np.int64)]).astype(np.int64),
        np.array([one[:2] for one in flat], np.int32).reshape(-1, 2),
        [one[2] for one in flat],
    )
    return pa.ListArray.from_arrays(column.offsets, column.values, type=TYPED_SPANS, mask=pa.array(unmeasured))


def _measure(found: FoundModel, config: Config, batch: pa.RecordBatch) -> pa.RecordBatch:
    return _Batch(found, config, batch).measured()


def _load(config: Config, _assets: Assets) -> Kernel:
    if not config.model:
        raise RecipeError(no_model("text.names"))
    return partial(_measure, find_model(config.model), config)


def _kinds(config: Config) -> frozenset[str]:
    """The kinds that the model looks for; all kinds if it is not set or missing, which `load` reports."""
    try:
        return find_model(config.model).model.kinds if config.model else frozenset(KINDS)
    except RecipeError:
        return frozenset(KINDS)


def _languages(config: Config) -> frozenset[str] | None:
    try:
        return find_model(config.model).model.languages if config.model else frozenset()
    except RecipeError:
        return frozenset()


OPERATOR = TextOperator(
    name="text.names",
    version=1,
    summary="names of persons and street addresses as typed spans, by a model of another package",
    config=Config,
    reads=lambda _config: (TEXT, LANGUAGE),
    writes=lambda _config: _SCHEMA,
    load=_load,
    resource="model",
    reasons=("no_language", "no_detector", "too_long", _FAILED, _WRONG),
    detects=lambda config: {_COLUMNS[kind]: f"personal.{kind}" for kind in KINDS if kind in _kinds(config)},
    languages=_languages,
    depends=lambda config: model_identity(config.model) if config.model else (),
    kinds=lambda _config: KINDS,
)
