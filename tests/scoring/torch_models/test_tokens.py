"""Texts become numbers: bytes, the tokens of a file, and CLIP's pairs of bytes. Nothing here needs PyTorch."""

import gzip
import json
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.tokens import (
    BYTES,
    CLIP_END,
    CLIP_START,
    Bytes,
    cut_to,
    tokenizer_files,
    tokenizer_of,
    tokenizer_packages,
)


def numbers(tokenizer: Any, *texts: str) -> list[list[int] | None]:
    return [None if one is None else one.tolist() for one in tokenizer.of(texts)]


def test_bytes_are_those_of_utf8_and_zero_ends_a_text() -> None:
    assert numbers(Bytes(), "a\0é", "", "\ud800") == [[97, 32, 195, 169], [], [63]]
    assert (Bytes().number("end"), Bytes.size) == (0, 256)
    for token in ("</s>", ""):
        with pytest.raises(ScoreError, match="`pad`"):
            Bytes().number(token, "pad")


@pytest.mark.parametrize(
    ("text", "most", "found"),
    [
        ("abcd", 4, ("abcd", True)),
        ("abcd", 3, ("abc", False)),
        ("abc", 12, ("abc", True)),
        ("éé", 4, ("éé", True)),
        ("éé", 3, ("é", False)),  # no half of a letter
        ("😀😀", 8, ("😀😀", True)),
        ("😀😀", 7, ("😀", False)),
        ("", 1, ("", True)),
    ],
)
def test_a_text_is_cut_within_its_bytes(text: str, most: int, found: tuple[str, bool]) -> None:
    assert cut_to(text, most) == found


def words(path: Path, vocabulary: dict[str, int], **model: Any) -> str:
    """A file of whole words, which asks for what a task must not do: special tokens, two tokens at most, filled up."""
    special = {"id": 3, "content": "</s>", "special": True}
    special |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    around = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    whole = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "a"}
        | {"pad_to_multiple_of": None},
        "added_tokens": [special],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "TemplateProcessing", "single": around, "pair": around}
        | {"special_tokens": {"</s>": {"id": "</s>", "ids": [3], "tokens": ["</s>"]}}},
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "nowhere"} | model,
    }
    path.write_text(json.dumps(whole))
    return str(path)


def test_the_tokens_of_a_file_are_neither_cut_nor_filled_up_nor_put_between_special_ones(tmp_path: Path) -> None:
    tokenizer = tokenizer_of("pairs", words(tmp_path / "t.json", {"a": 2, "b": 0, "c": 1}))
    assert numbers(tokenizer, "a b c a", "b unknown", "c") == [[2, 0, 1, 2], None, [1]]
    assert numbers(tokenizer, "a </s>") == [None]  # in a text it is no special token, and no word of this file
    assert (tokenizer.size, tokenizer.number("c"), tokenizer.number("</s>")) == (4, 1, 3)
    with pytest.raises(ScoreError, match=r"`end`: .*t\.json.*'nowhere'"):
        tokenizer.number("nowhere", "end")


def test_a_file_whose_tokens_are_random_is_refused(tmp_path: Path) -> None:
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    with pytest.raises(ScoreError, match=r"t\.json.*dropout"):
        tokenizer_of("pairs", words(tmp_path / "t.json", {}, **model, dropout=0.1))
    assert numbers(tokenizer_of("pairs", words(tmp_path / "t.json", {}, **model, dropout=None)), "a") == [[0]]


def test_clips_file_gives_the_numbers_that_clip_was_trained_with(tmp_path: Path) -> None:
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]  # GPT-2's: bytes that stand for themselves
    pairs = islice(product([*own, *range(256, 324)], repeat=2), 48_894)
    lines = ["#version: 0.2", *(f"{chr(one)} {chr(two)}" for one, two in pairs), "x y", ""]
    (tmp_path / "pairs.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode(), 1))
    tokenizer = tokenizer_of("pairs", str(tmp_path / "pairs.txt.gz"))
    assert (tokenizer.size, tokenizer.number(CLIP_START), tokenizer.number(CLIP_END)) == (49_408, 49_406, 49_407)
    ends = 256  # what ends a word comes after what does not
    assert numbers(tokenizer, "a", "!", "12") == [[64 + ends], [0 + ends], [16 + ends, 17 + ends]]
    assert numbers(tokenizer, "abc") == [[512 + 64 * 256 + 65, 66 + ends]]  # `a b` is one of the pairs
    assert numbers(tokenizer, "é", "\x7f") == [[127, 102 + ends], [188 + 33 + ends]]
    assert numbers(tokenizer, "a's a") == [[64 + ends, 6, 82 + ends, 64 + ends]]
    assert numbers(tokenizer, "  ") == [[]]


def test_what_a_tokenizer_is_made_of_is_known_before_it_is_loaded() -> None:
    assert [tokenizer_files(one) for one in ("", BYTES, "t.json")] == [(), (), ("t.json",)]
    assert [tokenizer_packages(one) for one in (BYTES, "t.json")] == [(), ("tokenizers",)]
