"""Byte-level BPE word by word, with a cache of words and their tokens.

Such a tokenizer splits a text into words by a pattern and merges bytes only inside words, so the tokens of a text are
those of its words. The package tokenizers splits with a general engine, has only a small cache of merges, and records
each token's position, which winnow does not need. Here two well-known patterns are compiled, and the package encodes
only words that are not known yet.

The tokens are the same. The package gives each character's kind when it first occurs, so both use one version of
Unicode. A text with a character for which that does not suffice is one word, encoded by the package as a whole.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
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
_MAX_ENTRIES: Final = 1 << 18
_ID_BYTES: Final = 4
_LONGEST: Final = 256  # bytes of a word that is kept


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
        self._known: dict[bytes, bytes] = {}  # words, and their ids as numbers of 32 bits

    def encode(self, pieces: list[str]) -> list[Ids]:
        """The ids of each piece of text."""
        numbers, ids, words = self._found(pieces)
        joined = pa.array(ids, pa.large_binary()).take(numbers)
        ends = np.frombuffer(joined.buffers()[1], np.int64)[np.cumsum(words)] // _ID_BYTES
        return np.split(np.frombuffer(joined.buffers()[2] or b"", np.uint32), ends[:-1]) if pieces else []

    def counts(self, pieces: list[str]) -> list[int]:
        """The number of tokens of each piece."""
        numbers, ids, words = self._found(pieces)
        sizes = np.fromiter(map(len, ids), np.int64, len(ids))[numbers.to_numpy()] // _ID_BYTES
        before = np.concatenate([[0], np.cumsum(sizes)])
        counts: list[int] = np.diff(before[np.concatenate([[0], np.cumsum(words)])]).tolist()
        return counts

    def _found(self, pieces: list[str]) -> tuple[pa.Array, list[bytes], NDArray[np.int64]]:
        """All words by number, the ids of each distinct one, and how many words each piece has."""
        encoded = [piece.encode() for piece in pieces]
        joined = b"".join(encoded)
        raw = np.frombuffer(joined, np.uint8)
        offsets = np.cumsum([0, *map(len, encoded)])
        marks = self._marks(raw, joined)
        if self._composed:
            for number, piece in enumerate(pieces):
                if not unicodedata.is_normalized("NFC", piece):
                    marks[offsets[number] : offsets[number + 1]] = kernels.UNSURE
        ends, counts = np.zeros(len(raw) + 1, np.int64), np.zeros(len(pieces), np.int64)
        ends = ends[: 1 + kernels.cut_words(raw, marks, offsets, self._digits, ends[1:], counts)]
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(joined)]
        words = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers).dictionary_encode()
        first = np.zeros(len(words.dictionary), np.int64)
        first[words.indices.to_numpy()[::-1]] = ends[-2::-1]
        distinct = words.dictionary.to_pylist()
        ids = [self._known.get(word) for word in distinct]
        fresh: dict[bytes, bytes] = {}
        for number, one in enumerate(ids):  # the package encodes one new word at a time
            if one is None:
                word = distinct[number]
                ids[number] = new = self._encoded(word, marks[first[number]] == kernels.UNSURE)
                if len(word) <= _LONGEST:
                    fresh[word] = new
        if len(self._known) + len(fresh) > _MAX_ENTRIES:
            self._known.clear()
        self._known.update(fresh)
        return words.indices, cast(list[bytes], ids), counts

    def _encoded(self, word: bytes, whole: bool) -> bytes:
        """The ids of a word; of a whole text by the package alone."""
        if whole:
            ids = self._tokenizer.encode(word.decode(), add_special_tokens=False).ids
        else:
            ids = [token.id for token in self._model.tokenize(word.decode("latin-1").translate(self._letters))]
        return np.array(ids, np.uint32).tobytes()

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
