"""A digest of each text: texts with equal digests are the same.

In the form `bytes` they are the same bytes; in the form `spaces` they may differ in white space and invisible
characters. Case, punctuation and Unicode normal forms count in both; `text.minhash` ignores these too.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import uint64

from winnow.filters.language.folding.characters import INVISIBLE
from winnow.filters.language.kernels.classes import Table, decode, table_of, width
from winnow.filters.language.kernels.digests import (
    DIGEST,
    absorbed,
    digest_column,
    digests_of,
    finished,
    load_word,
    store_word,
)
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.operators import STATUS, TEXT, TextOperator
from winnow.schemas.kernels import kernel, leaf

NAME = "text.digest"
VERSION = 1
NO_TEXT_LEFT = "no_text_left"

Form: TypeAlias = Literal["bytes", "spaces"]

WRITES = pa.schema(
    [
        STATUS,
        pa.field("digest", DIGEST),
        pa.field("length", pa.int64()),  # bytes of the text as it is
    ]
)

SPACES = (  # White_Space of Unicode
    (0x0009, 0x000D), (0x0020, 0x0020), (0x0085, 0x0085), (0x00A0, 0x00A0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip

_SEEN, _SPACE, _UNSEEN = 0, 1, 2  # classes of code points
_PLAIN, _IS_BLANK, _UNSURE, _OTHER_SPACE = 0, 1, 2, 3  # classes of bytes, given the next one
_BLOCK = 4096  # normalised bytes held at once
_BLANK = 32

_EVERY = uint64(0x0101010101010101)
_TOPS = uint64(0x8080808080808080)
_BLANKS = uint64(0x2020202020202020)


@dataclass(frozen=True, slots=True)
class DigestConfig:
    """Which texts count as the same."""

    form: Form = "spaces"  # or bytes: the text as it is


@lru_cache(maxsize=1)
def _tables() -> tuple[npt.NDArray[np.uint8], Table]:
    """The class of every byte and of every code point."""
    points = np.zeros(sys.maxunicode + 1, np.uint16)
    kinds = np.full((256, 64), _PLAIN, np.uint8)  # of bytes, by the last six bits of the next
    for role, ranges in ((_UNSEEN, INVISIBLE), (_SPACE, SPACES)):
        for low, high in ranges:
            points[low : high + 1] = role
            for point in range(low, high + 1):
                first, *rest = chr(point).encode()
                if rest:
                    kinds[first, rest[0] & 0x3F] = _UNSURE
                else:
                    kinds[first] = _OTHER_SPACE
    kinds[_BLANK] = _IS_BLANK
    return kinds.reshape(-1), table_of(points)


@leaf
def _normalised(buffer, at, end, kinds, pages, roles, block):  # type: ignore[no-untyped-def]
    """The two halves of a text's digest in the form `spaces`, and its length in that form.

    The form is written into a block, which is hashed whenever it is full, except its last byte, which may be the
    trailing space.
    """
    first = second = uint64(0)
    length = np.int64(0)
    filled = np.int64(0)
    spaced = np.int64(1)  # whether a space would be the second, or the first of all
    while at < end:
        if filled > _BLOCK:
            first, second = absorbed(first, second, block, 0, _BLOCK)
            for place in range(_BLOCK, filled):
                block[place - _BLOCK] = block[place]
            length += _BLOCK
            filled -= _BLOCK
        if at + 8 < end:
            # Eight bytes stay unchanged if no blank follows a space and none may begin something that is removed.
            # For ASCII a few operations on the whole word decide: a borrow may mistake a byte for a blank, but only
            # after a real one, so both take the slow path.
            word = load_word(buffer, uint64(at))
            if word & _TOPS == uint64(0):
                blank = word ^ _BLANKS
                blank = (blank - _EVERY) & ~blank & _TOPS
                bad = ((word - _BLANKS) & _TOPS) | (blank & ((blank << uint64(8)) | uint64(spaced << 7)))
                before = blank >> uint64(63)
            else:
                next_word = load_word(buffer, uint64(at + 1))
                before, bad = uint64(spaced), uint64(0)
                for place in range(8):
                    byte = (word >> uint64(8 * place)) & uint64(0xFF)
                    follower = (next_word >> uint64(8 * place)) & uint64(0x3F)
                    kind = uint64(kinds[byte << uint64(6) | follower])
                    bad |= kind & (before | uint64(_UNSURE))
                    before = kind
            if bad == uint64(0):
                store_word(block, uint64(filled), word)
                spaced = np.int64(before)
                filled += 8
                at += 8
                continue
        stop = min(at + 8, end)
        while at < stop:
            kind = np.int64(kinds[np.int64(buffer[at]) << 6 | (np.int64(buffer[at + 1]) & 0x3F if at + 1 < end else 0)])
            if kind == _UNSURE:
                size = width(buffer[at])
                point = decode(buffer, at) if at + size <= end else np.int64(0)
                role = roles[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)]
                if role == _SEEN:
                    for place in range(at, min(at + size, end)):
                        block[filled] = buffer[place]
                        filled += 1
                    spaced = np.int64(0)
                elif role == _SPACE:
                    block[filled] = _BLANK
                    filled += 1 - spaced
                    spaced = np.int64(1)
                at += size
            else:  # without a branch: word ends cannot be predicted
                white = kind & 1
                block[filled] = _BLANK if white else buffer[at]
                filled += 1 - (white & spaced)
                spaced = white
                at += 1
    if filled and spaced:
        filled -= 1
    length += filled
    first, second = finished(first, second, block, 0, filled, length)
    return first, second, length


@kernel
def _digests_of_spaces(buffer, offsets, kinds, pages, roles):  # type: ignore[no-untyped-def]
    halves = np.zeros((len(offsets) - 1, 2), np.uint64)
    left = np.zeros(len(offsets) - 1, np.bool_)
    block = np.empty(_BLOCK + 64, np.uint8)
    for document in range(len(offsets) - 1):
        first, second, length = _normalised(
            buffer, offsets[document], offsets[document + 1], kinds, pages, roles, block
        )
        halves[document, 0], halves[document, 1] = first, second
        left[document] = length > 0
    return halves, left


def digests(batch: pa.RecordBatch, form: Form) -> pa.RecordBatch:
    """The layer of a batch of texts."""
    texts = texts_of(batch.column(TEXT))
    for array in (texts.buffer, texts.offsets):  # always read-only, so that kernels are compiled once
        array.setflags(write=False)
    lengths = np.diff(texts.offsets)
    if form == "bytes":
        halves, left = digests_of(texts), lengths > 0
    else:
        kinds, table = _tables()
        halves, left = _digests_of_spaces(texts.buffer, texts.offsets, kinds, table.pages, table.flags)
    columns = [
        pa.array(np.where(left, "ok", NO_TEXT_LEFT), pa.string()),
        digest_column(halves, left),
        pa.array(lengths, pa.int64(), mask=~left),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


OPERATOR = TextOperator(
    name=NAME,
    version=VERSION,
    summary="digest of the text, by default ignoring white space and invisible characters",
    config=DigestConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: WRITES,
    load=lambda config, _assets: partial(digests, form=config.form),
    as_written=True,
    reasons=(NO_TEXT_LEFT,),
)
