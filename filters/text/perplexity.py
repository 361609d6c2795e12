"""Perplexity per word under a user's n-gram model, as CCNet measures quality.

Each line with a word is one sentence between `<s>` and `</s>`; the perplexity is 10 to the mean negative log10
probability of its words and line ends. winnow reads ARPA files, plain or compressed with gzip. KenLM's binary files
need KenLM, a package under the LGPL that the user installs separately. Use such a file only if you trust it: KenLM
maps it into memory unchecked.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Protocol

import numpy as np
import pyarrow as pa

from winnow.filters.extras import required_model
from winnow.filters.language.perplexity.arpa import is_arpa, load_arpa
from winnow.filters.language.perplexity.backoff import Sums
from winnow.filters.language.perplexity.spelling import Wording, spelling_of
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

NO_WORDS = "no_words"

_KENLM = b"mmap lm http://kheafield.com/code"
_MARKS_ALONE = re.compile(rb"(?<!\S)(?:</?s>|<unk>)(?!\S)")  # where words end at ASCII white space, as KenLM's do
_LARGEST_POWER = 300  # of ten, that a double holds with room
_GROUP_BYTES = 8 << 20

Score = Callable[[pa.LargeStringArray], Sums]


@dataclass(frozen=True, slots=True)
class PerplexityConfig:
    """The model, and how text is prepared for it."""

    model: str = ""  # the path of an ARPA file (.arpa, .arpa.gz) or of a KenLM binary
    wording: Wording = "ccnet"
    unknown_log10: Annotated[float, Between(-100, 0)] = -7.0
    """Log10 probability of unknown words if the model has no `<unk>`. KenLM uses -100, which outweighs everything
    else."""
    max_ngrams: Annotated[int, Between(1, 1_000_000_000)] = 50_000_000  # of an ARPA file; each takes 16 bytes


WRITES = pa.schema(
    [
        STATUS,
        pa.field("perplexity", pa.float64()),  # to one decimal, as CCNet rounds it
        pa.field("log10_prob", pa.float64()),  # mean over words and line ends
        pa.field("tokens", pa.int64()),  # words and line ends
        pa.field("unknown", pa.float64()),  # share of unknown words
    ]
)


def measure_perplexity(batch: pa.RecordBatch, wording: Wording, score: Score) -> pa.RecordBatch:
    """The layer of a batch of texts."""
    prepare = spelling_of(wording)
    parts = [score(group) for group in _groups(batch.column(TEXT), prepare)]
    empty = [np.zeros(0)]
    total = np.concatenate([part.log10_prob for part in parts] or empty)
    words, unknown, lines = (
        np.concatenate([getattr(part, name) for part in parts] or empty).astype(np.int64)
        for name in ("words", "unknown", "lines")
    )
    missing = words == 0
    tokens = words + lines
    mean = total / np.maximum(tokens, 1)
    perplexity = [_perplexity(value) for value in mean.tolist()]
    columns = [
        pa.array(np.where(missing, NO_WORDS, "ok"), pa.string()),
        pa.array(perplexity, pa.float64(), mask=missing),
        pa.array(mean, pa.float64(), mask=missing),
        pa.array(tokens, pa.int64(), mask=missing),
        pa.array(unknown / np.maximum(words, 1), pa.float64(), mask=missing),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _perplexity(log10_prob: float) -> float:
    """Perplexity rounded to one decimal and seven digits: C libraries differ in the last digit of a power."""
    return round(float(f"{10.0 ** min(-log10_prob, _LARGEST_POWER):.7g}"), 1)


def _groups(texts: pa.LargeStringArray, prepare: Callable[[str], str]) -> Iterator[pa.LargeStringArray]:
    """The texts as prepared for the model, some megabytes at a time."""
    group: list[str] = []
    size = 0
    for text in texts:
        group.append(prepare(text.as_py()))
        size += len(group[-1])
        if size >= _GROUP_BYTES:
            yield pa.array(group, pa.large_string())
            group, size = [], 0
    if group:
        yield pa.array(group, pa.large_string())


def _arpa(path: str, config: PerplexityConfig) -> Score:
    model = load_arpa(path, config.max_ngrams)

    def score(texts: pa.LargeStringArray) -> Sums:
        _, offsets, content = texts.buffers()
        raw = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(0, np.uint8)
        return model.score(raw, np.frombuffer(offsets, np.int64)[: len(texts) + 1], config.unknown_log10)

    return score


class _KenlmModel(Protocol):
    def full_scores(self, sentence: bytes) -> Iterator[tuple[float, int, bool]]: ...


def _kenlm(path: str) -> Score:
    try:
        library = import_module("kenlm")
    except ImportError:
        raise RecipeError(
            f"{path}: a KenLM binary, which only KenLM reads (LGPL, not part of winnow); "
            "run: pip install kenlm, or use the model as an ARPA file"
        ) from None
    try:
        model: _KenlmModel = library.Model(path)
    except (OSError, RuntimeError, ValueError) as error:
        raise RecipeError(f"{path}: KenLM cannot load this model: {' '.join(str(error).split())[:300]}") from None

    def one(text: bytes) -> tuple[float, int, int, int]:
        total, words, unknown, lines = 0.0, 0, 0, 0
        for line in text.split(b"\n"):
            if not line.strip():
                continue
            said, scores = 0.0, 0
            # Neither the words nor their scores are held: one line may be all of a text.
            for value, _, strange in model.full_scores(_MARKS_ALONE.sub(b"<unk>", line)):
                said += value
                scores += 1
                unknown += strange
            total += said
            words += scores - 1  # the last is the end's
            lines += 1
        return total, words, unknown, lines

    def score(texts: pa.LargeStringArray) -> Sums:
        rows = [one(text.as_py()) for text in texts.cast(pa.large_binary())]
        total = np.array([row[0] for row in rows], np.float64)
        counts = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3)
        return Sums(total, counts[:, 0], counts[:, 1], counts[:, 2])

    return score


def _model(config: PerplexityConfig) -> str:
    return required_model(
        "text.perplexity", config.model, "the path of an ARPA file (.arpa or .arpa.gz) or of a KenLM binary"
    )


def _load(config: PerplexityConfig, assets: Assets) -> Kernel:
    path = assets.path(_model(config))
    try:
        with open(path, "rb") as stream:
            head = stream.read(len(_KENLM))
        readable = head == _KENLM or is_arpa(path)
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected an ARPA file or a KenLM binary") from None
    if not readable:
        raise RecipeError(f"{path}: neither an ARPA file (plain or .gz) nor a KenLM binary")
    score = _kenlm(path) if head == _KENLM else _arpa(path, config)
    return lambda batch: measure_perplexity(batch, config.wording, score)


OPERATOR = TextOperator(
    name="text.perplexity",
    version=1,
    summary="perplexity under your own n-gram model (ARPA, or a KenLM binary with the package kenlm)",
    config=PerplexityConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: WRITES,
    load=_load,
    assets=lambda config: (_model(config),),
    resource="model",
    reasons=(NO_WORDS,),
    memory=56,  # KenLM answers with an object for each word of a line
)
