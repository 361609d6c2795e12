"""The n-grams of a text are those of its words in lower case, wherever the text is cut into pieces."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tools.language_model.ngrams import word_ngrams
from winnow.filters.language.identification.own.ngrams import DENSE, EDGE, LONGEST, WORD, folding

LETTERS = st.text(st.characters(codec="utf-8", categories=("L", "M", "N", "P", "Z")), max_size=80)


def hashes_of(text: str, room: int = WORD, most: int = LONGEST * WORD) -> list[int]:
    """All hashes of a text, in as many calls as are needed."""
    data = np.frombuffer(text.encode(), np.uint8)
    numbers, out, found, at = np.zeros(room, np.int32), np.zeros(most, np.uint32), [], 0
    while at < len(data):
        count, after = word_ngrams(data, at, len(data), folding(), numbers, out)
        assert after > at
        found += out[:count].tolist()
        at = after
    return found


def words_of(text: str) -> list[list[int]]:
    """The folded words of a text."""
    words: list[list[int]] = [[]]
    for point in folding()[[ord(character) for character in text]].tolist() if text else []:
        if point == 0:
            words.append([])
        elif point > 2:
            words[-1].append(point)
    return [[EDGE, *word, EDGE] for word in words if word]


def count_of(word: list[int]) -> int:
    """How many n-grams a word with its edges has."""
    starts = range(len(word))
    return sum(min(LONGEST, len(word) - first) - (0 if word[first] >= DENSE else 1) for first in starts)


@given(LETTERS)
def test_every_word_gives_its_ngrams(text: str) -> None:
    assert len(hashes_of(text)) == sum(count_of(word) for word in words_of(text))


@given(LETTERS, LETTERS)
def test_words_are_independent_of_each_other(one: str, other: str) -> None:
    assert hashes_of(f"{one} {other}") == hashes_of(one) + hashes_of(other)


@given(st.lists(LETTERS, max_size=12))
def test_pieces_give_what_the_whole_gives(texts: list[str]) -> None:
    text = " ".join(texts)
    assert hashes_of(text, most=LONGEST * (WORD + 2)) == hashes_of(text, most=1 << 16)


def test_case_digits_and_punctuation_say_nothing() -> None:
    assert hashes_of("Haus, 12 Häuser!") == hashes_of("haus häuser")
    assert hashes_of("L’été") == hashes_of("l'été")
    assert hashes_of("zero\u200bwidth") != hashes_of("zerowidth")
    assert hashes_of("می\u200cروم") == hashes_of("میروم")


def test_a_single_character_is_an_ngram_only_where_it_may_be_a_word() -> None:
    assert len(hashes_of("a")) == 3
    assert len(hashes_of("家")) == 4


def test_a_word_without_an_end_is_read_in_pieces() -> None:
    assert len(hashes_of("a" * 10_000)) > 4 * 9_000
