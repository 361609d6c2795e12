"""Prepare training texts of two sides: deduplicated, on one side only, in hash order.

Texts are stored in one file; memory holds each one's hash, side, language and position. All choices (balancing,
held-out
texts, order) are made by the hash of the text, so neither the order nor the names of the inputs matter.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.normalisation import Normalisation, one_line
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest, seeded_hash

UNKNOWN = "unknown"

_DIGEST_BYTES = 16
_GROUP = 512
_WHOLE = 1 << 64


@dataclass(frozen=True, slots=True)
class Counts:
    """The fate of one side's texts: given = empty + repeated + both_sides + unbalanced + training + held_out."""

    given: int
    empty: int  # without any word
    repeated: int  # repeated texts
    both_sides: int  # on both sides, hence useless to either
    unbalanced: int  # dropped to balance the sides
    training: int
    held_out: int


@dataclass(frozen=True, slots=True)
class TextSplit:
    """The numbers of the training and the held-out texts, in the order of their hashes."""

    training: NDArray[np.int64]
    held_out: NDArray[np.int64]
    positive: Counts
    negative: Counts


class Examples:
    """Collects texts in a file in a scratch folder."""

    def __init__(self, folder: Path, normalisation: Normalisation, max_characters: int) -> None:
        self._line = one_line(normalisation)
        self._max_characters = max_characters
        self._file = open(folder / "texts", "w+b")  # noqa: SIM115  # closed by __exit__
        self._digests = bytearray()
        self._places = array("q", [0])
        self._positive = array("b")
        self._languages = array("l")
        self._codes: dict[str, int] = {}
        self._given = {True: 0, False: 0}
        self._empty = {True: 0, False: 0}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, text: str, *, positive: bool, language: str | None) -> None:
        """Add a text, cut to the maximum length."""
        self._given[positive] += 1
        line = self._line(text[: self._max_characters])
        if not line.strip():
            self._empty[positive] += 1
            return
        raw = line.encode()
        self._file.write(raw)
        self._places.append(self._places[-1] + len(raw))
        self._digests += digest(raw, size=_DIGEST_BYTES)
        self._positive.append(positive)
        self._languages.append(self._codes.setdefault(language or UNKNOWN, len(self._codes)))

    def choose(self, seed: int, held_out: float, *, equal: bool) -> TextSplit:
        """Choose the training and the held-out texts."""
        names = self._unique()
        positive = np.frombuffer(self._positive, np.int8).astype(np.bool_)
        kept = names.kept
        unbalanced = {True: 0, False: 0}
        if equal:
            sides = {side: kept[positive[kept] == side] for side in (True, False)}
            least = min(map(len, sides.values()))
            unbalanced = {side: len(found) - least for side, found in sides.items()}
            kept = np.concatenate([found[self._order(found, seed, "balance")[:least]] for found in sides.values()])
        kept = kept[self._order(kept, seed, "order")]
        measured = self._hashes(kept, seed, "held-out") < int(held_out * _WHOLE)
        parts = {"training": kept[~measured], "held_out": kept[measured]}
        counts = {
            side: Counts(
                self._given[side],
                self._empty[side],
                int((positive[names.repeated] == side).sum()),
                int((positive[names.both_sides] == side).sum()),
                unbalanced[side],
                **{name: int((positive[part] == side).sum()) for name, part in parts.items()},
            )
            for side in (True, False)
        }
        for side, name in ((True, "positive"), (False, "negative")):
            if not counts[side].training or not counts[side].held_out:
                raise SourceError(
                    f"of {counts[side].given:,} {name} texts, {counts[side].training:,} are left for training and "
                    f"{counts[side].held_out:,} for evaluation; both need some: give more texts"
                )
        return TextSplit(parts["training"], parts["held_out"], counts[True], counts[False])

    def lines(self, numbers: NDArray[np.int64]) -> Iterator[list[str]]:
        """The texts with these numbers as fastText reads them, in groups."""
        for start in range(0, len(numbers), _GROUP):
            group = []
            for number in numbers[start : start + _GROUP].tolist():
                self._file.seek(self._places[number])
                group.append(self._file.read(self._places[number + 1] - self._places[number]).decode())
            yield group

    def is_positive(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The side of each of these texts."""
        return np.frombuffer(self._positive, np.int8)[numbers].astype(np.bool_)

    def languages(self, numbers: NDArray[np.int64]) -> list[str]:
        """The language of each of these texts."""
        codes = list(self._codes)
        return [codes[self._languages[number]] for number in numbers.tolist()]

    def _unique(self) -> "_Unique":
        """The distinct texts; of repeated ones with the language that is first in the alphabet, whatever their
        order."""
        if not self._positive:
            nothing = np.zeros(0, np.int64)
            return _Unique(nothing, nothing, nothing)
        halves = np.frombuffer(bytes(self._digests), np.uint64).reshape(-1, 2)
        alphabet = np.argsort(np.argsort(np.array(list(self._codes))))
        order = np.lexsort((alphabet[np.array(self._languages)], halves[:, 1], halves[:, 0]))
        first = np.ones(len(order), np.bool_)
        first[1:] = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
        group = np.cumsum(first) - 1
        positive = np.frombuffer(self._positive, np.int8)[order]
        sizes = np.bincount(group)
        positives = np.bincount(group, weights=positive).astype(np.int64)
        both = ((positives > 0) & (positives < sizes))[group]
        return _Unique(kept=order[first & ~both], repeated=order[~first & ~both], both_sides=order[both])

    def _order(self, numbers: NDArray[np.int64], seed: int, purpose: str) -> NDArray[np.int64]:
        return np.argsort(self._hashes(numbers, seed, purpose), kind="stable")

    def _hashes(self, numbers: NDArray[np.int64], seed: int, purpose: str) -> NDArray[np.uint64]:
        return np.fromiter(
            (
                seeded_hash(seed, purpose, bytes(self._digests[_DIGEST_BYTES * number : _DIGEST_BYTES * (number + 1)]))
                for number in numbers.tolist()
            ),
            np.uint64,
            len(numbers),
        )


@dataclass(frozen=True, slots=True)
class _Unique:
    kept: NDArray[np.int64]
    repeated: NDArray[np.int64]
    both_sides: NDArray[np.int64]
