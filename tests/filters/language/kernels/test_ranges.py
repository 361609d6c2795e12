"""Equal byte ranges, and what texts cut at newlines repeat."""

import re

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.language.kernels.ranges import code_points, document_seed, first_equals, hash_range
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.passages.passages import newline_runs, repeats, trimmed

LINES = st.lists(st.sampled_from(["", "a", "b", " a\u3000", "\x85", "long enough for eight", "語語語"]), max_size=12)


def bytes_of(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(text.encode(), np.uint8)


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(st.binary(max_size=20) | st.sampled_from([b"same" * 5, b"same" * 4 + b"sama", b""]), max_size=30))
def test_a_range_is_known_by_the_first_that_is_equal(ranges: list[bytes]) -> None:
    buffer = np.frombuffer(b"".join(ranges) or b"\0", np.uint8)
    ends = np.cumsum([len(one) for one in ranges], dtype=np.int64)
    starts = ends - np.array([len(one) for one in ranges], np.int64)
    found = first_equals(buffer, starts, ends, np.uint64(document_seed(buffer, 0, len(buffer))))
    assert found.tolist() == [ranges.index(one) for one in ranges]


def test_a_hash_sees_bytes_and_seed_alone() -> None:
    one, other = bytes_of("xxabcdefghij"), bytes_of("abcdefghijyy and more")
    seed = np.uint64(7)
    for size in range(11):
        assert hash_range(one, 2, 2 + size, seed) == hash_range(other, 0, size, seed)
    assert hash_range(one, 2, 5, seed) != hash_range(one, 2, 5, np.uint64(8))
    assert len({int(hash_range(bytes_of("\0" * size), 0, size, seed)) for size in range(20)}) == 20


@settings(max_examples=scaled(100), deadline=None)
@given(st.text(max_size=200), st.integers(0, 40), st.integers(0, 40))
def test_code_points_are_those_of_python(text: str, skipped: int, left: int) -> None:
    before, inner, after = text[:skipped], text[skipped : len(text) - left], text[len(text) - left :][:left]
    buffer = bytes_of(before + inner + after)
    start = len(before.encode())
    assert code_points(buffer, start, start + len(inner.encode())) == len(inner)


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(LINES.map("\n".join), max_size=5), st.sampled_from([1, 2, 3]), st.booleans())
def test_newline_runs_cut_like_an_expression(texts: list[str], least: int, strip: bool) -> None:
    found = newline_runs(texts_of(pa.array(texts, pa.large_string())), least, strip=strip)
    pieces = [re.split(rf"\n{{{least},}}", text.strip() if strip else text) for text in texts]
    assert [found.of(text) for text in range(len(texts))] == pieces
    bare = trimmed(found)
    assert [bare.of(text) for text in range(len(texts))] == [
        [piece.strip() for piece in of_text if piece.strip()] for of_text in pieces
    ]


def test_repeats_are_counted_with_and_without_the_first() -> None:
    found = repeats(newline_runs(texts_of(pa.array(["é\nb\né\né\nc", ""], pa.large_string())), 1, strip=False))
    assert found.pieces.tolist() == [5, 1]
    assert found.characters.tolist() == [5, 0]
    assert (found.later.tolist(), found.later_characters.tolist()) == ([2, 0], [2, 0])
    assert (found.shared.tolist(), found.shared_characters.tolist()) == ([3, 0], [3, 0])
