"""Signatures: datasketch's, of shingles that Python finds too."""

import random
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from datasketch import LeanMinHash, MinHash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.filters.duplicates.scripts import PIECES, TEXTS
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.duplicates.normal_form import Unit, units_of
from winnow.filters.duplicates.shingles import (
    characters32,
    characters64,
    power_of,
    shingles_of,
    words32,
    words64,
)
from winnow.filters.duplicates.signatures import Scheme, Signatures, from_datasketch, shingle_sets, sign, to_datasketch
from winnow.schemas.errors import SourceError

UNITS: tuple[Unit, ...] = ("words", "characters")
FILLER = "filler " * 30  # behind a text, so that it is read in blocks too


def column(*texts: str) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def oracle(text: str, scheme: Scheme) -> tuple[list[int], int]:
    shingles = shingles_of(text, scheme.unit, scheme.size)
    function = words32 if scheme.unit == "words" else characters32
    made = MinHash(num_perm=scheme.hashes, seed=scheme.seed, hashfunc=function)
    made.update_batch(shingles)
    return made.hashvalues.tolist(), len(shingles)


def rows(signed: Signatures) -> list[tuple[bytes, bytes, int]]:
    return [
        (one.tobytes(), other.tobytes(), int(count))
        for one, other, count in zip(signed.signature, signed.digest, signed.shingles, strict=True)
    ]


@settings(deadline=None, max_examples=scaled(60))
@given(TEXTS, st.sampled_from(UNITS), st.sampled_from([1, 2, 5, 64]), st.sampled_from([1, 7, 16]), st.booleans())
@example("".join(PIECES), "words", 5, 112, True)
@example("".join(PIECES), "characters", 5, 112, True)
@example(" ".join(PIECES), "words", 3, 112, False)
def test_it_is_what_datasketch_makes_of_the_shingles(
    text: str, unit: Unit, size: int, hashes: int, followed: bool
) -> None:
    scheme = Scheme(unit, size, hashes)
    signed = sign(column(text, FILLER) if followed else column(text), scheme)
    assert (signed.signature[0].tolist(), signed.shingles[0]) == oracle(text, scheme)
    function = words64 if unit == "words" else characters64
    offsets, values = shingle_sets(column(text), scheme)
    assert values.tolist() == sorted({function(shingle) for shingle in shingles_of(text, unit, size)})
    assert offsets.tolist() == [0, len(values)]


@pytest.mark.parametrize("unit", UNITS)
@settings(deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=8))
def test_digests_are_equal_where_the_units_are(unit: Unit, texts: list[str]) -> None:
    texts = [*texts, *(unicodedata.normalize("NFD", text.upper()) for text in texts)]
    digests = [digest for _, digest, _ in rows(sign(column(*texts), Scheme(unit)))]
    units = [units_of(text, unit) for text in texts]
    for one in range(len(texts)):
        for other in range(one):
            assert (digests[one] == digests[other]) == (units[one] == units[other])


@pytest.mark.parametrize("unit", UNITS)
@settings(deadline=None)
@given(st.lists(TEXTS | st.sampled_from(["", "word", FILLER]), min_size=1, max_size=8), st.randoms())
def test_a_row_depends_on_itself_alone(unit: Unit, texts: list[str], order_of: random.Random) -> None:
    scheme = Scheme(unit, 5, 8)
    together = rows(sign(column(*texts), scheme))
    assert together == [rows(sign(column(text), scheme))[0] for text in texts]
    assert together[1:] == rows(sign(column(*texts).slice(1), scheme))
    order = list(range(len(texts)))
    order_of.shuffle(order)
    assert rows(sign(column(*(texts[place] for place in order)), scheme)) == [together[place] for place in order]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts(unit: Unit, text: str) -> None:
    text = text[:20_000]
    scheme = Scheme(unit, 5, 4)
    signed = sign(column(text, FILLER), scheme)
    assert (signed.signature[0].tolist(), signed.shingles[0]) == oracle(text, scheme)


@pytest.mark.parametrize("text", ["a", "中", "a.", "a\u0301", "가", "ﷺ", "a.\u0948", "़", "Ǆ"])
def test_one_thing_over_and_over_is_read_in_pieces(text: str) -> None:
    many = text * (60_000 // len(text.encode())) + "b end"
    for unit in UNITS:
        signed = sign(column(many), Scheme(unit, 5, 4))
        assert signed.shingles[0] == max(len(units_of(many, unit)) - 4, 1)


def test_a_megabyte_of_one_character() -> None:
    many, few = "A" * 1_000_000, "a" * 5
    scheme = Scheme("characters", 5, 4)
    signed = sign(column(many, few), scheme)
    assert signed.shingles.tolist() == [999_996, 1]
    assert signed.signature[0].tolist() == signed.signature[1].tolist()
    assert shingle_sets(column(many), scheme)[1].tolist() == [characters64(b"aaaaa")]
    word, words = many[:100_000], Scheme(size=1, hashes=4)  # the oracle takes seconds for a megabyte
    assert sign(column(word), words).signature[0].tolist() == oracle(word, Scheme(hashes=4))[0]
    assert sign(column(many), words).shingles.tolist() == [1]


def test_what_joins_after_very_many_marks_is_not_forgotten() -> None:
    text = "a." + "\u0948" * 30_000 + "b"  # one word, because of its last letter
    scheme = Scheme("characters", 5, 4)
    assert sign(column(text), scheme).shingles[0] == 30_003 - 4
    assert sign(column(text), Scheme("words", 5, 4)).shingles[0] == 1


def test_texts_without_units() -> None:
    signed = sign(column("", " \n", "\0" * 99, "\ufffd\ufffd", "😀", "word"), Scheme())
    assert signed.shingles.tolist() == [0, 0, 0, 0, 0, 1]
    assert (signed.signature[:5] == 0xFFFFFFFF).all()


def test_lone_surrogates_that_were_replaced_end_words() -> None:
    broken = b"one \xed\xa0\x80two".decode("utf-8", "replace")
    assert rows(sign(column(broken), Scheme())) == rows(sign(column("one two"), Scheme()))


def test_no_texts() -> None:
    assert sign(column(), Scheme()).signature.shape == (0, 112)
    assert shingle_sets(column(), Scheme())[0].tolist() == [0]


def test_the_estimate_is_close_to_what_it_estimates() -> None:
    words = [f"w{number}" for number in range(2000)]
    first, second = " ".join(words[:1500]), " ".join(words[300:1800])
    scheme = Scheme(size=3, hashes=1024)
    signed = sign(column(first, second), scheme)
    offsets, values = shingle_sets(column(first, second), scheme)
    one, other = (set(values[offsets[row] : offsets[row + 1]].tolist()) for row in (0, 1))
    true = len(one & other) / len(one | other)
    assert true == 1198 / 1798
    assert (
        abs(float((signed.signature[0] == signed.signature[1]).mean()) - true) < 3 * (true * (1 - true) / 1024) ** 0.5
    )


@pytest.mark.parametrize("limit", [1, 10, 3000, 4000, 1 << 18])
def test_of_many_shingles_the_smallest_are_kept(limit: int) -> None:
    text = " ".join(str(number * number % 10_007) for number in range(9000))
    _, values = shingle_sets(column(text), Scheme(size=1), 1 << 18)
    _, kept = shingle_sets(column(text), Scheme(size=1), limit)
    assert kept.tolist() == values[:limit].tolist()


def test_the_scheme_says_its_name_and_datasketch_draws_the_same() -> None:
    scheme = Scheme("characters", 20, 64, 7)
    assert (Scheme().name, scheme.name) == ("affine32/words-5x112/1", "affine32/characters-20x64/7")
    assert np.array_equal(np.array(scheme.permutations()), MinHash(64, 7).permutations)


@pytest.mark.parametrize("size", [0, 65, -1])
def test_a_shingle_has_a_size(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 64 units, not {size}"):
        power_of(size)


@pytest.mark.parametrize("unit", UNITS)
def test_to_datasketch_and_back(unit: Unit) -> None:
    scheme = Scheme(unit, 2, 32, 3)
    (signature,) = sign(column("a text of some words"), scheme).signature
    (both,) = sign(column("a text of some words words"), scheme).signature
    theirs = to_datasketch(signature, scheme)
    assert np.array_equal(from_datasketch(theirs, scheme), signature)
    assert np.array_equal(from_datasketch(LeanMinHash(theirs), scheme), signature)
    theirs.update_batch(shingles_of("a text of some words words", unit, 2))
    assert np.array_equal(from_datasketch(theirs, scheme), both)


@pytest.mark.parametrize(
    ("theirs", "complaint"),
    [
        (MinHash(112, 1, hashfunc=words32, scheme="legacy"), "'legacy' … 'affine32'"),
        (MinHash(112, 2, hashfunc=words32), "2 … 1"),
        (MinHash(128, 1, hashfunc=words32), "its num_perm is 128, not 112"),
        (MinHash(112, 1), "'datasketch.hashfunc.sha1_hash32' … 'winnow … words32'"),
        (
            MinHash(112, 1, hashfunc=words32, scheme="affine32", permutations=MinHash(112, 2).permutations),
            "other permutations",
        ),
    ],
)
def test_what_was_made_otherwise_is_refused_by_name(theirs: MinHash, complaint: str) -> None:
    with assert_refused(SourceError, complaint):
        from_datasketch(theirs, Scheme())


def test_a_signature_of_another_length_is_refused() -> None:
    with pytest.raises(SourceError, match=r"affine32/words-5x112/1 has 112 hashes; found shape \(3,\)"):
        to_datasketch(np.zeros(3, np.uint32), Scheme())
