"""Dimensions: what charts group rows by, as a small code for each row and a label for each code.

Rows are grouped by source, language, the first reason, whether they are kept, domain, day, any column of few texts, and
any measure in bins. Codes take a byte or two a row, so that a chart of ten million rows is counted in a moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column
from winnow.pipelines.store import layout
from winnow.runners.inspect.frame import Frame, narrowed
from winnow.runners.inspect.measures import (
    FEW_ROWS,
    MOST_TEXT_BYTES,
    Measure,
    find_column,
    map_blocks,
    measure_of,
)
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block
from winnow.runners.inspect.view import UnavailableError
from winnow.schemas.tombstones import FORGOTTEN

DOMAIN: Final = Column(layout.SAMPLES, "domain")
DAY: Final = "samples.source.fetched_at"
KEPT: Final = "kept"
BINS: Final = 40
MOST_BINS: Final = 200
_MOST_LABELS: Final = 200  # of texts: the most frequent; all others are counted together
_MOST_TEXTS: Final = 1 << 20  # different ones that are numbered; of domains all are
_TAIL: Final = 0.005  # of values beyond the bins on each side, which the outer bins hold
_SAMPLED: Final = 1 << 17  # values that bins are made for


@dataclass(frozen=True)
class Texts:
    """A text of each row, as its number among all different ones."""

    codes: NDArray[np.int32]  # -1: null
    values: pa.Array

    @property
    def nbytes(self) -> int:
        """The bytes of codes and texts."""
        return int(self.codes.nbytes + self.values.nbytes)

    def numbers(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of texts that some row has."""
        found = pc.index_in(pa.array(texts, self.values.type), self.values).drop_null()
        numbers: NDArray[np.int32] = found.to_numpy(zero_copy_only=False).astype(np.int32)
        return numbers


@dataclass(frozen=True)
class Dimension:
    """The code of each row, and what each code means."""

    name: str
    codes: NDArray[np.uint8] | NDArray[np.uint16]
    labels: tuple[str | None, ...]  # None: no value
    edges: tuple[float, ...] = ()  # of bins, one more than there are bins; the code after the last is for no value
    ends: tuple[float, float] | None = None  # the least and the greatest value, which the outer bins reach to
    is_cut: bool = False  # there are more labels than these, counted together

    @property
    def nbytes(self) -> int:
        """The bytes of its codes."""
        return int(self.codes.nbytes)


def dimension_of(opened: Opened, frame: Frame, name: str, bins: int = BINS, named: Sequence[str] = ()) -> Dimension:
    """A dimension by its name: `source`, `language`, `reason`, `kept`, `domain`, `day`, or a column; UnavailableError
    for a column that has none. `named`: texts that have a code of their own, however few rows they have."""
    if name == "source":
        return Dimension(name, frame.source, frame.sources)
    if name == "language":
        return Dimension(name, frame.language, frame.languages)
    if name == "reason":
        return opened.kept.get(("dimension", name), lambda: _reasons(opened, frame))
    if name == KEPT:
        codes: NDArray[np.uint8] = frame.kept.view(np.uint8)
        return Dimension(name, codes, ("dropped", None if frame.why_no_rules else KEPT))
    full = {"domain": DOMAIN.name, "day": DAY}.get(name, name)
    return opened.kept.get(
        ("dimension", name, bins, *sorted(named)), lambda: _of_column(opened, frame, name, full, bins, named)
    )


def rule_numbers(opened: Opened, frame: Frame) -> Dimension:
    """The first rule that fires for each row, by its number; then one code for forgotten rows, and one for kept ones.
    Rules of several lists may have one reason, and are told apart here."""

    def made() -> Dimension:
        labels = (*frame.rules.reasons, FORGOTTEN, None if frame.why_no_rules else KEPT)
        codes = np.where(frame.first < 0, np.int16(len(labels) - 1), frame.first).astype(np.uint16)
        return Dimension("rule", narrowed(codes, len(labels)), labels)

    return opened.kept.get(("dimension", "rule"), made)


def _reasons(opened: Opened, frame: Frame) -> Dimension:
    of_rules = rule_numbers(opened, frame)
    labels = tuple(dict.fromkeys(of_rules.labels))
    numbers = {label: number for number, label in enumerate(labels)}
    same = np.array([numbers[label] for label in of_rules.labels], np.uint16)
    codes = of_rules.codes if len(labels) == len(same) else narrowed(same[of_rules.codes], len(labels))
    return Dimension("reason", codes, labels)


def _of_column(opened: Opened, frame: Frame, name: str, full: str, bins: int, named: Sequence[str]) -> Dimension:
    column = find_column(opened, full)
    kind = opened.tables.columns[full]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _most_frequent(name, texts_of(opened, frame, column), frame, named)
    measure = measure_of(opened, frame, column)
    if pa.types.is_timestamp(kind):
        return _days(name, measure)
    if pa.types.is_boolean(kind):
        truths = [pc.fill_null(chunk.cast(pa.uint8()), 2).to_numpy(zero_copy_only=False) for chunk in measure.chunks]
        return Dimension(name, np.concatenate([np.zeros(0, np.uint8), *truths]), ("false", "true", None))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _binned(name, measure, bins)
    raise UnavailableError(
        f"{full} is {kind}, which is not grouped by; choose a number, a text, a day or true and false"
    )


def texts_of(opened: Opened, frame: Frame, column: Column) -> Texts:
    """The texts of a column by number, read from the store when they are first asked for; UnavailableError for a column
    of long texts, or of very many different ones."""
    return opened.kept.get(("texts", column.name), lambda: _read_texts(opened, frame, column))


def _read_texts(opened: Opened, frame: Frame, column: Column) -> Texts:
    codes = np.full(frame.rows, -1, np.int32)

    def coded(_: int, block: Block) -> pa.DictionaryArray:
        found = pc.dictionary_encode(block[column.name])
        if column != DOMAIN and found.dictionary.nbytes > MOST_TEXT_BYTES * max(FEW_ROWS, len(found)):
            raise UnavailableError(f"{column.name} holds long texts, which are not grouped by")
        return found

    known = pa.array([], pa.large_string())
    for part, blocks in map_blocks(opened, frame, [column], coded):
        start = part.start
        for block in blocks:
            texts = block.dictionary.cast(pa.large_string())
            at = pc.index_in(texts, known)
            new = texts.filter(at.is_null())
            numbers = at.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
            numbers[numbers < 0] = np.arange(len(known), len(known) + len(new), dtype=np.int32)
            known = pa.concat_arrays([known, new]) if len(new) else known
            if column != DOMAIN and len(known) > _MOST_TEXTS:
                raise UnavailableError(f"{column.name} has more than {_MOST_TEXTS:,} different texts")
            indices = block.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            codes[start : start + len(block)] = np.append(numbers, np.int32(-1))[indices]
            start += len(block)
    return Texts(codes, known)


def _most_frequent(name: str, texts: Texts, frame: Frame, named: Sequence[str]) -> Dimension:
    counts = np.bincount(texts.codes[frame.seen & (texts.codes >= 0)], minlength=len(texts.values))
    order = np.lexsort((np.arange(len(counts)), -counts))[:_MOST_LABELS]
    order = order[counts[order] > 0]
    own = texts.numbers(sorted(named))
    order = np.concatenate([order, own[(counts[own] > 0) & ~np.isin(own, order)]])
    rest, none = len(order), len(order) + 1
    new = np.full(len(texts.values) + 1, rest, np.uint16)
    new[order] = np.arange(len(order), dtype=np.uint16)
    new[-1] = none
    labels = texts.values.take(pa.array(order)).to_pylist()
    return Dimension(name, new[texts.codes], (*labels, OTHERS, None), is_cut=True)


OTHERS: Final = "(others)"


def _days(name: str, measure: Measure) -> Dimension:
    days = [
        pc.fill_null(chunk.cast(pa.timestamp("s", chunk.type.tz)).cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        // 86_400
        for chunk in measure.chunks
    ]
    every = np.concatenate([np.zeros(0, np.int64), *days])
    known = np.unique(every)
    if len(known) > 1 << 16:
        raise UnavailableError(f"{name}: more than {1 << 16:,} different days")
    labels = tuple(None if day < 0 else str(np.datetime64(int(day), "D")) for day in known)
    return Dimension(name, np.searchsorted(known, every).astype(np.uint16), labels)


def _binned(name: str, measure: Measure, bins: int) -> Dimension:
    low, high, edges = _edges(measure, bins)
    codes = np.zeros(sum(len(chunk) for chunk in measure.held), np.uint8)
    at = 0
    for chunk in measure.chunks:
        codes[at : at + len(chunk)] = bin_numbers(floats_of(chunk), edges)
        at += len(chunk)
    return Dimension(name, codes, (*map(repr, edges[:-1].tolist()), None), tuple(edges.tolist()), (low, high))


def floats_of(values: pa.Array) -> NDArray[np.float64]:
    """Numbers, with NaN for null."""
    found: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def bin_numbers(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The bin of each number, the outer ones for all beyond them; one more than the last bin for NaN."""
    found = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2).astype(np.uint8)
    found[np.isnan(values)] = len(edges) - 1
    return found


def _edges(measure: Measure, bins: int) -> tuple[float, float, NDArray[np.float64]]:
    """The least and greatest number, and edges of bins of equal width in which nearly all numbers lie."""
    step = max(1, sum(len(chunk) for chunk in measure.held) // _SAMPLED)
    some = np.concatenate([np.zeros(0), *(floats_of(chunk)[::step] for chunk in measure.chunks)])
    some = some[np.isfinite(some)]
    if not len(some):
        return 0.0, 0.0, np.linspace(0, 1, bins + 1)
    ends = [pc.min_max(chunk) for chunk in measure.chunks]
    low = min(float(one["min"].as_py()) for one in ends if one["min"].is_valid)
    high = max(float(one["max"].as_py()) for one in ends if one["max"].is_valid)
    first, last = np.quantile(some, [_TAIL, 1 - _TAIL])
    whole = pa.types.is_integer(measure.type)
    if whole and last - first < bins:
        first, last, bins = np.floor(first), np.floor(last) + 1, max(1, int(np.floor(last) + 1 - np.floor(first)))
    if last <= first:
        last = first + (abs(first) or 1.0) * 1e-6
    return low, high, np.linspace(float(first), float(last), bins + 1)
