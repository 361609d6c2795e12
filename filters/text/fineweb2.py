"""FineWeb-2's measures by language (Penedo et al., https://arxiv.org/abs/2506.20920).

Words are found once, as datatrove 0.10.1 finds them in the text's language, and used by all measures of words:
repeated n-grams, words by kind, stop words of the language, newlines per word. FineWeb-2's measures of lines are in
`text.fineweb`. A text whose language has no segmentation here is not measured. Where the package that finds the words
of a language is missing, they are estimated from characters (`words/estimates.py`). `segmentation` says what found the
words, `substituted` whether datatrove would have used something else.

English, which FineWeb-2 leaves to FineWeb, is measured in the same way. The values are those of `text.gopher` in
datatrove's style, also for repeated characters of lines and repeated paragraphs, which only FineWeb has rules on.

Ratios of nothing are 0, where datatrove would divide by the words of a text that has none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.spans import Words, texts_of
from winnow.filters.language.passages.passages import line_shapes, newline_runs, repeats
from winnow.filters.language.passages.repetition import grams, later_grams, vocabulary
from winnow.filters.language.passages.word_counts import (
    count_marks,
    count_words,
    kinds_of_characters,
)
from winnow.filters.language.thresholds.fineweb2 import ALIASES, KEY
from winnow.filters.language.thresholds.multilingual import stop_words_of
from winnow.filters.language.words import lines, segment
from winnow.filters.language.words.estimates import ESTIMATED, estimated_makeup, split_units
from winnow.filters.language.words.indic import INDIC
from winnow.filters.language.words.packages import (
    PACKAGES,
    SPACY,
    Package,
    Segmenter,
    TooLongError,
    Units,
    install_commands,
    package_segmenter,
)
from winnow.filters.language.words.scripts import segmentation_of
from winnow.filters.operators import STATUS, TEXT, Assets, TextOperator
from winnow.schemas.recipe.checks import Between

_TOP = (2, 3, 4)  # n-gram lengths whose most frequent n-gram is measured
_REPEATED = (5, 6, 7, 8, 9, 10)  # n-gram lengths whose repeats are measured
_BULLETS = "•-"

_COUNTS = ("characters", "words", "non_symbol_words", "stop_words", "stop_word_occurrences")
_RATIOS = (
    "mean_word_length",
    "hash_ratio",
    "ellipsis_ratio",
    "newline_ratio",
    "bullet_line_ratio",
    "ellipsis_line_ratio",
    "alpha_word_ratio",
    "dup_line_ratio",
    "dup_line_char_ratio",
    "dup_paragraph_ratio",
    "dup_paragraph_char_ratio",
    *(f"top_{size}gram" for size in _TOP),
    *(f"dup_{size}gram" for size in _REPEATED),
)
_SCHEMA = pa.schema(
    [
        STATUS,
        pa.field("segmentation", pa.string()),  # a style, or packages with their versions
        pa.field("substituted", pa.bool_()),  # whether datatrove segments the language otherwise
        *(pa.field(name, pa.int32()) for name in _COUNTS),
        *(pa.field(name, pa.float64()) for name in _RATIOS),
    ]
)

_REASONS = (
    "no_language",
    "unknown_language",  # neither FineWeb nor FineWeb-2 has a configuration for it
    "no_segmentation",
    "substitute_refused",
    "too_large",  # for a package or for rules in Python
    "package_failed",
    *sorted({package.reason for package in PACKAGES.values()}),
)

_Ints: TypeAlias = npt.NDArray[np.int64]
_Rows: TypeAlias = npt.NDArray[np.int64]
_Values: TypeAlias = dict[str, npt.NDArray[np.int64] | npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Config:
    """Which segmentations may be used, and how much text a package gets."""

    packages: Literal["needed", "all"] = "needed"  # `all`: also spaCy itself, for languages that have a substitute
    substitutes: bool = True  # spaCy's multi-language rules replace Stanza and uncompilable rules; words are estimated
    max_string_bytes: Annotated[int, Between(1, 64 << 20)] = (
        1_000_000  # longest text that packages or rules in Python read
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The words of those texts of one language that could be segmented."""

    rows: _Rows  # their places in the batch
    texts: pa.LargeStringArray
    words: Words
    by: str
    substituted: bool
    units: Units | None = None  # how many of these make a word, if words are estimated


def _words_of(found: list[list[str]]) -> Words:
    """Words given as separate strings, concatenated."""
    kept = [[stripped for word in words if (stripped := word.strip())] for words in found]
    documents = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    column = texts_of(pa.array([word for words in kept for word in words], pa.large_string()))
    return Words(column.buffer, documents, column.offsets[:-1], column.offsets[1:])


def _one_by_one(segmenter: Segmenter, texts: list[str], max_bytes: int) -> Iterator[list[str] | str]:
    """The words of every text, or the reason there are none."""
    for text in texts:
        if len(text.encode()) > max_bytes:
            yield "too_large"
            continue
        try:
            yield segmenter(text)
        except TooLongError:
            yield "too_large"
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, any package may raise anything at a text; the text is what it does not take
            yield "package_failed"


class _Batch:
    """The results for one batch so far."""

    def __init__(self, config: Config, batch: pa.RecordBatch) -> None:
        self.config = config
        self.texts = batch.column(TEXT)
        self.codes = batch.column(KEY)
        self.status = np.full(len(self.texts), "ok", dtype=object)
        self.by = np.full(len(self.texts), None, dtype=object)
        self.substituted = np.full(len(self.texts), None, dtype=object)
        self.columns: _Values = {
            **{name: np.zeros(len(self.texts), np.int64) for name in _COUNTS},
            **{name: np.zeros(len(self.texts), np.float64) for name in _RATIOS},
        }

    def measure(self) -> pa.RecordBatch:
        """Measure the batch, language by language."""
        encoded = self.codes.dictionary_encode()
        numbers = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        self.status[numbers < 0] = "no_language"
        for number, code in enumerate(encoded.dictionary.to_pylist()):
            language = ALIASES.get(code, code)
            rows = np.flatnonzero(numbers == number)
            stop_words = stop_words_of(language)
            found = "unknown_language" if stop_words is None else self._segmented(language, rows)
            if isinstance(found, str):
                self.status[rows] = found
            elif stop_words is not None and len(found.rows):
                self.by[found.rows] = found.by
                self.substituted[found.rows] = found.substituted
                for name, values in _measures(found, stop_words).items():
                    self.columns[name][found.rows] = values
        unmeasured = self.status != "ok"
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self.status, pa.string()),
                pa.array(self.by, pa.string()),
                pa.array(self.substituted, pa.bool_()),
                *(pa.array(self.columns[name].astype(np.int32), mask=unmeasured) for name in _COUNTS),
                *(pa.array(self.columns[name], mask=unmeasured) for name in _RATIOS),
            ],
            schema=_SCHEMA,
        )

    def _segmented(self, language: str, rows: _Rows) -> _Found | str:
        """The words of these rows' texts, or the reason there are none."""
        segmentation = segmentation_of(language)
        if segmentation is None:
            return "no_segmentation"
        style, substitute = segmentation.style, segmentation.substitute
        texts = self.texts if len(rows) == len(self.texts) else self.texts.take(pa.array(rows))
        if style is not None and style in PACKAGES and (substitute is None or self.config.packages == "all"):
            segmenter = package_segmenter(style)
            if segmenter is None:
                units = PACKAGES[style].units
                if units is None or not self.config.substitutes:
                    return PACKAGES[style].reason
                return _Found(rows, texts, split_units(texts, units.spaced), ESTIMATED, True, units)
            return self._by_strings(segmenter, PACKAGES[style].found() or style, rows, texts)
        if style is not None and style in INDIC:
            return self._by_strings(INDIC[style], style, rows, texts)
        if style is not None and style not in PACKAGES:
            return _Found(rows, texts, segment(texts, style), style, False)
        if substitute is None:
            return "no_segmentation"
        if not self.config.substitutes:
            return "substitute_refused"
        return _Found(rows, texts, segment(texts, substitute), substitute, True)

    def _by_strings(self, segmenter: Segmenter, by: str, rows: _Rows, texts: pa.LargeStringArray) -> _Found:
        answers = list(_one_by_one(segmenter, texts.to_pylist(), self.config.max_string_bytes))
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, str):
                self.status[row] = answer
        kept = np.array([place for place, answer in enumerate(answers) if not isinstance(answer, str)], np.int64)
        words = _words_of([answer for answer in answers if not isinstance(answer, str)])
        return _Found(rows[kept], texts.take(pa.array(kept)), words, by, False)


def _ratio(part: _Ints, whole: _Ints) -> npt.NDArray[np.float64]:
    return part / np.maximum(whole, 1)


def _measures(found: _Found, stop_words: tuple[str, ...]) -> _Values:
    """The measures of texts whose words are known, or estimated from units."""
    array, words, units = found.texts, found.words, found.units
    texts = texts_of(array)
    known = vocabulary(words)
    made = count_words(words, known, kinds_of_characters(), stop_words)
    sizes = {size: size for size in (*_TOP, *_REPEATED)}  # in words, or in units
    if units is not None:
        made = estimated_makeup(array, words, made, units, stop_words)
        sizes = {size: max(round(size * units.per_token), 2) for size in sizes}
    marked = count_marks(texts)
    shapes = line_shapes(lines(array, "unicode"), _BULLETS, strip=True, dots=True)
    runs = repeats(newline_runs(texts, 1, strip=False))
    paragraphs = repeats(newline_runs(texts, 2, strip=True))
    top = grams(words, known, sizes[_TOP[-1]])
    later = later_grams(words, known, sizes[_REPEATED[0]], sizes[_REPEATED[-1]])
    columns: _Values = {
        "characters": marked.characters,
        "words": made.words,
        "non_symbol_words": made.solid_words,
        "stop_words": made.stop_kinds,
        "stop_word_occurrences": made.stop_words,
        "mean_word_length": _ratio(made.solid_characters, made.solid_words),
        "hash_ratio": _ratio(marked.hashes, made.words),
        "ellipsis_ratio": _ratio(marked.ellipses, made.words),
        "newline_ratio": _ratio(np.diff(lines(array, "newline").documents) - 1, made.words),
        "bullet_line_ratio": _ratio(shapes.bullets, shapes.lines),
        "ellipsis_line_ratio": _ratio(shapes.ellipses, shapes.lines),
        "alpha_word_ratio": _ratio(made.alphabetic_words, made.words),
        "dup_line_ratio": _ratio(runs.later, runs.pieces),
        "dup_line_char_ratio": _ratio(runs.later_characters, marked.characters),
        "dup_paragraph_ratio": _ratio(paragraphs.later, paragraphs.pieces),
        "dup_paragraph_char_ratio": _ratio(paragraphs.later_characters, marked.characters),
    }
    for size in _TOP:
        # datatrove writes these n-grams with spaces between their words, and counts them.
        place = sizes[size] - 2
        characters = top.top_characters[:, place] + (size - 1) * top.top_copies[:, place]
        columns[f"top_{size}gram"] = _ratio(characters, marked.characters)
    for size in _REPEATED:
        columns[f"dup_{size}gram"] = _ratio(later[:, sizes[size] - sizes[_REPEATED[0]]], marked.characters)
    return columns


def _packages(config: Config) -> list[Package]:
    """The packages that a configuration uses if they are installed."""
    return [one for name, one in PACKAGES.items() if config.packages == "all" or not name.startswith(SPACY)]


def _installed(config: Config) -> tuple[str, ...]:
    """The packages that words come from: texts are measured again when one is installed or another version is."""
    return tuple(sorted({found for one in _packages(config) if (found := one.found()) is not None}))


def _elsewhere(config: Config) -> set[tuple[str, ...]]:
    """What `_installed` gives with each choice of packages."""
    known = sorted({one.found() or one.tested for one in _packages(config)})
    return {chosen for many in range(len(known) + 1) for chosen in combinations(known, many)}


def _remarks(config: Config, _assets: Assets) -> tuple[str, ...]:
    missing = [one for one in _packages(config) if one.found() is None]
    if not missing:
        return ()
    languages = ", ".join(dict.fromkeys(one.languages for one in missing))
    return (
        f"words in {languages}, and in languages written alike, are estimated, as packages that find them are not "
        f"installed; run: {install_commands(missing)}",
    )


OPERATOR = TextOperator(
    name="text.fineweb2",
    version=3,
    summary="FineWeb-2, and FineWeb's English: words, stop words and repetition, segmented by the text's language",
    config=Config,
    reads=lambda _config: (TEXT, KEY),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: lambda batch: _Batch(config, batch).measure(),
    memory=40,
    reasons=_REASONS,
    depends=_installed,
    elsewhere=_elsewhere,
    remarks=_remarks,
)
