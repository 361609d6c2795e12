"""Sixteen-byte values as pairs of words, and back."""

import pyarrow as pa

from winnow.schemas.uint128 import values_of, words_of

VALUES = [bytes(range(16)), b"\0" * 16, b"\xff" * 16, b"\x80" + b"\0" * 15]


def test_words_are_in_the_order_of_the_bytes() -> None:
    high, low = words_of(pa.array(VALUES, pa.binary(16)))
    assert high.tolist() == [0x0001020304050607, 0, 2**64 - 1, 1 << 63]
    assert low.tolist() == [0x08090A0B0C0D0E0F, 0, 2**64 - 1, 0]


def test_words_give_back_their_values() -> None:
    column = pa.array(VALUES, pa.binary(16))
    assert values_of(*words_of(column)).equals(column)


def test_a_slice_has_the_words_of_its_values() -> None:
    assert words_of(pa.array(VALUES, pa.binary(16)).slice(2, 1))[0].tolist() == [2**64 - 1]


def test_no_values_have_no_words() -> None:
    assert [len(words) for words in words_of(pa.array([], pa.binary(16)))] == [0, 0]
