r"""Read n-gram language models in ARPA format into sorted arrays, for queries with back-off.

The format is text: `\data\` with the number of n-grams of each order, then one section per order with lines of a log10
probability, the words, and a back-off weight if longer n-grams exist, then `\end\`.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.perplexity.backoff import (
    MAX_ORDER,
    Grams,
    Reading,
    Sums,
    hash_word,
    read_lines,
    score_texts,
)
from winnow.schemas.errors import RecipeError

MAX_LINE_BYTES = 1 << 16
MAX_PREAMBLE_LINES = 10_000
_BLOCK_BYTES = 8 << 20

_COUNT = re.compile(rb"ngram\s+(\d{1,2})\s*=\s*(\d{1,12})")
_GZIP = b"\x1f\x8b"

_COMPLAINTS = {
    Reading.NO_NUMBER: "a line that does not begin with a number",
    Reading.POSITIVE: "a log-probability above 0",
    Reading.RANGE: "a number outside -1000 to 1000",
    Reading.WORDS: "a line with the wrong number of words for its section",
    Reading.STRANGER: "an n-gram with a word that is not a 1-gram",
}


@dataclass(frozen=True, slots=True)
class NgramModel:
    """A back-off model."""

    grams: Grams
    starts: NDArray[np.int64]  # the start of each order, and the end of the last

    def score(self, content: NDArray[np.uint8], offsets: NDArray[np.int64], unknown: float) -> Sums:
        """The probability of each text; see `score_texts`."""
        return score_texts(content, offsets, self.grams, self.starts, unknown)


def is_arpa(path: str) -> bool:
    r"""Whether a file starts like an ARPA model: with blank lines or comments, then `\data\`; or like a gzip file."""
    with open(path, "rb") as stream:
        head = stream.read(4096)
    return head.startswith(_GZIP) or b"\\data\\" in head


def load_arpa(path: str, max_ngrams: int) -> NgramModel:
    """Read a model, plain or compressed with gzip.

    Raises:
        RecipeError: The problem and its line in the file.
    """
    try:
        with open(path, "rb") as stream:
            packed = stream.read(2) == _GZIP
            stream.seek(0)
            source = cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream
            return _Arpa(path, source).model(max_ngrams)
    except (OSError, EOFError, zlib.error) as error:
        raise RecipeError(f"{path}: cannot be read: {error}; expected an ARPA model, plain or .gz") from None


class _Arpa:
    """The file as lines for its headings and as blocks for its sections."""

    def __init__(self, path: str, source: BinaryIO) -> None:
        self._path = path
        self._source = source
        self._held = b""
        self._line = 0
        self._ended = False

    def model(self, max_ngrams: int) -> NgramModel:
        counts = self._counts(max_ngrams)
        sections: list[Grams] = []
        for order, count in enumerate(counts, 1):
            self._expect(b"\\%d-grams:" % order)
            words = sections[0].keys if sections else np.zeros(0, np.uint64)
            sections.append(self._section(order, count, words, last=order == len(counts)))
        self._expect(b"\\end\\")
        for needed in ("<s>", "</s>"):
            if not (sections[0].keys == np.uint64(hash_word(needed))).any():
                self._fail(f"no {needed} among its 1-grams; expected a model of sentences")
        columns = zip(*((part.keys, part.log10_prob, part.backoff) for part in sections), strict=True)
        return NgramModel(Grams(*map(np.concatenate, columns)), np.cumsum([0, *counts], dtype=np.int64))

    def _counts(self, max_ngrams: int) -> list[int]:
        for line in self._lines():
            if line == b"\\data\\":
                break
            if self._line > MAX_PREAMBLE_LINES:
                self._fail("no \\data\\ in its first lines")
        else:
            self._fail("no \\data\\")
        counts: list[int] = []
        for line in self._lines():
            if line.startswith(b"\\"):
                self._held = line + b"\n" + self._held
                self._line -= 1
                break
            if not line:
                continue
            found = _COUNT.fullmatch(line)
            if found is None or int(found[1]) != len(counts) + 1:
                self._fail(f"{line[:40].decode('utf-8', 'replace')!r}; expected 'ngram {len(counts) + 1}=COUNT'")
            counts.append(int(found[2]))
        if not counts or len(counts) > MAX_ORDER or counts[0] == 0:
            self._fail(f"{len(counts)} orders of n-grams; expected 1 to {MAX_ORDER}, and some 1-grams")
        if sum(counts) > max_ngrams:
            self._fail(f"{sum(counts):,} n-grams; at most {max_ngrams:,} are read (raise `max_ngrams`)")
        return counts

    def _section(self, order: int, count: int, words: NDArray[np.uint64], *, last: bool) -> Grams:
        room = Grams.room(count)
        filled = 0
        while filled < count:
            if b"\n" not in self._held and not self._more():
                self._fail(f"ends after {filled:,} of {count:,} {order}-grams")
            block = np.frombuffer(self._held, np.uint8)
            used, lines, filled, reading = read_lines(block, order, words, room, filled, with_backoff=not last)
            self._line += lines
            self._held = self._held[used:]
            if reading == Reading.HEADING:
                self._fail(f"its {order}-grams end after {filled:,} of {count:,}")
            if reading in _COMPLAINTS:
                self._line += 1
                self._fail(_COMPLAINTS[reading])
            if len(self._held) > MAX_LINE_BYTES and b"\n" not in self._held:
                self._fail(f"a line of more than {MAX_LINE_BYTES:,} bytes")
        done = room.sorted()
        if (done.keys[1:] == done.keys[:-1]).any():
            self._fail(f"one of its {order}-grams occurs twice")
        return done

    def _expect(self, heading: bytes) -> None:
        for line in self._lines():
            if line:
                if line != heading:
                    found = line[:40].decode("utf-8", "replace")
                    self._fail(f"{found!r}; expected {heading.decode()!r}")
                return
        self._fail(f"ends without {heading.decode()!r}")

    def _lines(self) -> Iterator[bytes]:
        while True:
            end = self._held.find(b"\n")
            if end < 0:
                if len(self._held) > MAX_LINE_BYTES:
                    self._fail(f"a line of more than {MAX_LINE_BYTES:,} bytes")
                if self._more():
                    continue
                if not self._held:
                    return
                end = len(self._held)
            line, self._held = self._held[:end], self._held[end + 1 :]
            self._line += 1
            yield line.strip()

    def _more(self) -> bool:
        if self._ended:
            return False
        block = self._source.read(_BLOCK_BYTES)
        if not block:
            self._ended = True
            if self._held and not self._held.endswith(b"\n"):
                self._held += b"\n"
                return True
            return False
        self._held += block
        return True

    def _fail(self, why: str) -> NoReturn:
        raise RecipeError(f"{self._path}:{self._line}: not a valid ARPA model: {why}")
