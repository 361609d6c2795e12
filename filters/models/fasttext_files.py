"""Validate fastText model files byte by byte before fastText reads them.

fastText's reader trusts its input: a wrong count makes it allocate or read out of bounds and kills the process.
The format is that of fastText's own `saveModel`, versions 11 and 12, plain (`.bin`) or quantised (`.ftz`).
"""

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError

MAX_DIMENSION = 65_536
MAX_LABELS = 100_000
MAX_WORD_NGRAMS = 16  # fastText reads this many words onward from each word
MAX_SUBWORD = 64
MAX_WORD_BYTES = 1 << 20
MAX_WEIGHT = 1e7  # trained ones stay below some hundreds; products of larger ones could overflow a float
MAX_COUNT = 10**15  # the tree of the hierarchical softmax uses this number for "no node"

_MAGIC = 793_712_314
_SUPERVISED = 3
_LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_CENTROIDS = 256
_CHUNK_VALUES = 1 << 22


@dataclass(frozen=True, slots=True)
class FastTextHeader:
    """The validated header of the file."""

    dimension: int
    word_ngrams: int
    min_subword: int
    max_subword: int
    buckets: int
    loss: str
    words: int
    labels: tuple[str, ...]
    quantised: bool


class FastText(Protocol):
    """The methods used of a loaded fastText model."""

    def multilinePredict(  # noqa: N802
        self, lines: Sequence[str], k: int, threshold: float, on_unicode_error: str
    ) -> tuple[list[list[str]], list[NDArray[np.float32]]]:
        """The `k` most probable labels of each line, and their probabilities, the highest first."""

    def saveModel(self, path: str) -> None:  # noqa: N802
        """Write the model's file."""


def check_fasttext(path: str) -> FastTextHeader:
    """Validate a supervised fastText model and return its header.

    Raises:
        RecipeError: What the file is instead, and where it becomes invalid.
    """
    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return _Walk(path, mapped).header()
    except ValueError:
        raise RecipeError(f"{path}: an empty file; expected a fastText model (.bin or .ftz)") from None
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; expected a fastText model (.bin or .ftz)") from None


def load_fasttext(path: str) -> tuple[FastText, FastTextHeader]:
    """Load a model and its header. Its file is validated first."""
    header = check_fasttext(path)
    loaded = fasttext_library().fasttext()
    try:
        loaded.loadModel(path)
    except (ValueError, RuntimeError, MemoryError) as error:
        raise RecipeError(f"{path}: fastText cannot load this model: {error}") from None
    model: FastText = loaded
    return model, header


def fasttext_library() -> ModuleType:
    """fastText's C++ module; its Python wrapper prints, and copies arrays in a way that numpy 2 rejects."""
    try:
        library = import_module("fasttext_pybind")
    except ImportError:
        raise RecipeError("fastText is not installed; run: pip install fasttext-community") from None
    if not hasattr(library, "train"):
        raise RecipeError(
            "another package, such as fasttext-predict, has overwritten fastText with its own; "
            "run: pip install --force-reinstall --no-deps fasttext-community"
        )
    return library


class _Walk:
    """One pass over a model's bytes; every number is validated before it is used."""

    def __init__(self, path: str, mapped: mmap.mmap) -> None:
        self._path = path
        self._bytes = mapped
        self._size = len(mapped)
        self._at = 0

    def header(self) -> FastTextHeader:
        magic, version = self._numbers("<ii", "its first numbers")
        if magic != _MAGIC:
            raise RecipeError(f"{self._path}: not a fastText model (.bin or .ftz): its first bytes are not fastText's")
        if version not in (11, 12):
            raise RecipeError(f"{self._path}: fastText format {version}; winnow reads 11 and 12")
        dimension, _ws, _epoch, _min, _neg, ngrams, loss, kind, buckets, minn, maxn, _rate = self._numbers(
            "<12i", "its settings"
        )
        self._numbers("<d", "its settings")
        if kind != _SUPERVISED:
            raise RecipeError(
                f"{self._path}: a fastText model of word vectors, not a classifier; expected one of train_supervised"
            )
        if version == 11:
            maxn = 0  # as fastText reads this version
        self._require(1 <= dimension <= MAX_DIMENSION, f"{dimension} dimensions", f"1 to {MAX_DIMENSION}")
        self._require(1 <= ngrams <= MAX_WORD_NGRAMS, f"word n-grams of {ngrams}", f"1 to {MAX_WORD_NGRAMS}")
        self._require(0 <= maxn <= MAX_SUBWORD and minn >= 0, f"subwords of {minn} to {maxn}", f"0 to {MAX_SUBWORD}")
        self._require(loss in _LOSSES, f"loss {loss}", "1 to 4")
        self._require(buckets >= 0, f"{buckets} buckets", "0 or more")
        self._require(buckets > 0 or (ngrams == 1 and maxn == 0), "n-grams without buckets", "buckets")
        words, labels, pruned = self._dictionary(buckets)
        rows = words + (pruned if pruned >= 0 else buckets)
        quantised = self._flag()
        self._matrix("input", rows, dimension, quantised)
        self._matrix("output", len(labels), dimension, self._flag() and quantised)
        if self._at != self._size:
            self._fail(f"{self._size - self._at:,} bytes follow its end")
        return FastTextHeader(dimension, ngrams, minn, maxn, buckets, _LOSSES[loss], words, labels, quantised)

    def _dictionary(self, buckets: int) -> tuple[int, tuple[str, ...], int]:
        size, words, labels = self._numbers("<iii", "the sizes of its dictionary")
        tokens, pruned = self._numbers("<qq", "the sizes of its dictionary")
        self._require(words >= 0 and 1 <= labels <= MAX_LABELS, f"{labels} labels", f"1 to {MAX_LABELS:_}")
        self._require(size == words + labels, f"{size} entries", f"{words} words and {labels} labels")
        self._require(tokens >= 0, f"{tokens} tokens", "0 or more")
        self._require(size <= self._size // 10, f"{size:,} entries", f"what fits into {self._size:,} bytes")
        names: list[str] = []
        total = 0
        for number in range(size):
            end = self._bytes.find(b"\0", self._at, self._at + MAX_WORD_BYTES)
            if end < 0:
                self._fail(f"entry {number} of its dictionary does not end")
            word = self._bytes[self._at : end]
            self._at = end + 1
            count, kind = self._numbers("<qb", "its dictionary")
            total += count
            self._require(kind == (number >= words), f"entry {number} of kind {kind}", "words, then labels")
            self._require(count >= 0 and total < MAX_COUNT, f"a count of {count}", f"less than {MAX_COUNT:_} in all")
            if number >= words:
                try:
                    names.append(word.decode())
                except UnicodeDecodeError:
                    self._fail(f"label {number - words} is not UTF-8")
        self._require(len(set(names)) == len(names), "a label that appears twice", "each label once")
        self._require(-1 <= pruned <= max(buckets, 0), f"{pruned} kept n-grams", f"-1 to {buckets}")
        if pruned > 0:
            pairs = np.frombuffer(self._take(8 * pruned, "its kept n-grams"), np.int32).reshape(-1, 2)
            inside = bool((pairs >= 0).all() and (pairs[:, 0] < buckets).all() and (pairs[:, 1] < pruned).all())
            self._require(inside, "a kept n-gram outside its table", "numbers inside it")
        return words, tuple(names), pruned

    def _matrix(self, name: str, rows: int, columns: int, quantised: bool) -> None:
        if not quantised:
            found = self._numbers("<qq", f"its {name} matrix")
            self._require(found == (rows, columns), f"an {name} matrix of {found}", f"{(rows, columns)}")
            self._floats(rows * columns, name)
            return
        normed = self._flag()
        found_rows, found_columns, codes = self._numbers("<qqi", f"its {name} matrix")
        found = (found_rows, found_columns)
        self._require(found == (rows, columns), f"an {name} matrix of {found}", f"{(rows, columns)}")
        self._require(codes >= 0, f"{codes} codes", "0 or more")
        self._take(codes, f"its {name} matrix")
        parts = self._quantiser(columns, name)
        self._require(codes == rows * parts, f"{codes} codes", f"{rows * parts}")
        if normed:
            self._take(rows, f"the norms of its {name} matrix")
            self._quantiser(1, name)

    def _quantiser(self, columns: int, name: str) -> int:
        dimension, parts, width, last = self._numbers("<4i", f"the quantiser of its {name} matrix")
        whole = dimension == columns and parts >= 1 and width >= 1 and 1 <= last <= width
        self._require(
            whole and (parts - 1) * width + last == columns,
            f"a quantiser of {parts} parts for {dimension} columns",
            f"one of {columns} columns",
        )
        self._floats(dimension * _CENTROIDS, name)
        return parts

    def _floats(self, count: int, name: str) -> None:
        """Check weights in chunks; one that is NaN or huge would make every result NaN."""
        if 4 * count > self._size - self._at:
            self._fail(f"ends inside its {name} matrix")
        for start in range(0, count, _CHUNK_VALUES):
            values = np.frombuffer(self._bytes, np.float32, min(_CHUNK_VALUES, count - start), self._at + 4 * start)
            fine = bool((np.abs(values) <= MAX_WEIGHT).all())
            del values  # an array over the mapping would keep it open
            self._require(fine, f"an {name} matrix with values that are no weights", f"up to {MAX_WEIGHT:,.0f}")
        self._at += 4 * count

    def _flag(self) -> bool:
        (value,) = self._numbers("<B", "a flag")
        self._require(value in (0, 1), f"a flag of {value}", "0 or 1")
        return bool(value)

    def _numbers(self, layout: str, what: str) -> tuple[int, ...]:
        return struct.unpack(layout, self._take(struct.calcsize(layout), what))

    def _take(self, size: int, what: str) -> bytes:
        if self._size - self._at < size:
            self._fail(f"ends inside {what}")
        self._at += size
        return self._bytes[self._at - size : self._at]

    def _require(self, holds: bool, found: str, expected: str) -> None:
        if not holds:
            self._fail(f"{found}; expected {expected}")

    def _fail(self, why: str) -> NoReturn:
        raise RecipeError(
            f"{self._path}: a damaged fastText model: {why} (at byte {self._at:,} of {self._size:,}); "
            "fetch or train it again"
        )
