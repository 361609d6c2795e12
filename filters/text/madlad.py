r"""The sentence rules of MADLAD-400 (Kudugunta et al., https://arxiv.org/abs/2309.04662, 2.3): questionable sentences.

Sentences end at `[.!?]+\s+`, as in allenai/datamap-rs, without these marks. One is questionable if it is in another
language than its page, by its case (a list of names), its length, technical characters or cursed substrings; lengths
are in characters. The first rule needs a language model for the page and its sentences.

Neither source defines a word for the rule on case: here words are split at white space, without what precedes their
first letter or digit. The list of cursed substrings is not part of winnow; the user may give a file.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.identification.lid_176 import LID_176
from winnow.filters.language.identification.named import OWN, model_named
from winnow.filters.language.kernels.classes import (
    ALPHA,
    DECIMAL,
    SPACE,
    UPPER,
    Table,
    decode,
    flags_of,
    unicode_classes,
    width,
)
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.language.passages.passages import without_space
from winnow.filters.operators import TEXT, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.kernels import kernel, leaf
from winnow.schemas.recipe.checks import Between

Rule = Literal["language", "case", "length", "technical", "cursed"]

_CASE, _SHORT, _LONG, _TECHNICAL, _CURSED, _LANGUAGE = 1, 2, 4, 8, 16, 32
_FLAGS: dict[Rule, int] = {
    "language": _LANGUAGE,
    "case": _CASE,
    "length": _SHORT | _LONG,
    "technical": _TECHNICAL,
    "cursed": _CURSED,
}
_JUDGED_BYTES = 2_000  # of a sentence, and 100 times as many of a page, are read to identify its language

_TECHNICAL_MARKS = np.isin(np.arange(128), [ord(mark) for mark in "0123456789{}+/()>"])

_SCHEMA = pa.schema(
    [
        pa.field("sentences", pa.int32()),
        pa.field("other_language_sentences", pa.int32()),  # rule 1; null without a model
        pa.field("list_case_sentences", pa.int32()),  # rule 2
        pa.field("short_sentences", pa.int32()),  # rule 3, as is the next
        pa.field("long_sentences", pa.int32()),
        pa.field("technical_sentences", pa.int32()),  # rule 4
        pa.field("cursed_sentences", pa.int32()),  # rule 5; null without a list
        pa.field("questionable_sentences", pa.int32()),  # by any of the rules chosen
        pa.field("questionable_ratio", pa.float64()),
    ]
)

Labels = Callable[[Sequence[bytes]], list[str]]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Config:
    """When a sentence is questionable; the defaults are the paper's."""

    min_case_words: Annotated[int, Between(0, 1_000_000)] = 12  # shorter sentences may have any case
    max_case_share: Annotated[float, Between(0, 1)] = 0.5  # of words that begin with a capital letter
    min_chars: Annotated[int, Between(0, 1_000_000_000)] = 20
    max_chars: Annotated[int, Between(0, 1_000_000_000)] = 500
    max_technical_share: Annotated[float, Between(0, 1)] = 0.2  # of characters among 0-9 { } + / ( ) >
    language_model: str = ""  # such as lid.176, or the path of a fastText language model
    max_language_sentences: Annotated[int, Between(1, 1_000_000)] = 1_000  # per page: the first that are long enough
    cursed: str = ""  # the path of a list, one substring per line
    cursed_expressions: Annotated[int, Between(0, 1_000)] = 4  # how many lines at its end are regular expressions
    rules: tuple[Rule, ...] = ("language", "case", "length", "technical", "cursed")  # the rules that count


@leaf  # type: ignore[untyped-decorator]
def _next_end(text: Bytes, at: int, end: int, classes: Table) -> tuple[int, int]:
    """The end of the sentence that begins here, and the start of the next one."""
    while at < end:
        if text[at] != 46 and text[at] != 33 and text[at] != 63:
            at += 1
            continue
        stop = at
        while at < end and (text[at] == 46 or text[at] == 33 or text[at] == 63):
            at += 1
        after = at
        while at < end and flags_of(classes, decode(text, at)) & SPACE:
            at += width(text[at])
        if at > after:
            return stop, at
    return end, end


@kernel  # type: ignore[untyped-decorator]
def _split(text: Bytes, offsets: Ints, classes: Table) -> tuple[Ints, Ints, Ints]:
    """The sentences of every page; blank ones do not count."""
    pages = np.zeros(len(offsets), np.int64)
    starts, ends, count = np.empty(256, np.int64), np.empty(256, np.int64), 0
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        while at < end:
            stop, after = _next_end(text, at, end, classes)
            if without_space(text, at, stop, classes)[0] < stop:
                if count == len(starts):
                    starts, ends = np.concatenate((starts, starts)), np.concatenate((ends, ends))
                starts[count], ends[count] = at, stop
                count += 1
            at = after
        pages[row + 1] = count
    return pages, starts[:count].copy(), ends[:count].copy()


@kernel  # type: ignore[untyped-decorator]
def _flags(
    text: Bytes,
    starts: Ints,
    ends: Ints,
    classes: Table,
    technical_marks: npt.NDArray[np.bool_],
    min_words: int,
    max_case: float,
    min_chars: int,
    max_chars: int,
    max_technical: float,
) -> Ints:
    """The rules that each sentence breaks, as flags."""
    broken = np.zeros(len(starts), np.int64)
    for number in range(len(starts)):
        chars = technical = words = capitals = 0
        begun = False  # whether the word here has had a letter or a digit
        at, end = starts[number], ends[number]
        while at < end:
            point = decode(text, at)
            flags = flags_of(classes, point)
            chars += 1
            technical += point < 128 and technical_marks[point]
            if flags & SPACE:
                begun = False
            elif not begun and flags & (ALPHA | DECIMAL):
                begun = True
                words += 1
                capitals += flags & UPPER != 0
            at += width(text[at])
        if words >= min_words and words > 0 and capitals / words > max_case:
            broken[number] |= _CASE
        if chars < min_chars:
            broken[number] |= _SHORT
        if chars > max_chars:
            broken[number] |= _LONG
        if technical / chars > max_technical:
            broken[number] |= _TECHNICAL
    return broken


def _cursed(text: Bytes, starts: Ints, ends: Ints, pattern: str) -> npt.NDArray[np.bool_]:
    if not len(starts):
        return np.zeros(0, np.bool_)
    edges = np.column_stack([starts, ends]).ravel()  # of sentences and of what is between them
    pieces = pa.LargeStringArray.from_buffers(len(edges) - 1, pa.py_buffer(edges), pa.py_buffer(text))
    found: npt.NDArray[np.bool_] = pc.match_substring_regex(pieces, pattern).to_numpy(zero_copy_only=False)
    return found[::2].astype(bool)


def _pattern(path: str, expressions: int) -> str:
    """A list as one expression for RE2, which takes time linear in the text."""
    try:
        lines = [line for line in Path(path).read_text("utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"text.madlad: cursed: cannot read the list {path}: {error}") from None
    literals, own = lines[: len(lines) - expressions], lines[max(0, len(lines) - expressions) :]
    pattern = "|".join([*(re.escape(line) for line in literals), *(f"(?:{line})" for line in own)])
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise RecipeError(f"text.madlad: cursed: {path} has a line that is not a regular expression: {error}") from None
    return pattern


def _foreign(
    texts: Texts, pages: Ints, starts: Ints, ends: Ints, flags: Ints, most: int, labels: Labels
) -> npt.NDArray[np.bool_]:
    """Which sentences are in another language than their page; those that are too short are skipped."""
    foreign = np.zeros(len(starts), np.bool_)

    def line(start: int, end: int, most_bytes: int) -> bytes:
        return texts.buffer[start : min(end, start + most_bytes)].tobytes().replace(b"\n", b" ") + b"\n"

    for page in range(len(pages) - 1):  # one call of the model takes longer than everything else here
        first, last = int(pages[page]), int(pages[page + 1])
        judged = [number for number in range(first, last) if not flags[number] & _SHORT][:most]
        if not judged:
            continue
        begin, end = int(texts.offsets[page]), int(texts.offsets[page + 1])
        lines = [line(begin, end, 100 * _JUDGED_BYTES)]
        lines += [line(int(starts[number]), int(ends[number]), _JUDGED_BYTES) for number in judged]
        own, *others = labels(lines)
        foreign[judged] = [label != own for label in others]
    return foreign


def madlad(texts: Texts, config: Config, cursed: str | None, labels: Labels | None = None) -> pa.RecordBatch:
    """How many sentences every page has, and how many of them break each rule.

    Args:
        texts: The pages.
        config: The limits of the rules.
        cursed: The pattern of cursed sentences; None if there is no list.
        labels: Gives the language labels of lines; None if there is no model.
    """
    classes = unicode_classes()
    pages, starts, ends = _split(texts.buffer, texts.offsets, classes)
    flags = _flags(
        texts.buffer,
        starts,
        ends,
        classes,
        _TECHNICAL_MARKS,
        config.min_case_words,
        config.max_case_share,
        config.min_chars,
        config.max_chars,
        config.max_technical_share,
    )
    if cursed is not None:
        flags |= np.where(_cursed(texts.buffer, starts, ends, cursed), _CURSED, 0)
    if labels is not None:
        foreign = _foreign(texts, pages, starts, ends, flags, config.max_language_sentences, labels)
        flags |= np.where(foreign, _LANGUAGE, 0)
    chosen = sum({_FLAGS[rule] for rule in config.rules})

    def pages_with(flag: int) -> Ints:
        sums: Ints = np.concatenate([[0], np.cumsum(flags & flag != 0)])
        found: Ints = np.diff(sums[pages])
        return found

    def column(values: Ints) -> pa.Array:
        return pa.array(values.astype(np.int32))

    sentences, questionable = np.diff(pages), pages_with(chosen)
    return pa.RecordBatch.from_arrays(
        [
            column(sentences),
            pa.nulls(len(sentences), pa.int32()) if labels is None else column(pages_with(_LANGUAGE)),
            column(pages_with(_CASE)),
            column(pages_with(_SHORT)),
            column(pages_with(_LONG)),
            column(pages_with(_TECHNICAL)),
            pa.nulls(len(sentences), pa.int32()) if cursed is None else column(pages_with(_CURSED)),
            column(questionable),
            pa.array(np.where(sentences > 0, questionable / np.maximum(sentences, 1), 0.0)),  # of none: 0
        ],
        schema=_SCHEMA,
    )


def _measure(config: Config, cursed: str | None, labels: Labels | None, batch: pa.RecordBatch) -> pa.RecordBatch:
    return madlad(texts_of(batch.column(TEXT)), config, cursed, labels)


def _load(config: Config, assets: Assets) -> Kernel:
    cursed = _pattern(assets.path(config.cursed), config.cursed_expressions) if config.cursed else None
    labels = None
    if config.language_model:
        labels = model_named(config.language_model, assets).names
    return partial(_measure, config, cursed, labels)


def _lists(config: Config) -> tuple[str, ...]:
    return tuple(name for name in (config.language_model, config.cursed) if name not in ("", OWN))


OPERATOR = TextOperator(
    name="text.madlad",
    version=1,
    summary="MADLAD-400: sentences in another language, lists of names, too short or long, technical or cursed",
    config=Config,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: _SCHEMA,
    load=_load,
    memory=4,
    assets=_lists,
    declares=(LID_176,),
)
