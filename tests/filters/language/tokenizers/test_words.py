"""Words looked up: always the tokens that the package itself gives for the whole text."""

import json
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from winnow.filters.language.tokenizers.words import GPT2, PATTERNS, WordTokens, word_tokens

tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["The cat's mat isn't 1234567 times worse.\r\n\r\n  HTTPServer", "Größe: 5 µm — 你好, это ΕΛΛΗΝΙΚΆ"] * 3
HARD = "'sSſtTrevEmlLdD \t\n\r\x1c\x85\xa0\u180e\u200b\u2028/09٣²ⅷ中あกǅʰ́é߿𝒳🦔"
CHARACTERS = st.one_of(st.sampled_from(HARD), st.characters(exclude_categories=["Cs"]))
SPACED = st.lists(st.text(CHARACTERS, max_size=3), max_size=12).map(" ".join)  # most without two spaces in a row


def made(pattern: str, **changes: Any) -> tuple[dict[str, Any], Any]:
    """A small tokenizer with that pattern: what its file says, and it, as winnow makes it ready."""
    pre = tokenizers.pre_tokenizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = pre.Split(tokenizers.Regex(pattern), "isolated")
    tokenizer.pre_tokenizer = pre.Sequence([split, pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    if pattern == GPT2:
        tokenizer.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    said = json.loads(tokenizer.to_str()) | changes
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(said))
    tokenizer.encode_special_tokens = True
    return said, tokenizer


@cache
def ready(pattern: str, composed: bool) -> tuple[WordTokens, Any]:
    said, tokenizer = made(pattern, normalizer={"type": "NFC"} if composed else None)
    words = word_tokens(said, tokenizer, tokenizers)
    assert words is not None
    return words, tokenizer


def package_ids(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    return [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False)]


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
@settings(deadline=None)
@given(composed=st.booleans(), texts=st.lists(st.one_of(st.text(CHARACTERS, max_size=40), SPACED), max_size=4))
@example(composed=True, texts=["e\u0301 \u0041\u030a a"])
@example(
    composed=False,
    texts=["", " ", "  a", "a  ", "\n\n a\r\n\r\nb", "it's IT'S it'ſ", "a.\n\n b\n ", "x" * 200, "<|endoftext|>"],
)
def test_the_tokens_are_the_packages_own(pattern: str, composed: bool, texts: list[str]) -> None:
    words, tokenizer = ready(pattern, composed)
    expected = package_ids(tokenizer, texts)
    assert [one.tolist() for one in words.encode(texts)] == expected
    assert [one.dtype for one in words.encode(texts)] == [np.dtype(np.uint32)] * len(texts)
    assert words.counts(texts) == [len(one) for one in expected]


def every_character() -> Iterator[str]:
    """Each that is assigned, and some that are not, between letters, digits, marks and spaces."""
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))
        if kind != "Cs" and (code < 0x3000 or code % 97 == 0) and (kind not in ("Co", "Cn") or code % 997 == 0):
            yield f"a{chr(code)}b 1{chr(code)}2 {chr(code)}{chr(code)}.{chr(code)} x{chr(code)} {chr(code)}"


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_no_character_is_cut_another_way(pattern: str) -> None:
    words, tokenizer = ready(pattern, composed=pattern == GPT2)
    texts = list(every_character())
    assert [one.tolist() for one in words.encode(texts)] == package_ids(tokenizer, texts)


def test_what_is_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said, tokenizer = made(GPT2)
    monkeypatch.setattr("winnow.filters.language.tokenizers.words._MAX_ENTRIES", 8)
    words = word_tokens(said, tokenizer, tokenizers)
    assert words is not None
    texts = ["one two three four five two one", "the cat two  the cat", "one two three four five six"] * 3
    assert [one.tolist() for one in words.encode(texts)] == package_ids(tokenizer, texts)


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}
CAT = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False, "content": "cat"}


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "NFKC"}},
        {"added_tokens": [CAT | {"id": 5}]},
        {"pre_tokenizer": None},
        {"pre_tokenizer": BYTES | {"add_prefix_space": True}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [DIGITS, BYTES]}},
    ],
)
def test_other_tokenizers_are_left_to_the_package(changes: dict[str, Any]) -> None:
    said, tokenizer = made(GPT2, **changes)
    assert word_tokens(said, tokenizer, tokenizers) is None


def test_an_alphabet_with_gaps_is_left_to_the_package() -> None:
    said, tokenizer = made(GPT2)
    del said["model"]["vocab"]["!"]
    assert word_tokens(said, tokenizer, tokenizers) is None
