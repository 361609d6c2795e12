"""A text's row: hashed words and characters with signs, of norm 1, whatever stands beside it."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.scoring.linear.hashed import Hashing, hashed_texts

SMALL = Hashing(buckets=4096, max_bytes=64)
WORDS = Hashing(buckets=1 << 20, words=1, characters=(1, 0))
PAIRS = Hashing(buckets=1 << 20, words=2, characters=(1, 0))
CHARACTERS = Hashing(buckets=1 << 20, words=0, characters=(2, 3))


def row(text: str | None, hashing: Hashing) -> dict[int, float]:
    found = hashed_texts(pa.array([text], pa.string()), hashing)
    return dict(zip(found.indices.tolist(), found.values.tolist(), strict=True))


def test_words_count_without_case_and_punctuation() -> None:
    assert len(row("one two", WORDS)) == 2
    assert row("One, two!", WORDS) == row("one\n\ttwo", WORDS)
    assert row("two one", WORDS) == {at: row("one two", WORDS)[at] for at in row("two one", WORDS)}


def test_pairs_of_words_know_the_order() -> None:
    assert len(row("one two", PAIRS)) == 3
    assert row("one two", PAIRS) != row("two one", PAIRS)


def test_characters_are_those_of_unicode() -> None:
    assert len(row("жук", CHARACTERS)) == 3  # two of two, and one of three
    assert len(row("abc", CHARACTERS)) == 3
    assert row("A  b", CHARACTERS) == row(" a b ", CHARACTERS)


def test_what_is_seen_twice_counts_twice() -> None:
    ratios = np.abs(list(row("a a b", WORDS).values()))
    np.testing.assert_allclose(sorted(ratios), np.array([1, 2]) / np.sqrt(5), rtol=1e-6)


def test_texts_without_features_have_empty_rows() -> None:
    found = hashed_texts(pa.array(["", None, "  \n", "x", "?!"]), WORDS)
    assert np.diff(found.offsets).tolist() == [0, 0, 0, 1, 0]


def test_only_the_beginning_is_read_up_to_a_whole_character() -> None:
    assert row("ж" * 100, SMALL) == row("ж" * 32, SMALL)
    assert row("a" + "ж" * 100, SMALL) == row("a" + "ж" * 31, SMALL)


def test_a_null_that_hides_bytes_is_empty() -> None:
    offsets, content = pa.array([0, 3, 6], pa.int32()).buffers()[1], pa.py_buffer(b"abcdef")
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, content])
    assert hidden.to_pylist() == [None, "def"]
    assert np.diff(hashed_texts(hidden, WORDS).offsets).tolist() == [0, 1]


@settings(max_examples=scaled(50), deadline=None)
@given(texts=st.lists(st.one_of(st.none(), st.text(max_size=100)), min_size=1, max_size=6), at=st.integers(0, 5))
def test_a_texts_row_is_the_same_whatever_the_batch(texts: list[str | None], at: int) -> None:
    whole = hashed_texts(pa.array(texts, pa.large_string()), SMALL)
    at %= len(texts)
    mine = slice(whole.offsets[at], whole.offsets[at + 1])
    alone = hashed_texts(pa.array(["x", texts[at]], pa.string())[1:], SMALL)
    assert alone.indices.tobytes() == whole.indices[mine].tobytes()
    assert alone.values.tobytes() == whole.values[mine].tobytes()
    assert len(alone.values) == 0 or abs(np.square(alone.values, dtype=np.float64).sum() - 1) < 1e-5
    assert (whole.indices >= 0).all()
    assert (whole.indices < SMALL.buckets).all()
