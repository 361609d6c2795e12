"""128-bit digests of bytes, for kernels: MurmurHash3 x64 128 with the seed 0, as Austin Appleby published it.

A digest equals `mmh3.hash_bytes` on every machine: its two halves as little-endian integers, concatenated. Among ten
billion texts the chance that any two collide is below one in a quintillion. It is not cryptographic: texts with equal
digests can be made on purpose.
"""

import sys
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir  # type: ignore[import-untyped]  # numba's own compiler
from numba import types, uint64
from numba.extending import intrinsic

from winnow.filters.language.kernels.spans import Texts
from winnow.schemas.kernels import inlined, kernel, leaf

DIGEST_BYTES = 16
DIGEST = pa.binary(DIGEST_BYTES)

Bytes: TypeAlias = npt.NDArray[np.uint8]
Halves: TypeAlias = npt.NDArray[np.uint64]
"""One row per digest: its first and its second half."""

State: TypeAlias = tuple[np.uint64, np.uint64]

_C1, _C2 = uint64(0x87C37B91114253D5), uint64(0x4CF5AD432745937F)
_BLOCK = 16


def digest_column(halves: Halves, there: npt.NDArray[np.bool_]) -> pa.Array:
    """A column of digests from rows of two halves; null where there is none."""
    content = pa.py_buffer(np.ascontiguousarray(halves, "<u8").tobytes())
    missing = len(there) - int(np.count_nonzero(there))
    valid = pa.py_buffer(np.packbits(there, bitorder="little").tobytes()) if missing else None
    return pa.Array.from_buffers(DIGEST, len(there), [valid, content], missing)


def digests_of(texts: Texts) -> Halves:
    """The digests of the bytes of every text."""
    for array in (texts.buffer, texts.offsets):  # always read-only, so that kernels are compiled once
        array.setflags(write=False)
    halves: Halves = _digests(texts.buffer, texts.offsets)
    return halves


def _place_of_word(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    content = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(content, [place]), ir.IntType(64).as_pointer())


def _little_endian(builder: Any, word: Any) -> Any:
    return word if sys.byteorder == "little" else builder.bswap(word)


# Composed of eight bytes, a word that is also read byte by byte would be loaded and stored byte by byte.
@intrinsic
def load_word(_context, text, _place):  # type: ignore[no-untyped-def]
    """Load eight bytes at any position as a little-endian integer."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _place_of_word(context, builder, signature.args[0], *arguments)
        return _little_endian(builder, builder.load(pointer, align=1))

    return types.uint64(text, types.uint64), build


@intrinsic
def store_word(_context, text, _place, _word):  # type: ignore[no-untyped-def]
    """Store a little-endian integer as eight bytes at any position."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _place_of_word(context, builder, signature.args[0], *arguments[:2])
        builder.store(_little_endian(builder, arguments[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.void(text, types.uint64, types.uint64), build


@inlined  # type: ignore[untyped-decorator]
def _rotated(value: np.uint64, bits: int) -> np.uint64:
    return value << uint64(bits) | value >> uint64(64 - bits)  # type: ignore[no-any-return]


@inlined  # type: ignore[untyped-decorator]
def _finalised(value: np.uint64) -> np.uint64:
    value = (value ^ value >> uint64(33)) * uint64(0xFF51AFD7ED558CCD)
    value = (value ^ value >> uint64(33)) * uint64(0xC4CEB9FE1A85EC53)
    return value ^ value >> uint64(33)  # type: ignore[no-any-return]


@leaf  # type: ignore[untyped-decorator]
def absorbed(first: np.uint64, second: np.uint64, text: Bytes, start: int, end: int) -> State:
    """The state after text[start:end], whose length is a multiple of 16; the state before anything is (0, 0)."""
    place, stop = uint64(start), uint64(end)
    while place < stop:
        first ^= _rotated(load_word(text, place) * _C1, 31) * _C2
        first = (_rotated(first, 27) + second) * uint64(5) + uint64(0x52DCE729)
        second ^= _rotated(load_word(text, place + uint64(8)) * _C2, 33) * _C1
        second = (_rotated(second, 31) + first) * uint64(5) + uint64(0x38495AB5)
        place += uint64(_BLOCK)
    return first, second


@leaf  # type: ignore[untyped-decorator]
def finished(first: np.uint64, second: np.uint64, text: Bytes, start: int, end: int, length: int) -> State:
    """The halves of the digest, after the last bytes: any number of text[start:end], of `length` in all."""
    whole = start + ((end - start) & ~(_BLOCK - 1))
    first, second = absorbed(first, second, text, start, whole)
    low = high = uint64(0)
    for at in range(end - 1, whole - 1, -1):
        if at - whole < 8:
            low = low << uint64(8) | uint64(text[at])
        else:
            high = high << uint64(8) | uint64(text[at])
    second ^= _rotated(high * _C2, 33) * _C1
    first ^= _rotated(low * _C1, 31) * _C2
    first ^= uint64(length)
    second ^= uint64(length)
    first += second
    second += first
    first, second = _finalised(first), _finalised(second)
    first += second
    return first, second + first


@kernel  # type: ignore[untyped-decorator]
def _digests(text: Bytes, offsets: npt.NDArray[np.int64]) -> Halves:
    halves = np.zeros((len(offsets) - 1, 2), np.uint64)
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        halves[row, 0], halves[row, 1] = finished(uint64(0), uint64(0), text, start, end, end - start)
    return halves
