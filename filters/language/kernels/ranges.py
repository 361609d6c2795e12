"""Find equal byte ranges: hash tables over ranges of one buffer, exact and in linear time.

Ranges with equal hashes are compared byte by byte, so a collision costs time but never a wrong answer. Hashes are
seeded by the document that holds the ranges: an author cannot fill one slot of a table on purpose, as each changed byte
moves every slot; and equal documents still give equal hashes on every machine.
"""

import numpy as np

from winnow.filters.language.kernels.memory import eight_bytes
from winnow.schemas.kernels import inlined, kernel, leaf

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_TOP, _NEXT = np.uint64(7), np.uint64(6)
_LOW_BITS = np.uint64(0x0101010101010101)
_BITS = tuple(np.uint64(shift) for shift in range(0, 64, 8))  # by bytes


@inlined
def stirred(value):  # type: ignore[no-untyped-def]
    """A bijection of 64 bits after which the low bits depend on all."""
    value = (value ^ (value >> _SHIFT)) * _K2
    value = (value ^ (value >> _SHIFT)) * _K2
    return value ^ (value >> _SHIFT)


@leaf
def hash_range(buffer, start, end, seed):  # type: ignore[no-untyped-def]
    """A seeded 64-bit hash of the bytes from `start` to `end`."""
    state = seed ^ (np.uint64(end - start) * _K1)
    at = start
    while at + 8 <= end:
        state = (state ^ eight_bytes(buffer, at)) * _K1
        state ^= state >> _SHIFT
        at += 8
    if at == end:
        return stirred(state)
    if at + 8 <= len(buffer):  # one load, without the bytes after the range
        return stirred(state ^ (eight_bytes(buffer, at) << _BITS[8 - (end - at)]))
    rest = np.uint64(0)
    for step in range(end - at):
        rest |= np.uint64(buffer[at + step]) << _BITS[8 - (end - at) + step]
    return stirred(state ^ rest)


@leaf
def code_points(buffer, start, end):  # type: ignore[no-untyped-def]
    """The number of code points in these bytes of UTF-8: the bytes that are not continuation bytes."""
    count = end - start
    if count >= 64:  # compiles to vectors, which do not pay off for short ranges
        for byte in buffer[start:end]:
            count -= (byte & 0xC0) == 0x80
        return count
    at = start
    while at < end and at + 8 <= len(buffer):
        eight = eight_bytes(buffer, at)
        if end - at < 8:
            eight <<= _BITS[8 - (end - at)]
        continuing = (eight >> _TOP) & ~(eight >> _NEXT) & _LOW_BITS
        count -= np.int64((continuing * _LOW_BITS) >> _BITS[7])
        at += 8
    while at < end:
        count -= (buffer[at] & 0xC0) == 0x80
        at += 1
    return count


@leaf
def document_seed(buffer, start, end):  # type: ignore[no-untyped-def]
    """The seed for a document's ranges."""
    return hash_range(buffer, start, end, _K2)


@leaf
def same_bytes(buffer, start, end, other, other_end):  # type: ignore[no-untyped-def]
    """Whether two ranges with the same hash have the same bytes."""
    size = end - start
    if size != other_end - other:
        return False
    if size < 8:
        return True  # fewer than eight bytes are hashed by a bijection
    at = 0
    while at + 8 <= size:
        if eight_bytes(buffer, start + at) != eight_bytes(buffer, other + at):
            return False
        at += 8
    return eight_bytes(buffer, end - 8) == eight_bytes(buffer, other_end - 8)


@leaf
def room_for(count):  # type: ignore[no-untyped-def]
    """The size of a table that is at most half full: a power of two."""
    size = 16
    while size < 2 * count:
        size *= 2
    return size


@kernel
def first_equals(buffer, starts, ends, seed):  # type: ignore[no-untyped-def]
    """For each range the number (int32) of the first range with the same bytes, which may be its own."""
    count = len(starts)
    firsts = np.empty(count, np.int32)
    hashes = np.empty(count, np.uint64)
    size = room_for(count)
    table = np.zeros(size, np.int32)  # 0 is free, else a range's number + 1
    mask = np.uint64(size - 1)
    for one in range(count):
        value = hash_range(buffer, starts[one], ends[one], seed)
        hashes[one] = value
        slot = value & mask
        while True:
            other = table[slot] - 1
            if other < 0:
                table[slot] = one + 1
                firsts[one] = one
                break
            if hashes[other] == value and same_bytes(buffer, starts[one], ends[one], starts[other], ends[other]):
                firsts[one] = other
                break
            slot = (slot + np.uint64(1)) & mask
    return firsts
