"""Measures for FineWeb's page rules (Penedo et al., https://arxiv.org/abs/2406.17557) as in datatrove 0.10.1.

Lines end only at newlines and are not stripped; blank lines do not count. FineWeb applies these rules to what C4's
edits leave; here they see the text that the recipe selects.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.classes import (
    Table,
    character_before,
    character_set,
    decode,
    flags_of,
    unicode_classes,
)
from winnow.filters.language.kernels.ranges import document_seed, first_equals
from winnow.filters.language.passages.passages import code_points, without_space
from winnow.filters.language.words import lines, segment
from winnow.filters.operators import TEXT, TextOperator
from winnow.schemas.kernels import kernel
from winnow.schemas.recipe.checks import Between

# Sentence_Terminal of Unicode 15.0 and, as datatrove has them, U+17D6, U+17D9 and U+17DA.
_STOPS = (
    "21 2E 3F 589 61D-61F 6D4 700-702 7F9 837 839 83D-83E 964-965 104A-104B 1362 1367-1368 166E 1735-1736 17D4-17D6 "
    "17D9-17DA 1803 1809 1944-1945 1AA8-1AAB 1B5A-1B5B 1B5E-1B5F 1B7D-1B7E 1C3B-1C3C 1C7E-1C7F 203C-203D 2047-2049 "
    "2E2E 2E3C 2E53-2E54 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877 A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB "
    "FE52 FE56-FE57 FF01 FF0E FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143 "
    "111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 1144B-1144C 115C2-115C3 115C9-115D7 11641-11642 "
    "1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C 11C41-11C42 11EF7-11EF8 11F43-11F44 16A6E-16A6F 16AF5 "
    "16B37-16B38 16B44 16E98 1BC9F 1DA88"
)

_COUNTS = ("lines", "stopped_lines", "short_lines", "duplicate_chars", "chars", "newlines", "words")
_LINES, _STOPPED, _SHORT, _DUPLICATE, _CHARS, _NEWLINES = range(6)
_RATIOS = ("line_punct_ratio", "short_line_ratio", "char_dup_ratio", "newline_ratio")

_SCHEMA = pa.schema(
    [*(pa.field(name, pa.int32()) for name in _COUNTS), *(pa.field(name, pa.float64()) for name in _RATIOS)]
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Config:
    """How lines and words are measured."""

    short_line_chars: Annotated[int, Between(0, 1_000_000)] = 30  # FineWeb: longest short line
    stop_chars: str | None = None  # characters that end a sentence; the default is datatrove's set for all scripts
    words: str = "spacy_en"  # a style of winnow.filters.language.words


@lru_cache(maxsize=8)
def _stops(chosen: str | None) -> Table:
    if chosen is not None:
        return character_set(chosen)
    runs = [run.split("-") for run in _STOPS.split()]
    return character_set(chr(point) for run in runs for point in range(int(run[0], 16), int(run[-1], 16) + 1))


@kernel  # type: ignore[untyped-decorator]
def _counts(text: Bytes, pages: Ints, starts: Ints, ends: Ints, classes: Table, stops: Table, short_chars: int) -> Ints:
    """The counts of every page, except words."""
    counts = np.zeros((len(pages) - 1, len(_COUNTS)), np.int64)
    for page in range(len(pages) - 1):
        first, after = pages[page], pages[page + 1]
        solid_starts, solid_ends = np.empty(after - first, np.int64), np.empty(after - first, np.int64)
        lengths, lines = np.empty(after - first, np.int64), 0
        for line in range(first, after):
            start, end = starts[line], ends[line]
            length = code_points(text, start, end)
            counts[page, _CHARS] += length
            if without_space(text, start, end, classes)[0] == end:
                continue
            counts[page, _SHORT] += length <= short_chars
            counts[page, _STOPPED] += flags_of(stops, decode(text, character_before(text, start, end))) != 0
            solid_starts[lines], solid_ends[lines], lengths[lines] = start, end, length
            lines += 1
        counts[page, _LINES] = lines
        counts[page, _NEWLINES] = after - first - 1
        if lines:
            seed = document_seed(text, solid_starts[0], solid_ends[lines - 1])
            firsts = first_equals(text, solid_starts[:lines], solid_ends[:lines], seed)
            for line in range(lines):
                if firsts[line] != line:
                    counts[page, _DUPLICATE] += lengths[line]
    return counts


def _ratio(part: Ints, whole: Ints) -> npt.NDArray[np.float64]:
    """A ratio; 0 if there is nothing, where datatrove would divide a page without words by zero."""
    return np.where(whole > 0, part / np.maximum(whole, 1), 0.0)


def _measure(config: Config, stops: Table, batch: pa.RecordBatch) -> pa.RecordBatch:
    cut = lines(batch.column(TEXT), "newline")
    counts = _counts(cut.buffer, cut.documents, cut.starts, cut.ends, unicode_classes(), stops, config.short_line_chars)
    words = np.diff(segment(batch.column(TEXT), config.words).documents)
    counts[:, len(_COUNTS) - 1] = words
    ratios = (
        _ratio(counts[:, _STOPPED], counts[:, _LINES]),
        _ratio(counts[:, _SHORT], counts[:, _LINES]),
        _ratio(counts[:, _DUPLICATE], counts[:, _CHARS]),
        _ratio(counts[:, _NEWLINES], words),
    )
    columns = [
        *(pa.array(counts[:, number].astype(np.int32)) for number in range(len(_COUNTS))),
        *(pa.array(ratio) for ratio in ratios),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


OPERATOR = TextOperator(
    name="text.fineweb",
    version=1,
    summary="FineWeb: lines with end marks, short lines, duplicated characters, newlines per word",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=lambda config, _assets: partial(_measure, config, _stops(config.stop_chars)),
    memory=16,
)
