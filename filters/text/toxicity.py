"""Toxicity of English texts (rude, obscene, threatening, hateful) by a network trained on comments.

The network is the Jigsaw BiLSTM of `toxic-comment-classifier` 0.3.0, run without TensorFlow. It reads 100 known words
at a time. A longer text is read in several windows, spread evenly from its first known word to its last; each score is
the highest of all windows. A text of at most 100 known words gets the package's own scores.

Scores are of the pinned class: those of the same file, version of ONNX Runtime and instruction set, rounded to 1e-4.
The network knows only English, and comments better than prose: it misses sexual spam and flags quoted abuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.models.file_state import FileState, file_state
from winnow.filters.models.toxicity import LABELS, MODEL, NAME, TOKENS, Network, Vocabulary
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.recipe.checks import Between

LANGUAGE = "text.language.code"

NO_LANGUAGE = "no_language"
NO_DETECTOR = "no_detector"
NO_WORDS = "no_words"
"""The network knows no word of the text."""

_DECIMALS = 4
_GROUP_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class ToxicityConfig:
    """How much of a long text is read."""

    max_windows: Annotated[int, Between(1, 10_000)] = 4  # of 100 known words; 1 reads only the beginning


WRITES = pa.schema(
    [
        STATUS,
        *(pa.field(label, pa.float64()) for label in LABELS),  # probabilities
        pa.field("words", pa.int32()),
        pa.field("known_words", pa.float64()),  # share of words that the network knows
        pa.field("windows", pa.int32()),  # scored
        pa.field("read_words", pa.float64()),  # share of known words inside a window
    ]
)


@dataclass(frozen=True)
class _Model:
    network: Network
    vocabulary: Vocabulary


def starts_of(known: int, max_windows: int) -> npt.NDArray[np.int64]:
    """The starts of the windows of a text with this many known words."""
    most = min(-(-known // TOKENS), max_windows)
    last = max(known - TOKENS, 0)
    return np.arange(most) * last // max(most - 1, 1) if most > 1 else np.zeros(most, np.int64)


def _windows(numbers: npt.NDArray[np.uint16], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The windows of one text, left-padded with zeros."""
    windows = np.zeros((len(starts), TOKENS), np.int64)
    for row, start in enumerate(starts.tolist()):
        seen = numbers[start : start + TOKENS]
        windows[row, TOKENS - len(seen) :] = seen
    return windows


def _score(texts: list[str], model: _Model, max_windows: int) -> Iterator[tuple[object, ...]]:
    """The measures of each text, after its status."""
    found = model.vocabulary.numbered(texts)
    starts = [starts_of(int(known), max_windows) for known in np.diff(found.bounds)]
    parts = [
        _windows(found.numbers[begin:end], places)
        for begin, end, places in zip(found.bounds[:-1], found.bounds[1:], starts, strict=True)
    ]
    scores = model.network.score(np.concatenate(parts))
    at = 0
    for places, words, known in zip(starts, found.words.tolist(), np.diff(found.bounds).tolist(), strict=True):
        if not known:
            yield (NO_WORDS, *([None] * (len(WRITES) - 1)))
            continue
        highest = scores[at : at + len(places)].max(axis=0).astype(np.float64)
        at += len(places)
        read = min(len(places) * TOKENS, known)
        yield ("ok", *highest.round(_DECIMALS).tolist(), words, known / words, len(places), read / known)


def _status(code: str | None) -> str:
    if code is None:
        return NO_LANGUAGE
    return "ok" if code.partition("_")[0] == "eng" else NO_DETECTOR


def measure_toxicity(batch: pa.RecordBatch, model: _Model, max_windows: int) -> pa.RecordBatch:
    """The layer of a batch of texts; languages other than English have no scores."""
    rows: list[tuple[object, ...]] = []
    for group in _groups(batch):
        english = [text for text, status in group if status == "ok"]
        scored = _score(english, model, max_windows) if english else iter(())
        rows += [next(scored) if status == "ok" else (status, *([None] * (len(WRITES) - 1))) for _, status in group]
    columns = list(zip(*rows, strict=True)) or [()] * len(WRITES)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, WRITES, strict=True)], schema=WRITES
    )


def _groups(batch: pa.RecordBatch) -> Iterator[list[tuple[str, str]]]:
    """Texts and statuses in order, some megabytes at a time; a text that is not scored is not read."""
    group: list[tuple[str, str]] = []
    size = 0
    for text, code in zip(batch[TEXT], batch[LANGUAGE].to_pylist(), strict=True):
        status = _status(code)
        group.append((text.as_py() if status == "ok" else "", status))
        size += len(group[-1][0])
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


@lru_cache(maxsize=2)
def _model(file: FileState) -> _Model:
    network = Network(file.path)
    return _Model(network, Vocabulary(network.words))


def _load(config: ToxicityConfig, assets: Assets) -> Kernel:
    model = _model(file_state(assets.path(NAME)))
    return lambda batch: measure_toxicity(batch, model, config.max_windows)


OPERATOR = TextOperator(
    name="text.toxicity",
    version=2,
    summary="six kinds of toxicity of English texts, by the Jigsaw network (asset toxicity.en)",
    config=ToxicityConfig,
    reads=lambda _config: (TEXT, LANGUAGE),
    writes=lambda _config: WRITES,
    load=_load,
    memory=4,
    assets=lambda _config: (NAME,),
    declares=(MODEL,),
    resource="model",
    reasons=(NO_LANGUAGE, NO_DETECTOR, NO_WORDS),
    detects=lambda _config: {label: f"language.{label}" for label in LABELS},
    languages=lambda _config: frozenset({"eng"}),
)
