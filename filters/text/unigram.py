"""How common a text's words are in its language: the mean log-probability, and the share of unknown words.

Frequencies are wordfreq's, which has lists for about 42 languages. Words are those of its tokenizer (Unicode's word
boundaries, French articles separate from their nouns, no punctuation; emoji count as words), in its normal form of each
language: case folded, Arabic and Hebrew without points, Serbian in Latin letters. Text is first split at white space,
so no word crosses it, and a stretch without any is read in pieces of 250 characters.

Numbers have the frequency that wordfreq estimates; an unknown word counts as one in a billion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.perplexity.wordlists import (
    UNKNOWN_WORD,
    ListName,
    MissingTokenizerError,
    Wordlist,
    list_language,
    load_wordlist,
    require_wordfreq,
)
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Matching

UNKNOWN_LANGUAGE = "unknown_language"
NO_TOKENIZER = "no_tokenizer"
NO_WORDS = "no_words"

PIECE_CHARACTERS = 250  # Unicode's normal forms and word boundaries take quadratic time in hostile sequences
MEMO_ENTRIES = 200_000  # cached stretches between white space, over all languages
_PART_BYTES = 1 << 20
_GROUP_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class UnigramConfig:
    """The language of each text, and which lists are used."""

    column: Annotated[str, Matching(r"[a-z][\w.]*\.\w+", "a column with dots")] = "text.language.code"
    """Each text's language: a code such as `deu`, `de` or `deu_Latn`."""
    language: Annotated[str, Matching(r"([A-Za-z]{2,3}([_-][A-Za-z0-9]+)*)?", "a language code")] = ""
    """One language for every text, in place of the column."""
    wordlist: Literal["best", "small"] = "best"  # `small`: at most 30 k words per language, a tenth of the memory


WRITES = pa.schema(
    [
        STATUS,
        pa.field("words", pa.int64()),
        pa.field("unknown", pa.float64()),  # share of words that are not in the list
        pa.field("log10_prob", pa.float64()),  # mean over the words, from about -2 (function words) to -9 (unknown)
    ]
)


class Memo:
    """Cache of the words of stretches of text; emptied when full, which changes no value."""

    def __init__(self, entries: int = MEMO_ENTRIES) -> None:
        self._entries = entries
        self._held = 0
        self._known: dict[str, dict[str, tuple[int, int, int]]] = {}

    def measure(self, stretches: Sequence[str], code: str, words: Wordlist) -> NDArray[np.int64]:
        """Rows of words, unknown words and centibels of each stretch."""
        known = self._known.setdefault(code, {})
        rows = [known.get(stretch) for stretch in stretches]
        new = [number for number, row in enumerate(rows) if row is None]
        for number, row in zip(new, _measured([stretches[number] for number in new], words), strict=True):
            rows[number] = row
            if len(stretches[number]) <= PIECE_CHARACTERS and self._held < self._entries:
                known[stretches[number]] = row
                self._held += 1
        if self._held >= self._entries:
            self._known.clear()
            self._held = 0
        return np.array(rows, np.int64).reshape(-1, 3)


def _measured(stretches: Sequence[str], words: Wordlist) -> Iterator[tuple[int, int, int]]:
    pieces = [
        (number, stretch[start : start + PIECE_CHARACTERS])
        for number, stretch in enumerate(stretches)
        for start in range(0, len(stretch), PIECE_CHARACTERS)
    ]
    tokens = words.tokenise([piece for _, piece in pieces])
    owner = np.repeat(np.array([number for number, _ in pieces], np.int64), [len(found) for found in tokens])
    numbers: dict[str, int] = {}  # hostile text has many words, but rarely many different ones
    place = np.array([numbers.setdefault(token, len(numbers)) for found in tokens for token in found], np.int64)
    centibels = words.look_up(list(numbers))[place]
    values = np.stack([np.ones_like(centibels), centibels > 0, np.where(centibels > 0, UNKNOWN_WORD, centibels)])
    totals = np.zeros((len(stretches), 3), np.int64)
    np.add.at(totals, owner, values.T)
    return ((known, strange, rare) for known, strange, rare in totals.tolist())


def measure_unigrams(batch: pa.RecordBatch, config: UnigramConfig, memo: Memo) -> pa.RecordBatch:
    """The layer of a batch of texts; `memo` only saves time."""
    texts = batch.column(TEXT)
    rows = len(texts)
    totals = np.zeros((rows, 3), np.int64)
    statuses = np.full(rows, UNKNOWN_LANGUAGE, object)
    for code, numbers in _by_language(batch, config):
        if list_language(code, config.wordlist) is None:
            continue
        try:
            words = load_wordlist(code, config.wordlist)
        except MissingTokenizerError:
            statuses[numbers] = NO_TOKENIZER
            continue
        statuses[numbers] = "ok"
        for owners, parts in _groups(texts, numbers):
            _add(totals, owners, parts, code, words, memo)
    words_found, unknown, centibels = totals.T
    statuses[(statuses == "ok") & (words_found == 0)] = NO_WORDS
    missing = statuses != "ok"
    count = np.maximum(words_found, 1)
    columns = [
        pa.array(statuses, pa.string()),
        pa.array(words_found, pa.int64(), mask=missing),
        pa.array(unknown / count, pa.float64(), mask=missing),
        pa.array(centibels / (100 * count), pa.float64(), mask=missing),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _by_language(batch: pa.RecordBatch, config: UnigramConfig) -> Iterator[tuple[str, NDArray[np.int64]]]:
    if config.language:
        yield config.language, np.arange(batch.num_rows)
        return
    codes = pc.dictionary_encode(batch.column(config.column).cast(pa.string()))
    place = pc.fill_null(codes.indices, -1).to_numpy()
    for number, code in enumerate(codes.dictionary.to_pylist()):
        yield code, np.flatnonzero(place == number)


def _groups(
    texts: pa.LargeStringArray, numbers: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], pa.LargeStringArray]]:
    """Texts, or parts of long ones, with their rows, some megabytes at a time."""
    owners: list[int] = []
    parts: list[str] = []
    size = 0
    for number in numbers.tolist():
        text = texts[number].as_py()
        for part in _parts(text):
            owners.append(number)
            parts.append(part)
            size += len(part)
            if size >= _GROUP_BYTES:
                yield np.array(owners), pa.array(parts, pa.large_string())
                owners, parts, size = [], [], 0
    if parts:
        yield np.array(owners), pa.array(parts, pa.large_string())


def _parts(text: str) -> Iterator[str]:
    """A text in parts that end at a space or a newline if one is near."""
    start = 0
    while len(text) - start > 2 * _PART_BYTES:
        end = max(text.rfind(mark, start + _PART_BYTES, start + 2 * _PART_BYTES) for mark in " \n")
        end = end if end > 0 else start + 2 * _PART_BYTES
        yield text[start:end]
        start = end
    yield text[start:]


def _add(
    totals: NDArray[np.int64],
    owners: NDArray[np.int64],
    parts: pa.LargeStringArray,
    code: str,
    words: Wordlist,
    memo: Memo,
) -> None:
    split = pc.utf8_split_whitespace(parts)
    stretches = pc.dictionary_encode(split.flatten())
    if len(stretches) == 0:
        return
    found = memo.measure(stretches.dictionary.to_pylist(), code, words)
    owner = np.repeat(owners, np.diff(split.offsets.to_numpy()))
    np.add.at(totals, owner, found[stretches.indices.to_numpy()])


def _load(config: UnigramConfig, _assets: Assets) -> Kernel:
    require_wordfreq()
    name: ListName = config.wordlist
    if config.language:
        if list_language(config.language, name) is None:
            raise RecipeError(f"text.unigram: wordfreq has no list for the language {config.language!r}")
        try:
            load_wordlist(config.language, name)
        except MissingTokenizerError:
            raise RecipeError(
                f"text.unigram: splitting {config.language!r} into words needs another package; "
                'run: pip install "wordfreq[cjk]"'
            ) from None
    memo = Memo()
    return lambda batch: measure_unigrams(batch, config, memo)


OPERATOR = TextOperator(
    name="text.unigram",
    version=1,
    summary="how common the words of a text are in its language, by wordfreq's lists for about 42 languages",
    config=UnigramConfig,
    reads=lambda config: (TEXT,) if config.language else (TEXT, config.column),
    writes=lambda _config: WRITES,
    load=_load,
    memory=160,
    reasons=(UNKNOWN_LANGUAGE, NO_TOKENIZER, NO_WORDS),
)
