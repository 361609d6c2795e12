"""Byte-level BPE word by word, with a cache of words and their tokens.

Such a tokenizer splits a text into words by a pattern and merges bytes only inside words, so the tokens of a text are
those of its words. The package tokenizers splits with a general engine, has only a small cache of merges, and records
each token's position, which winnow does not need. Here two well-known patterns are compiled and known words are looked
up; the package encodes only new words.

The tokens are the same. The package gives each character's kind when it first occurs, so both use one version of
Unicode. A text with a character for which that does not suffice is one word, encoded by the package as a whole.
"""

import unicodedata
from array import array
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.tokenizers import word_kernels as kernels
from winnow.filters.language.tokenizers.vocabulary import Ids

_LAST: Final = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*" + _LAST
GPT2: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # that of ByteLevel itself
PATTERNS: Final[Mapping[str, int]] = {
    GPT2: 0,
    _CL100K % r"\p{N}{1,3}": 3,  # Llama 3
    _CL100K % r"\p{N}": 1,  # Qwen 2 and 3
}
"""The compiled patterns, and the most digits in a word; 0 for the pattern of GPT-2."""

_KINDS: Final = ((r"\p{L}", kernels.LETTER), (r"\p{N}", kernels.NUMBER), (r"\s", kernels.SPACE))
_FOLDED: Final = "\u017f"  # `(?i:…)` may or may not match a long s as s
_MAX_ENTRIES: Final = 1 << 19  # a power of two
_MAX_BYTES: Final = 16 << 20  # of all words, and as many ids: memory is used only as it fills


class _FullError(Exception):
    """The cache has no room for this many new words."""


class WordTokens:
    """A cache of words with their tokens."""

    def __init__(self, pattern: str, composed: bool, tokenizer: Any, package: Any) -> None:
        self._digits = PATTERNS[pattern]
        self._composed = composed
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        self._letters = str.maketrans(_letters())
        self._asked = [(package.pre_tokenizers.Split(package.Regex(name), "removed"), kind) for name, kind in _KINDS]
        self._kinds = np.zeros(0x110000, np.uint8)
        self._kinds[[ord("\r"), ord("\n")]] = kernels.BREAK
        self._kinds[ord(_FOLDED)] = kernels.UNSURE
        self._slots = np.full(2 * _MAX_ENTRIES, -1, np.int32)
        self._hashes = np.empty(_MAX_ENTRIES, np.uint64)
        self._key_ends = np.zeros(_MAX_ENTRIES + 1, np.int64)
        self._keys = np.empty(_MAX_BYTES, np.uint8)
        self._id_ends = np.zeros(_MAX_ENTRIES + 1, np.int64)
        self._ids = np.empty(_MAX_BYTES, np.uint32)
        self._entries = 0

    def encode(self, pieces: list[str]) -> list[Ids]:
        """The ids of each piece of text."""
        try:
            entries, counts = self._found(pieces)
        except _FullError:
            return self._in_parts(pieces)
        ids = np.empty(int(counts.sum()), np.uint32)
        kernels.gather_ids(entries, self._id_ends, self._ids, ids)
        return np.split(ids, np.cumsum(counts)[:-1]) if pieces else []

    def counts(self, pieces: list[str]) -> list[int]:
        """The number of tokens of each piece."""
        try:
            counts: list[int] = self._found(pieces)[1].tolist()
        except _FullError:
            counts = [len(one) for one in self._in_parts(pieces)]
        return counts

    def _in_parts(self, pieces: list[str]) -> list[Ids]:
        """The ids of pieces with more new words together than the cache has room for."""
        if len(pieces) == 1:
            return [np.array(self._package_ids(pieces[0]), np.uint32)]
        half = len(pieces) // 2
        return [*self.encode(pieces[:half]), *self.encode(pieces[half:])]

    def _package_ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _found(self, pieces: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The entries of all words, and the number of ids of each piece."""
        encoded = [piece.encode() for piece in pieces]
        joined = b"".join(encoded)
        raw = np.frombuffer(joined, np.uint8)
        offsets = np.cumsum([0, *map(len, encoded)])
        marks = self._marks(raw, joined)
        if self._composed:
            for number, piece in enumerate(pieces):
                if not unicodedata.is_normalized("NFC", piece):
                    marks[offsets[number] : offsets[number + 1]] = kernels.UNSURE
        ends, words = np.empty(len(raw), np.int64), np.zeros(len(pieces), np.int64)
        ends = ends[: kernels.cut_words(raw, marks, offsets, self._digits, ends, words)]
        entries = np.empty(len(ends), np.int32)
        if self._look_up(raw, ends, entries):
            try:
                self._add(raw, joined, marks, ends, entries)
            except _FullError:
                self._forget()
                self._look_up(raw, ends, entries)
                self._add(raw, joined, marks, ends, entries)
            self._look_up(raw, ends, entries)
        counts = np.zeros(len(pieces), np.int64)
        kernels.count_ids(entries, words, self._id_ends, counts)
        return entries, counts

    def _look_up(self, raw: NDArray[np.uint8], ends: NDArray[np.int64], entries: NDArray[np.int32]) -> int:
        table = (self._slots, self._hashes, self._key_ends, self._keys)
        missing: int = kernels.look_up(raw, ends, *table, entries)
        return missing

    def _forget(self) -> None:
        self._slots[:] = -1
        self._entries = 0

    def _add(
        self,
        raw: NDArray[np.uint8],
        joined: bytes,
        marks: NDArray[np.uint8],
        ends: NDArray[np.int64],
        entries: NDArray[np.int32],
    ) -> None:
        """Encode the words without an entry and add them; _FullError if there is no room."""
        missing = np.flatnonzero(entries < 0)
        begins = np.where(missing > 0, ends[missing - 1], 0)
        unsure = (marks[begins] == kernels.UNSURE).tolist()
        added: dict[bytes, int] = {}  # with the index in `missing`
        ids, sizes = array("I"), array("q")
        # A Python loop, but only over new words: the package encodes one at a time.
        for number, (begin, end) in enumerate(zip(begins.tolist(), ends[missing].tolist(), strict=True)):
            word = joined[begin:end]
            if word in added:
                continue
            added[word] = number
            if unsure[number]:
                new = self._package_ids(word.decode())
            else:
                letters = word.decode("latin-1").translate(self._letters)
                new = [token.id for token in self._model.tokenize(letters)]
            ids.extend(new)
            sizes.append(len(new))
        last, stop = self._entries, self._entries + len(added)
        first = int(self._id_ends[last])
        room = int(self._key_ends[last]) + sum(map(len, added)), first + len(ids)
        if stop > _MAX_ENTRIES or max(room) > _MAX_BYTES:
            raise _FullError
        self._ids[first : room[1]] = ids
        self._id_ends[last + 1 : stop + 1] = first + np.cumsum(sizes)
        fresh = np.array(list(added.values()))
        spans = np.stack([begins[fresh], ends[missing[fresh]]])
        kernels.add_entries(raw, *spans, self._slots, self._hashes, self._key_ends, self._keys, last)
        self._entries = stop

    def _marks(self, raw: NDArray[np.uint8], joined: bytes) -> NDArray[np.uint8]:
        """The kind of each byte's character; the package determines kinds that are not known yet."""
        marks = np.empty(len(raw), np.uint8)
        at = kernels.mark_kinds(raw, 0, self._kinds, marks)
        while at >= 0:
            character = joined[at : at + 4].decode(errors="ignore")[0]
            self._kinds[ord(character)] = self._kind(character)
            at = kernels.mark_kinds(raw, at, self._kinds, marks)
        return marks

    def _kind(self, character: str) -> int:
        # Unicode guarantees that compositions of assigned characters never change.
        if self._composed and unicodedata.category(character) == "Cn":
            return kernels.UNSURE
        return next((kind for split, kind in self._asked if not split.pre_tokenize_str(character)), kernels.OTHER)


def _letters() -> dict[int, int]:
    """For each byte, its character in byte-level BPE: itself if visible, else one from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = sorted(set(range(256)) - set(seen))
    return {byte: byte for byte in seen} | {byte: 0x100 + number for number, byte in enumerate(unseen)}


def word_tokens(parsed: Mapping[str, Any], tokenizer: Any, package: Any) -> WordTokens | None:
    """The word cache for a tokenizer.json that merges only inside words and splits by a known pattern; else None.

    Args:
        parsed: The content of the file.
        tokenizer: The loaded tokenizer, with `encode_special_tokens`.
        package: The package tokenizers.
    """
    model = parsed["model"]
    # A normaliser changes a text first: only NFC is known to leave most texts unchanged. And added tokens that are not
    # special are searched for in every text.
    normaliser = (parsed.get("normalizer") or {}).get("type")
    plain = normaliser in (None, "NFC") and all(one.get("special") for one in parsed.get("added_tokens") or ())
    plain = plain and model.get("type") == "BPE" and not model.get("dropout")
    plain = plain and not any(model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    pattern = _pattern(parsed.get("pre_tokenizer"))
    known = model.get("vocab") or {}
    if not plain or pattern is None or any(chr(letter) not in known for letter in _letters().values()):
        return None
    return WordTokens(pattern, normaliser is not None, tokenizer, package)


def _pattern(cut: Mapping[str, Any] | None) -> str | None:
    """The pattern that splits words, if it is a known one and the only step."""
    if cut is None:
        return None
    steps: list[Mapping[str, Any]] = (cut.get("pretokenizers") or []) if cut.get("type") == "Sequence" else [cut]
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space", True):
        return None
    if len(steps) == 1:
        return GPT2 if steps[0].get("use_regex", True) else None
    split = steps[0]
    if len(steps) != 2 or steps[1].get("use_regex", True) or split.get("type") != "Split":
        return None
    pattern: str | None = (split.get("pattern") or {}).get("Regex")
    isolated = split.get("behavior") == "Isolated" and not split.get("invert")
    return pattern if isolated and pattern in PATTERNS else None
