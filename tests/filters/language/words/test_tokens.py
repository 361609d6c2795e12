"""Words by the rules of spaCy's blank languages: equal to spaCy's own, for every text, in linear time."""

import json
import lzma
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measuring.environments import PEERS
from tests.filters.language.words.nasty import PIECES, nasty_texts
from winnow.filters.language.kernels.tables import language_table
from winnow.filters.language.words import segment, sentences
from winnow.filters.language.words.rules import languages

GOLDEN = Path(__file__).with_name("golden") / "spacy.json"
NASTY = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)


def words(texts: list[str], language: str = "en") -> list[list[str]]:
    found = segment(pa.array(texts, pa.large_string()), f"spacy_{language}")
    return [found.of(number) for number in range(len(texts))]


def sentence_lengths(texts: list[str], language: str = "en") -> list[list[int]]:
    found = sentences(pa.array(texts, pa.large_string()), f"spacy_{language}")
    return [[len(sentence) for sentence in found.of(number)] for number in range(len(texts))]


def test_words_and_sentences_are_those_that_spacy_gave() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))["texts"]
    assert sorted(golden) == sorted(languages())
    for language, rows in golden.items():
        texts = [text for text, _, _ in rows]
        for (text, expected, _), found in zip(rows, words(texts, language), strict=True):
            assert found == expected, (language, text)
        assert sentence_lengths(texts, language) == [lengths for _, _, lengths in rows], language


@pytest.mark.peers
def test_words_and_sentences_are_those_that_spacy_gives() -> None:
    if not (PEERS / "datatrove" / "ready").exists():
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    declarations = json.loads(lzma.decompress((files("winnow.runners.demo") / "udhr.json.xz").read_bytes()))
    real = ["\n".join(one["preamble"]) for one in declarations.values()]
    asked = {"en": real + nasty_texts(2000, _specials("en"), seed=1)}
    for number, language in enumerate(("xx", "de", "es", "it", "nl", "pt", "ru")):  # the golden file has all
        asked[language] = real[number::7] + nasty_texts(200, _specials(language), seed=number)
    said = subprocess.run(
        [PEERS / "datatrove" / "bin" / "python", Path(__file__).with_name("tokens_peer.py")],
        input="".join(json.dumps(line) + "\n" for line in asked.items()),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if "required dependencies" in said.stderr:
        pytest.skip("the peer datatrove is installed without spaCy")
    for (language, texts), line in zip(asked.items(), said.stdout.splitlines(), strict=True):
        answers = json.loads(line)
        for text, (expected, _), found in zip(texts, answers, words(texts, language), strict=True):
            assert found == expected, (language, text)
        assert sentence_lengths(texts, language) == [[len(one) for one in cut] for _, cut in answers], language


def _specials(language: str) -> list[str]:
    return [row if isinstance(row, str) else str(row[0]) for row in language_table(language)["specials"]]


@settings(deadline=None)
@given(st.lists(NASTY, max_size=4), st.sampled_from(["en", "xx", "it", "ms", "pt", "nl"]))
def test_words_are_the_text_without_its_whitespace(texts: list[str], language: str) -> None:
    for text, found in zip(texts, words(texts, language), strict=True):
        assert "".join("".join(word.split()) for word in found) == "".join(text.split())


@settings(deadline=None)
@given(st.lists(NASTY, min_size=2, max_size=6))
def test_the_words_of_a_text_depend_on_it_alone(texts: list[str]) -> None:
    together = words(texts)
    assert together == [words([text])[0] for text in texts]
    assert together[::-1] == words(texts[::-1])


@settings(deadline=None)
@given(st.lists(NASTY, max_size=4))
def test_sentences_are_contiguous_and_make_up_the_text(texts: list[str]) -> None:
    found = sentences(pa.array(texts, pa.large_string()), "spacy_en")
    assert ["".join(found.of(number)) for number in range(len(texts))] == texts
    assert np.all(np.diff(found.documents) >= 1)


@pytest.mark.parametrize(
    "piece", [")", "(.", "@.", "a.", ":)", "'s", "..", "=(", "<a", "1", "x-", "中", "(╯°□°）╯︵", "\x00"]
)
def test_a_long_text_without_whitespace_is_one_chunk_and_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for language in ("en", "pt"):
        assert sum(map(len, words([text], language)[0])) == len(text)


def test_the_fallen_string_of_spacy_is_a_word_like_any_other() -> None:
    assert words(["(IS_ALPHA) IS_ALPHA."]) == [["(", "IS_ALPHA", ")", "IS_ALPHA", "."]]
