"""Vulgar, obscene and abusive words from lists, found in texts of the lists' languages.

A text is searched for the words of its language (`text.language`); in a language or script without a list it is not
measured. Only whole words count. Texts are folded first (`winnow.filters.language.folding`), so that case, full-width
or invisible characters and letters of another script hide nothing; spans are in the original text. In scripts without
spaces, a match counts if the package that `text.fineweb2` uses for the language begins and ends a word there, and
words of one letter never count. In languages with closed sets of endings a word may have these
(`winnow.filters.language.lexicons.affixes`).

A listed word does not show how it is meant: lists contain body parts, peoples and illnesses. Rules over `density`
decide how many are too many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.folding import FoldedTexts, fold
from winnow.filters.language.identification.list_coverage import covered_languages
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.lexicons.boundaries import whole_words
from winnow.filters.language.lexicons.lexicon import LEET, SEGMENTERS, Lexicon, compiled
from winnow.filters.language.lexicons.lists import joined, read_lists
from winnow.filters.language.lexicons.published_lists import ASSETS, LANGUAGES
from winnow.filters.language.lexicons.scanning import roles, scan
from winnow.filters.language.lexicons.substrings import scan_unspaced
from winnow.filters.language.words.packages import PACKAGES, Segmenter, package_segmenter
from winnow.filters.language.words.unspaced import split_unicode
from winnow.filters.models.file_state import FileState, file_state
from winnow.filters.operators import STATUS, TEXT, Assets, TextOperator
from winnow.filters.spans import SPANS, spans_column

LANGUAGE = "text.language.code"

_SCHEMA = pa.schema(
    [
        STATUS,
        pa.field("list", pa.string()),  # the language of the list that was used
        pa.field("words", pa.int32()),  # in scripts without spaces: characters, or letters with their vowel signs
        pa.field("hits", pa.int32()),  # occurrences; a phrase counts once
        pa.field("distinct", pa.int32()),  # different entries
        pa.field("density", pa.float64()),  # hits per word; 0 without words
        pa.field("spans", SPANS),
    ]
)
_REASONS = (
    "no_language",
    "no_detector",
    "package_failed",
    *sorted(PACKAGES[name].reason for name in SEGMENTERS.values()),
)

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Config:
    """Which lists are used, and how words are compared."""

    lists: tuple[str, ...] = ("wordlists.core",)  # names of assets, or paths of your own files
    also: tuple[str, ...] = ()  # ISO 639-3, such as eng: also searched for in texts of all other languages with a list
    inflected: bool = True  # words may have affixes of their language
    leetspeak: bool = False  # words of four letters or more may have digits for letters


class _Measure:
    """Applies one lexicon to batches."""

    def __init__(self, config: Config, assets: Assets) -> None:
        lists = joined(read_lists(assets.path(name)) for name in config.lists)
        self.lexicon: Lexicon = compiled(lists, config.also, inflected=config.inflected, leet=config.leetspeak)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.num_rows
        status = np.full(rows, "ok", dtype=object)
        sets = self._sets(batch.column(LANGUAGE), status)
        # All texts, even those without a set: other operators fold the same batch.
        finds = _Finds(self.lexicon, fold(texts_of(batch.column(TEXT)), case=True), sets)
        for row, reason in finds.failed.items():
            status[row] = reason
        hits = np.diff(finds.bounds).astype(np.int32)
        words, distinct = finds.words.astype(np.int32), finds.distinct.astype(np.int32)
        unmeasured = status != "ok"
        lists = np.array([*self.lexicon.codes, None], dtype=object)[sets]
        spans = spans_column(finds.bounds, finds.spans)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(status, pa.string()),
                pa.array(lists, pa.string(), mask=unmeasured),
                *(pa.array(column, mask=unmeasured) for column in (words, hits, distinct)),
                pa.array(hits / np.maximum(words, 1), mask=unmeasured),
                pa.ListArray.from_arrays(spans.offsets, spans.values, type=SPANS, mask=pa.array(unmeasured)),
            ],
            schema=_SCHEMA,
        )

    def _sets(self, codes: pa.StringArray, status: npt.NDArray[np.object_]) -> _Ints:
        """The word set of every row; -1 where there is none, with the reason in the status."""
        encoded = codes.dictionary_encode()
        numbers = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        found = [self.lexicon.set_of(code) for code in encoded.dictionary.to_pylist()]
        sets = np.array([*found, -1], np.int64)[numbers]
        status[sets < 0] = "no_detector"
        status[numbers < 0] = "no_language"
        for number in np.unique(sets[sets >= 0]).tolist():
            package = SEGMENTERS.get(self.lexicon.codes[number])
            if package is not None and package_segmenter(package) is None:
                status[sets == number] = PACKAGES[package].reason
                sets[sets == number] = -1
        return sets


class _Finds:
    """Matches in folded texts: `spans` of text i are `bounds[i]` to `bounds[i + 1]`, in the originals."""

    def __init__(self, lexicon: Lexicon, folded: FoldedTexts, sets: _Ints) -> None:
        self.lexicon = lexicon
        self.failed: dict[int, str] = {}
        texts = folded.texts
        self.words, self.distinct, bounds, found = scan(
            texts.buffer, texts.offsets, sets, roles(), lexicon.words, lexicon.size, LEET
        )
        packages = {number: SEGMENTERS[code] for number, code in enumerate(lexicon.codes) if code in SEGMENTERS}
        unspaced = np.flatnonzero(np.isin(sets, list(packages)))
        if len(unspaced):
            bounds, found = self._with_unspaced(folded, sets, packages, unspaced, bounds, found)
        self.bounds = bounds
        documents = np.repeat(np.arange(len(sets)), np.diff(bounds))
        base = texts.offsets[documents]
        self.spans = np.column_stack(
            [
                folded.original(documents, found[:, 0] - base),
                folded.original(documents, found[:, 1] - base, end=True),
            ]
        ).astype(np.int32)

    def _with_unspaced(
        self,
        folded: FoldedTexts,
        sets: _Ints,
        packages: dict[int, str],
        rows: _Ints,
        bounds: _Ints,
        found: npt.NDArray[np.int64],
    ) -> tuple[_Ints, npt.NDArray[np.int64]]:
        """The matches of `scan` and those in scripts without spaces, and new counts for the rows of such languages."""
        texts = folded.texts
        asked = np.where(np.isin(sets, list(packages)), sets, -1)
        places, candidates = scan_unspaced(texts.buffer, texts.offsets, asked, self.lexicon.unspaced)
        only = texts_of(texts.array.take(pa.array(rows)))
        self.words[rows] = np.diff(split_unicode(only).documents)
        joint: dict[int, list[tuple[int, int, int]]] = {}
        for row in rows[np.diff(places)[rows] > 0].tolist():  # few: only rows with a candidate
            first, base = bounds[row], int(texts.offsets[row])
            finds = [
                (one - base, end - base, entry)
                for one, end, entry in candidates[places[row] : places[row + 1]].tolist()
            ]
            segmenter = package_segmenter(packages[int(sets[row])])
            assert segmenter is not None
            whole = _whole(texts.array[row].as_py(), finds, segmenter)
            if whole is None:
                self.failed[row] = "package_failed"
            spaced = found[first : bounds[row + 1]].tolist()
            finds = [(one + base, end + base, entry) for one, end, entry in whole or ()]
            joint[row] = [] if whole is None else _apart([*spaced, *finds])
            self.distinct[row] = len({entry for _, _, entry in joint[row]})
        if not joint:
            return bounds, found
        counts = np.diff(bounds)
        parts: list[npt.NDArray[np.int64]] = []
        cursor = 0
        for row, finds in sorted(joint.items()):
            parts += [found[cursor : bounds[row]], np.array(finds, np.int64).reshape(-1, 3)]
            cursor = bounds[row + 1]
            counts[row] = len(finds)
        parts.append(found[cursor:])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.concatenate(parts)


def _whole(text: str, finds: Sequence[tuple[int, int, int]], segmenter: Segmenter) -> list[tuple[int, int, int]] | None:
    """The matches that are words; None if the package rejects the text."""
    try:
        return whole_words(text, finds, segmenter)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001, any package may raise anything at a text; the text is what it does not take
        return None


def _apart(finds: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The matches in order, without those that overlap an earlier one."""
    chosen: list[tuple[int, int, int]] = []
    for find in sorted(finds, key=lambda find: (find[0], -find[1])):
        if not chosen or find[0] >= chosen[-1][1]:
            chosen.append(find)
    return chosen


def _codes(name: str) -> frozenset[str]:
    """The languages of an asset's or a user file's lists; none if the file does not exist."""
    if name in LANGUAGES:
        return LANGUAGES[name]
    return _codes_of(file_state(name)) if Path(name).is_file() else frozenset()


@lru_cache(maxsize=64)
def _codes_of(file: FileState) -> frozenset[str]:
    return frozenset(read_lists(file.path))


OPERATOR = TextOperator(
    name="text.wordlist",
    version=1,
    summary="vulgar and abusive words from lists, as whole words in the text's language",
    config=Config,
    reads=lambda _config: (TEXT, LANGUAGE),
    writes=lambda _config: _SCHEMA,
    load=lambda config, assets: _Measure(config, assets),
    assets=lambda config: config.lists,
    memory=16,
    declares=ASSETS,
    reasons=_REASONS,
    detects=lambda _config: dict.fromkeys(("hits", "distinct", "density"), "language.vulgar"),
    languages=lambda config: covered_languages(code for name in config.lists for code in _codes(name)),
)
