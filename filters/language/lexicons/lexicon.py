"""Compile word lists into the tables that kernels search with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.language.folding import fold
from winnow.filters.language.identification.list_coverage import list_codes, usual_code
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.lexicons.affixes import AFFIXES
from winnow.filters.language.lexicons.lists import Lists, joined
from winnow.filters.language.lexicons.scanning import (
    START_BYTES,
    STARTS,
    UNSPACED,
    HashTable,
    chained,
    hashes,
    roles,
    start_of,
    words_of,
)
from winnow.filters.language.lexicons.substrings import Unspaced
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import script_ranges

LEET = np.array([ord(one) for one in "oi2eas6tbg"], np.uint8)
"""The letter that each digit may stand for; `l` counts as `i`."""

SEGMENTERS = {
    "jpn": "sudachipy",
    "khm": "khmernltk",
    "lao": "laonlp",
    "mya": "pyidaungsu",
    "tha": "pythainlp",
    "zho": "jieba",
}
"""The segmentation package of each language without spaces."""

_MIXED = {"Hira": "Jpan", "Kana": "Jpan", "Hang": "Kore"}
_EAST_ASIAN = {"Hani": ("Hani", "Hans", "Hant", "Jpan"), "Jpan": ("Jpan", "Hani", "Hira", "Kana"),
               "Kore": ("Kore", "Hang")}  # fmt: skip
_SCRIPT_SHARE = 0.1  # of a list's words: words in rarer scripts are loans
_MIN_LEET = 4  # letters

Phrase: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A list's searchable entries, folded."""

    phrases: tuple[Phrase, ...]  # one word or several
    unspaced: tuple[bytes, ...]  # in scripts without spaces
    scripts: frozenset[str]
    left_out: int  # words of one letter, of digits, or with signs that separate words


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lists of several languages; set i is that of `codes[i]`, with the words searched for in every text."""

    codes: tuple[str, ...]
    entries: tuple[Entries, ...]
    words: HashTable
    unspaced: Unspaced
    size: int  # entries are numbered below this
    texts: tuple[str, ...]  # of entries, for messages and tests

    def set_of(self, code: str) -> int:
        """The set for texts with a code such as `deu_Latn`; -1 if there is none for that language and script."""
        name, _, script = code.partition("_")
        for candidate in list_codes(name):
            if candidate in self.codes:
                number = self.codes.index(candidate)
                written = self.entries[number].scripts
                return number if not script or script in written else -1
        return -1


def compiled(lists: Lists, always: Iterable[str] = (), *, inflected: bool = True, leet: bool = False) -> Lexicon:
    """Compile word lists.

    Args:
        lists: Words by language.
        always: Languages whose words are also searched for in texts of every other language with a list.
        inflected: Whether words may have the affixes of their language.
        leet: Whether words may have digits for letters.
    """
    usual = joined({usual_code(code): words} for code, words in lists.items())
    found = {code: _entries(words) for code, words in usual.items()}
    wanted = tuple(dict.fromkeys(usual_code(code) for code in always))
    for code in wanted:
        if code not in found:
            raise RecipeError(
                f"text.wordlist: `also` names {code!r}, which has no list (expected a language's code, such as eng)"
            )
    shared = [phrase for code in wanted for phrase in found[code].phrases]
    return _tables(found, shared, inflected, leet)


def _entries(words: tuple[str, ...]) -> Entries:
    folded = fold(texts_of(pa.array(words, pa.large_string())), case=True).texts.array.to_pylist()
    phrases: dict[Phrase, None] = {}
    unspaced: dict[bytes, None] = {}
    scripts: dict[str, int] = {}
    left_out = 0
    for text in folded:
        text = text.strip()
        written = {script for script in (_script(one) for one in text) if script}
        if written & UNSPACED:
            plain = "".join(text.split())
            if len(plain) < 2:
                left_out += 1
                continue
            unspaced[plain.encode()] = None
        else:
            buffer = np.frombuffer(text.encode(), np.uint8)
            places, whole = words_of(buffer, roles()) if len(buffer) else (np.zeros((0, 2), np.int64), False)
            edges = len(places) > 0 and not text[-1:].isspace() and places[-1, 1] == len(buffer)
            phrase = tuple(buffer[start:stop].tobytes() for start, stop in places)
            if not (whole and edges) or len(text) < 2 or not any(one.isalpha() for one in text):
                left_out += 1
                continue
            phrases[phrase] = None
        for script in {_MIXED.get(one, one) for one in written}:
            scripts[script] = scripts.get(script, 0) + 1
    enough = {script for script, count in scripts.items() if count >= _SCRIPT_SHARE * sum(scripts.values())}
    spellings = {name for script in enough for name in _EAST_ASIAN.get(script, (script,))}
    return Entries(tuple(phrases), tuple(unspaced), frozenset(spellings), left_out)


def _script(character: str) -> str | None:
    firsts, lasts, scripts = _ranges()
    at = int(np.searchsorted(firsts, ord(character), side="right")) - 1
    return scripts[at] if at >= 0 and ord(character) <= lasts[at] else None


@lru_cache(maxsize=1)
def _ranges() -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    ranges = script_ranges()
    firsts, lasts = (np.array([getattr(one, side) for one in ranges]) for side in ("first", "last"))
    return firsts, lasts, tuple(one.script for one in ranges)


def _hashed(words: Iterable[bytes], *, leet: bool = False) -> list[int]:
    listed = list(words)
    offsets = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    found: list[int] = hashes(np.frombuffer(b"".join(listed) or b"\0", np.uint8), offsets, leet, LEET).tolist()
    return found


@dataclass(slots=True)
class _Slot:
    entry: int = -1
    longer: bool = False
    stem: bool = False


class _Sets:
    """Builder of one table from sets of hashes."""

    def __init__(self) -> None:
        self.sets: list[dict[int, _Slot]] = []

    def add(self, slots: dict[int, _Slot]) -> int:
        self.sets.append(slots)
        return len(self.sets) - 1

    def table(self, affixes: list[tuple[int, int, int]], listed: list[list[tuple[Phrase, bool]]]) -> HashTable:
        sizes = [1 << max(4, (2 * len(slots)).bit_length()) for slots in self.sets]
        begins = np.cumsum([0, *sizes][:-1], dtype=np.int64)
        keys, entries = np.zeros(sum(sizes), np.uint64), np.full(sum(sizes), -1, np.int32)
        longer, stems = np.zeros(len(keys), np.uint8), np.zeros(len(keys), np.uint8)
        for begin, size, slots in zip(begins.tolist(), sizes, self.sets, strict=True):
            for key, slot in slots.items():
                at = (key >> 20) & (size - 1)
                while keys[begin + at]:
                    at = (at + 1) & (size - 1)
                place = begin + at
                keys[place], entries[place] = key, slot.entry
                longer[place], stems[place] = slot.longer, slot.stem
        columns = np.full((3, len(self.sets)), -1, np.int64)
        starts = np.zeros(len(self.sets) * STARTS, np.uint8)
        for number, phrases in enumerate(listed):
            for phrase, _ in phrases:
                if len(phrase[0]) >= START_BYTES:
                    starts[number * STARTS + start_of(phrase[0])] = 1
        for number, three in enumerate(affixes):
            columns[:, number] = three
        masks = np.array(sizes, np.int64) - 1
        marks = (np.ascontiguousarray(one) for one in columns)
        return HashTable(keys, entries, longer, stems, begins, masks, starts, *marks)


def _tables(found: Mapping[str, Entries], shared: list[Phrase], inflected: bool, leet: bool) -> Lexicon:
    numbers: dict[bytes, int] = {}
    sets = _Sets()
    marks: list[tuple[int, int, int]] = []
    own: list[list[tuple[Phrase, bool]]] = []
    for code, entries in found.items():
        least = AFFIXES[code].min_letters if code in AFFIXES else 0
        phrases = {phrase: _may_inflect(phrase, least) for phrase in entries.phrases}
        own.append([*phrases.items(), *((phrase, False) for phrase in shared if phrase not in phrases)])
        for phrase, _ in own[-1]:
            numbers.setdefault(b" ".join(phrase), len(numbers))
        for word in entries.unspaced:
            numbers.setdefault(word, len(numbers))
    for phrases_of in own:
        sets.add(_phrase_slots(phrases_of, numbers))
    for code, phrases_of in zip(found, own, strict=True):
        affixes = AFFIXES.get(code) if inflected else None
        prefixes = _affix_set(sets, affixes.prefixes) if affixes else -1
        suffixes = _affix_set(sets, affixes.suffixes) if affixes else -1
        marks.append((prefixes, suffixes, _leet_set(sets, phrases_of, numbers) if leet else -1))
    return Lexicon(
        tuple(found),
        tuple(found.values()),
        sets.table(marks, own),
        _unspaced([entries.unspaced for entries in found.values()], numbers),
        len(numbers),
        tuple(word.decode() for word in numbers),
    )


def _may_inflect(phrase: Phrase, least: int) -> bool:
    return least > 0 and len(phrase) == 1 and len(phrase[0].decode()) >= least and len(phrase[0]) >= START_BYTES


def _phrase_slots(phrases: list[tuple[Phrase, bool]], numbers: Mapping[bytes, int]) -> dict[int, _Slot]:
    slots: dict[int, _Slot] = {}
    values = iter(_hashed(word for phrase, _ in phrases for word in phrase))
    for phrase, stem in phrases:
        key = next(values)
        for _ in phrase[1:]:
            slots.setdefault(key, _Slot()).longer = True
            key = int(chained(np.uint64(key), np.uint64(next(values))))
        slot = slots.setdefault(key, _Slot())
        slot.entry = numbers[b" ".join(phrase)]
        slot.stem = slot.stem or stem
    return slots


def _affix_set(sets: _Sets, affixes: frozenset[str]) -> int:
    if not affixes:
        return -1
    folded = fold(texts_of(pa.array(sorted(affixes), pa.large_string())), case=True).texts.array.to_pylist()
    return sets.add({value: _Slot() for value in _hashed(one.encode() for one in folded)})


def _leet_set(sets: _Sets, phrases: list[tuple[Phrase, bool]], numbers: Mapping[bytes, int]) -> int:
    words = [phrase[0] for phrase, _ in phrases if len(phrase) == 1 and len(phrase[0]) >= _MIN_LEET]
    words = [word for word in words if word.isalpha()]
    values = _hashed(words, leet=True)
    return sets.add({value: _Slot(numbers[word]) for value, word in zip(values, words, strict=True)})


def _unspaced(lists: list[tuple[bytes, ...]], numbers: Mapping[bytes, int]) -> Unspaced:
    begins, masks = [], []
    keys: list[NDArray[np.int64]] = []
    firsts: list[NDArray[np.int32]] = []
    counts: list[NDArray[np.int32]] = []
    ordered: list[bytes] = []
    for words in lists:
        groups: dict[tuple[int, int], list[bytes]] = {}
        for word in words:
            text = word.decode()
            groups.setdefault((ord(text[0]), ord(text[1])), []).append(word)
        size = 1 << max(4, (2 * len(groups)).bit_length())
        begins.append(sum(map(len, keys)))
        masks.append(size - 1)
        key, first, count = np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32)
        for (one, two), group in sorted(groups.items()):
            at = ((one * 0x9E3779B1 + two * 0x85EBCA6B) >> 7) & (size - 1)
            while key[at]:
                at = (at + 1) & (size - 1)
            key[at], first[at], count[at] = (one << 21) | two, len(ordered), len(group)
            ordered += sorted(group, key=lambda word: (-len(word), word))
        keys.append(key)
        firsts.append(first)
        counts.append(count)
    return Unspaced(
        np.concatenate([*keys, np.zeros(1, np.int64)]),
        np.concatenate([*firsts, np.zeros(1, np.int32)]),
        np.concatenate([*counts, np.zeros(1, np.int32)]),
        np.array(begins, np.int64),
        np.array(masks, np.int64),
        np.frombuffer(b"".join(ordered) or b"\0", np.uint8),
        np.cumsum([0, *map(len, ordered)], dtype=np.int64),
        np.array([numbers[word] for word in ordered], np.int32),
    )
