"""Tokenizers of every kind against their own packages, and on texts that mean them harm."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.filters.language.tokenizers.samples import (
    NAMES,
    SPECIAL,
    TEXTS,
    byte_level,
    library_ids,
    make,
    ranks,
    sentencepiece,
)
from tests.messages import assert_refused, assert_told
from tests.property_sizes import bait_bytes, scaled
from winnow.filters.language.tokenizers import Tokenizer, load_tokenizer, tokenizer_digest
from winnow.filters.language.tokenizers.pieces import PIECE_CHARACTERS, Cuts
from winnow.filters.language.tokenizers.rank_files import PUBLISHED
from winnow.schemas.errors import WinnowError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


@pytest.fixture(scope="module", params=NAMES)
def place(request: pytest.FixtureRequest, folder: Path) -> Path:
    return make(folder, request.param)


@pytest.fixture(scope="module")
def tokenizer(place: Path) -> Tokenizer:
    return load_tokenizer(str(place))


def column(*texts: str | None) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


def ids_of(tokenizer: Tokenizer, *texts: str | None) -> list[list[int]]:
    ids, offsets = tokenizer.encode(column(*texts))
    assert ids.dtype == np.uint32
    assert offsets.dtype == np.int64
    assert len(offsets) == len(texts) + 1
    return [part.tolist() for part in np.split(ids, offsets[1:-1])]


def test_texts_have_the_tokens_that_the_package_gives_them(tokenizer: Tokenizer, place: Path) -> None:
    expected = library_ids(place, list(TEXTS))
    assert ids_of(tokenizer, *TEXTS) == expected
    assert tokenizer.count(column(*TEXTS)).to_pylist() == [len(ids) for ids in expected]
    assert max(max(ids, default=0) for ids in expected) < tokenizer.vocabulary


@settings(max_examples=scaled(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=4))
def test_any_texts_have_the_tokens_that_the_package_gives_them(
    tokenizer: Tokenizer, place: Path, texts: list[str]
) -> None:
    assert ids_of(tokenizer, *texts) == library_ids(place, texts) or not texts


def test_a_text_that_is_null_has_no_number_and_no_tokens(tokenizer: Tokenizer) -> None:
    counts = tokenizer.count(column("cat", None, ""))
    assert counts.type == pa.int64()
    assert counts.is_null().to_pylist() == [False, True, False]
    found = ids_of(tokenizer, None, "cat", None)
    assert found[::2] == [[], []]
    assert found[1:2] == ids_of(tokenizer, "cat")
    assert ids_of(tokenizer, None, "cat")[1] == ids_of(tokenizer, *column("a", None, "cat").slice(2).to_pylist())[0]


def test_special_tokens_that_stand_in_a_text_are_text(tokenizer: Tokenizer) -> None:
    controls = {tokenizer.end} - {None}
    assert controls
    for text in (SPECIAL, "</s>", "<|endoftext|>", "＜/s＞", "x</s>x"):
        assert not controls & set(ids_of(tokenizer, text)[0]), text


@pytest.mark.parametrize(
    "model",
    [
        {"type": "WordLevel", "vocab": {"?": 0, "</s>": 1, "a": 2}, "unk_token": "?"},
        {"type": "WordPiece", "vocab": {"?": 0, "</s>": 1, "a": 2}, "unk_token": "?", "max_input_chars_per_word": 9}
        | {"continuing_subword_prefix": "##"},
        {"type": "Unigram", "vocab": [["?", 0.0], ["</s>", 0.0], ["a", -1.0]], "unk_id": 0},
        {"type": "BPE", "vocab": {"?": 0, "</s>": 1, "a": 2}, "merges": [], "ignore_merges": True, "unk_token": "?"},
    ],
    ids=lambda model: model["type"],
)
def test_no_model_reads_a_special_token_out_of_a_text(tmp_path: Path, model: dict[str, object]) -> None:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": 0, "content": "?", **flags}, {"id": 1, "content": "</s>", **flags}]
    added.append({**flags, "id": 3, "content": "[word]", "special": False})
    said = {"version": "1.0", "added_tokens": added, "model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    (tmp_path / "t.json").write_text(json.dumps(said))
    made = load_tokenizer(str(tmp_path / "t.json"))
    assert (made.end, made.vocabulary) == (1, 4)
    assert 3 in ids_of(made, "a [word] a")[0]  # added, but not special
    (found,) = ids_of(made, "a </s> a")
    assert (found[0], found[-1]) == (2, 2)
    assert set(found[1:-1]) == {0}  # what is not known


def test_bytes_are_a_tokenizer() -> None:
    made = load_tokenizer("bytes")
    assert (made.name, made.digest, made.vocabulary, made.end) == ("bytes", "bytes", 256, None)
    assert made.count(column("é", None, "", "ab")).to_pylist() == [2, None, 0, 2]
    assert ids_of(made, "é", None, "", "ab") == [[0xC3, 0xA9], [], [], [97, 98]]
    assert ids_of(made, *column("x", "ab", None).slice(1).to_pylist()) == [[97, 98], []]


def test_a_tokenizer_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    byte_level(tmp_path / "t.json")
    (tmp_path / "other" / "renamed.json").write_bytes((tmp_path / "t.json").read_bytes())
    (tmp_path / "spaced.json").write_bytes((tmp_path / "t.json").read_bytes() + b"\n")
    one, same, other = (
        load_tokenizer(str(tmp_path / name)) for name in ("t.json", "other/renamed.json", "spaced.json")
    )
    assert (one.name, same.name) == ("t.json", "renamed.json")
    assert one.digest == same.digest == tokenizer_digest(str(tmp_path / "t.json"))
    assert one.digest != other.digest
    ranks(tmp_path / "r50k_base.tiktoken")
    ranks(tmp_path / "cl100k_base.tiktoken")  # the name says how texts are split
    assert len({tokenizer_digest(str(file)) for file in tmp_path.glob("*.tiktoken")}) == 2
    assert tokenizer_digest("bytes") == "bytes"


@pytest.mark.parametrize("stem", PUBLISHED)
def test_ranks_are_split_as_the_published_vocabulary_of_that_name(tmp_path: Path, stem: str) -> None:
    place = tmp_path / f"{stem}.tiktoken"
    ranks(place)
    made = load_tokenizer(str(place))
    assert ids_of(made, *TEXTS) == library_ids(place, list(TEXTS))
    assert made.end == {"cl100k_base": 100257, "o200k_base": 199999}.get(stem, 50256)
    assert made.end < made.vocabulary


@pytest.mark.parametrize("text", ["a", " ", "\n", "😀", "e\u0301", "1", "中文", "\t ", "A", "\u0301"])
def test_a_long_run_of_one_letter_is_counted(tokenizer: Tokenizer, text: str) -> None:
    times = bait_bytes(1 << 20) // len(text.encode())
    (count,) = tokenizer.count(column(text * times)).to_pylist()
    assert count is not None
    assert 0 <= count <= 1.01 * bait_bytes(1 << 20)


@pytest.mark.parametrize("stem", PUBLISHED)
def test_a_megabyte_of_white_space_is_counted_with_any_pattern(tmp_path: Path, stem: str) -> None:
    ranks(tmp_path / f"{stem}.tiktoken")
    made = load_tokenizer(str(tmp_path / f"{stem}.tiktoken"))
    for text in (" " * (1 << 20), " \t" * (1 << 19), "\r" * (1 << 20)):
        (count,) = made.count(column(text)).to_pylist()
        assert count is not None


def test_a_long_text_is_cut_where_its_tokens_stay_as_they_are(tokenizer: Tokenizer, place: Path) -> None:
    words = " ".join(["the cat sat", "и это слово", "Österreich"] * 3000)  # no line breaks
    assert len(words) > 2 * PIECE_CHARACTERS
    assert ids_of(tokenizer, words) == library_ids(place, [words])
    if tokenizer._cuts.after_line:
        lines = "这是一个句子。\n那也是\n" * 4000
        assert ids_of(tokenizer, lines) == library_ids(place, [lines])


def test_cuts_lose_nothing() -> None:
    for text in ("", "short", "word " * 40_000, "line of words\n" * 20_000, "x" * 200_000, " " * 100_000):
        for cuts in (Cuts(True, False, True), Cuts(False, False, False), Cuts(False, False, True)):
            found = list(cuts.pieces(text))
            assert "".join(found) == text
            assert all(len(one) <= PIECE_CHARACTERS for one in found)
    instead = list(Cuts(False, True, False).pieces("word " * 40_000))
    assert " ".join(instead) == "word " * 40_000


def model(place: Path, said: dict[str, object], **others: object) -> Tokenizer:
    place.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": said} | others))
    return load_tokenizer(str(place))


@pytest.mark.parametrize(
    "said",
    [
        {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},  # the package would leave it out
        {"type": "WordLevel", "vocab": {"a": 0, "ab": 1}, "unk_token": "?"},  # an error of the package
        {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.0]], "unk_id": None},
    ],
    ids=lambda said: said["type"],
)
def test_a_text_with_characters_that_no_token_stands_for_has_no_number(tmp_path: Path, said: dict[str, object]) -> None:
    made = model(tmp_path / "t.json", said)
    counts = made.count(column("a", "aжa", None, "a")).to_pylist()
    assert counts[:3] == [1, None, None]
    assert counts[3] == 1
    with assert_refused(WinnowError, "t.json", "1 of 2"):
        made.encode(column("a", "ж"))


def test_what_a_sentencepiece_model_does_not_know_is_a_token(tmp_path: Path) -> None:
    sentencepiece(tmp_path / "t.model", byte_fallback=False, vocab_size=150)
    made = load_tokenizer(str(tmp_path / "t.model"))
    assert ids_of(made, "ѯ") == library_ids(tmp_path / "t.model", ["ѯ"])
    assert 0 in ids_of(made, "ѯ")[0]


def test_an_end_that_every_text_could_hold_is_none(tmp_path: Path) -> None:
    sentencepiece(tmp_path / "t.model", eos_id=-1, user_defined_symbols=["</s>"])
    assert load_tokenizer(str(tmp_path / "t.model")).end is None
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    said: dict[str, object] = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    made = model(tmp_path / "t.json", said, added_tokens=[{"id": 1, "content": "</s>", **flags}])
    assert (made.end, ids_of(made, "a</s>a")) == (None, [[0, 1, 0]])  # a word like any other


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("t.json", b"", "not a tokenizer, or a damaged one: Expecting value"),
        ("t.json", b"[]", "not a tokenizer, or a damaged one: not a mapping with a model; expected a tokenizer.json"),
        ("t.json", b"\xff\xfe", "not a tokenizer, or a damaged one: "),
        ("t.json", b"[" * 100_000, "not a tokenizer, or a damaged one: "),
        ("t.json", b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}', "has no tokens; expected a vocabulary"),
        (
            "t.json",
            b'{"model": {"type": "BPE", "vocab": {"a": 5000000}, "merges": []}}',
            "numbers tokens up to 5,000,000; expected a vocabulary of 1 to 4,000,000",
        ),
        (
            "t.json",
            b'{"model": {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}}',
            "its dropout makes tokens random; set model.dropout to null",
        ),
        ("t.model", b"", "not a SentencePiece model, or a damaged one: "),
        ("t.model", b"junk" * 99, "not a SentencePiece model, or a damaged one: "),
        ("mine.tiktoken", b"YQ== 0\n", "ranks alone do not define how texts are split; known names are r50k_base.tikt"),
        ("cl100k_base.tiktoken", b"", "256 bytes have no rank, first 0x00; the file is incomplete"),
        ("cl100k_base.tiktoken", b"\x1b[31m 0\n", "expected a token in base64 and its rank, not '\\x1b[31m 0'"),
        ("cl100k_base.tiktoken", b"YQ== one\n", "expected a token in base64 and its rank, not 'YQ== one'"),
        ("t.bin", b"", "unknown kind of file; expected 'bytes', a tokenizer.json (of the package"),
    ],
)
def test_what_is_no_tokenizer_is_refused_in_a_line(tmp_path: Path, name: str, raw: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(WinnowError) as refused:
        load_tokenizer(str(tmp_path / name))
    assert str(refused.value).startswith(str(tmp_path / name))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_cut_off_is_refused_in_a_line(folder: Path, tmp_path: Path, name: str) -> None:
    raw = make(folder, name).read_bytes()
    (tmp_path / name).write_bytes(raw[: len(raw) * 2 // 3 - 1])
    with pytest.raises(WinnowError) as refused:
        load_tokenizer(str(tmp_path / name))
    assert "\n" not in str(refused.value)


def test_ranks_that_are_not_of_the_vocabulary_of_that_name_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "cl100k_base.tiktoken"
    ranks(place)
    whole = place.read_bytes()
    place.write_bytes(whole + b"eHl6 100257\n")
    with assert_refused(WinnowError, "token 100257", "cl100k_base"):
        load_tokenizer(str(place))
    place.write_bytes(whole + b"eHl6 7\n")
    with pytest.raises(WinnowError, match="tokens share a rank"):
        load_tokenizer(str(place))


@pytest.mark.parametrize("name", ["none.json", "", "a\0b.json", "x" * 9000, "https://example.org/tokenizer.json"])
def test_a_file_that_is_not_there_is_refused_in_a_line(name: str) -> None:
    for ask in (load_tokenizer, tokenizer_digest):
        with assert_refused(WinnowError, "'bytes'", "tokenizer.json"):
            ask(name)


def test_a_folder_is_refused_in_a_line(tmp_path: Path) -> None:
    with assert_refused(WinnowError, "give the path"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "package"),
    [("bpe.json", "tokenizers"), ("cl100k_base.tiktoken", "tiktoken"), ("bpe.model", "sentencepiece")],
)
def test_a_package_that_is_missing_is_told_of_with_its_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    place = make(folder, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(WinnowError) as refused:
        load_tokenizer(str(place))
    assert_told(str(refused.value), package, "'winnow[tokens]'", whole=True)
    assert tokenizer_digest(str(place))
