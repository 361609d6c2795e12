"""`winnow law probe` with a tokenizer of the user's own: what is packed, what it is called, and what is refused."""

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.filters.models.training.declarations import paragraphs
from tests.messages import assert_told
from tests.runners.stages.law.conftest import Law
from winnow.runners.commands.main import main
from winnow.runners.stages.law.probe_data import PackedTexts, packed_texts
from winnow.runners.stages.law.probe_texts import texts_at
from winnow.runners.stages.law.probe_tokens import MAX_BYTES, Tokenizer, pieces, tokenizer_at
from winnow.scoring.probe.grid import default_grid, grid_from_yaml
from winnow.scoring.scaling_law.runs import runs_from_csv

has_tokenizers = importlib.util.find_spec("tokenizers") is not None
needs_tokenizers = pytest.mark.skipif(not has_tokenizers, reason="pip install 'winnow[torch]'")
needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in ("torch", "safetensors", "tokenizers")),
    reason="pip install 'winnow[torch]'",
)

BYTES = """\
version: 1
models: [{layers: 1, width: 16, heads: 2}]
tokens: [4000]
mixtures:
  - {Germanic: 0.5, Romance: 0.5}
  - {Romance: 1}
seeds: [0]
schedule: {context: 8, batch: 8}
held_out_share: 0.2
held_out_tokens: 256
"""
GRID = BYTES + "tokenizer: given/tokenizer.json\n"
ARGUMENTS = ("probe", "texts", "--grid", "grid.yaml", "--output", "runs.csv")
PLAIN: dict[str, object] = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A grid, and a file each of two families: the Declaration of Human Rights in two languages."""
    (tmp_path / "grid.yaml").write_text(GRID)
    (tmp_path / "given").mkdir()
    folder = tmp_path / "texts"
    folder.mkdir()
    for family, code in (("Germanic", "deu"), ("Romance", "fra")):
        documents = [text.replace("\n", " ") for text in paragraphs(code)]
        (folder / f"{family}.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return folder


def byte_level(place: Path, size: int = 400, end: str = "<|endoftext|>") -> Path:
    """A byte-level BPE of German, as GPT-2's: it knows every text."""
    tokenizers: Any = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, special_tokens=[end], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(paragraphs("deu"), trainer)
    place.write_text(made.to_str())
    return place


def model(place: Path, said: dict[str, object], **others: object) -> Tokenizer:
    """A tokenizer of a few tokens."""
    place.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": said} | others))
    return tokenizer_at(place.name, place.parent / "grid.yaml")


def packed(texts: Path, work: Path, tokenizer: Tokenizer | None) -> PackedTexts:
    work.mkdir(exist_ok=True)
    return packed_texts(texts_at(str(texts), (), "group"), default_grid(), work, tokenizer)


@needs_tokenizers
def test_packed_tokens_are_the_documents_parted_by_the_end(texts: Path, tmp_path: Path) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers")
    reader = tokenizers.Tokenizer.from_file(str(byte_level(tmp_path / "t.json")))
    tokenizer = tokenizer_at("t.json", tmp_path / "grid.yaml")
    assert (tokenizer.vocabulary, tokenizer.end, tokenizer.dtype) == (400, 0, np.uint16)
    found = packed(texts, tmp_path / "work", tokenizer)
    as_bytes = packed(texts, tmp_path / "bytes", None).streams(("Germanic", "Romance"))
    for family, stream in found.streams(("Germanic", "Romance")).items():
        for side, raw in (
            (stream.train, as_bytes[family].train),
            (stream.held_out, as_bytes[family].held_out),
        ):
            assert side.dtype == np.uint16
            ends = np.flatnonzero(side == tokenizer.end)
            documents = [reader.decode(part.tolist()) for part in np.split(side, ends + 1)[:-1]]
            # The same documents are held out as of bytes.
            assert [reader.decode(reader.encode(text).ids) for text in documents] == documents
            assert documents == bytes(raw).decode().split("\0")[:-1]
    assert found.sizes["Germanic"] < len(as_bytes["Germanic"].train) / 1.5
    assert packed(texts, tmp_path / "work", tokenizer).index == found.index


@needs_tokenizers
def test_another_tokenizer_never_meets_the_data_or_the_runs_of_this_one(texts: Path, tmp_path: Path) -> None:
    raw = byte_level(tmp_path / "t.json").read_bytes()
    families = ("Germanic", "Romance")
    one = packed(texts, tmp_path / "one", Tokenizer(tmp_path / "t.json", raw))
    spaced = packed(texts, tmp_path / "two", Tokenizer(tmp_path / "t.json", raw + b"\n"))  # equal tokens
    moved = packed(texts, tmp_path / "three", Tokenizer(tmp_path / "elsewhere.json", raw))
    plain = packed(texts, tmp_path / "four", None)
    names = [(found.folder.name, found.content(families)) for found in (one, spaced, plain)]
    assert len({name for name, _ in names}) == len({content for _, content in names}) == 3
    assert (moved.folder.name, moved.content(families)) == names[0]


def test_without_a_tokenizer_runs_are_called_as_ever(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for family in ("A", "B"):
        (tmp_path / "texts" / f"{family}.txt").write_text("\n\n".join(f"{family} {number}" for number in range(50)))
    content = packed(tmp_path / "texts", tmp_path / "work", None).content(("A", "B"))
    assert content == "bce75bd71cbbd55bb03a7f817c083ca5"
    grid = grid_from_yaml(BYTES, "grid.yaml")
    assert grid.runs(("Germanic", "Romance"))[0].name(content) == "1x16-d3968-s0-32ea7cd463ab6ec4"


@needs_tokenizers
@pytest.mark.parametrize(
    ("added", "end", "vocabulary"),
    [
        ([], 3, 4),  # none of its own: an extra one
        ([{"id": 3, "content": "[SEP]", "special": True}], 3, 4),
        ([{"id": 3, "content": "[SEP]", "special": True}, {"id": 4, "content": "</s>", "special": True}], 4, 5),
        ([{"id": 3, "content": "[SEP]", "special": False}], 4, 5),  # a word of texts
    ],
)
def test_documents_end_with_the_tokenizers_own_token_where_it_has_one(
    tmp_path: Path, added: list[dict[str, object]], end: int, vocabulary: int
) -> None:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokenizer = model(tmp_path / "t.json", PLAIN, added_tokens=[one | flags for one in added])
    assert (tokenizer.end, tokenizer.vocabulary) == (end, vocabulary)
    assert tokenizer.encode("ab").tokens.tolist() == [2, end]


@needs_tokenizers
def test_a_special_token_that_stands_in_a_text_is_text(tmp_path: Path) -> None:
    tokenizer = Tokenizer(tmp_path / "t.json", byte_level(tmp_path / "t.json").read_bytes())
    assert np.count_nonzero(tokenizer.encode("a <|endoftext|> b").tokens == tokenizer.end) == 1


@needs_tokenizers
def test_what_the_tokenizer_does_not_know_is_counted(tmp_path: Path) -> None:
    silent = model(tmp_path / "silent.json", PLAIN).encode("ab жж aжb")
    assert (silent.tokens.tolist(), silent.unknown, silent.left_out) == ([2, 2, 3], 0, 3)
    named = model(tmp_path / "named.json", PLAIN | {"vocab": {"a": 0, "?": 1}, "merges": [], "unk_token": "?"})
    spoken = named.encode("aжa")
    assert (spoken.tokens.tolist(), spoken.unknown, spoken.left_out) == ([0, 1, 0, 2], 1, 0)
    whole = Tokenizer(tmp_path / "t.json", byte_level(tmp_path / "t.json").read_bytes()).encode("ab ж\0 a")
    assert (whole.unknown, whole.left_out) == (0, 0)


def test_long_texts_are_encoded_in_pieces_that_begin_with_a_space() -> None:
    for text in ("", "short", "word " * 40_000, "line of words\n" * 20_000, "x" * 200_000):
        found = list(pieces(text))
        assert "".join(found) == text
        assert all(len(one) <= 1 << 16 for one in found)
    assert all(one.startswith("\nline") for one in list(pieces("line of words\n" * 20_000))[1:])
    assert all(one.startswith(" word") for one in list(pieces("word " * 40_000))[1:])


@needs_tokenizers
def test_many_tokens_take_four_bytes_each(texts: Path, tmp_path: Path) -> None:
    vocabulary = {f"t{number}": number for number in range(65_536)}
    tokenizer = model(tmp_path / "t.json", {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"})
    assert (tokenizer.vocabulary, tokenizer.end, tokenizer.dtype) == (65_537, 65_536, np.uint32)
    found = packed(texts, tmp_path / "work", tokenizer)
    assert int(found.streams(("Romance",))["Romance"].train.max()) == 65_536


@pytest.mark.torch
@needs_torch
def test_a_probe_of_tokens_says_so_in_its_table(run: Law, texts: Path, tmp_path: Path) -> None:
    raw = byte_level(tmp_path / "given" / "tokenizer.json").read_bytes()
    out = run(*ARGUMENTS)
    assert "tokens to train on" in out
    written = (tmp_path / "runs.csv").read_bytes()
    table = runs_from_csv(written.decode())
    assert table.units.n == "parameters without embeddings"
    assert table.units.d == f"tokens of tokenizer.json (sha256 {hashlib.sha256(raw).hexdigest()}) of the whole mixture"
    assert table.units.loss == "nats a token"
    assert set(table.n.tolist()) == {12 * 16**2 + 2 * 16 + 16}
    assert set(table.d.tolist()) == {3968.0}  # 62 whole steps
    assert all(3 < loss < 6.5 for loss in table.loss)  # of 400 tokens: at first 5.99
    records = [json.loads(file.read_text()) for file in (tmp_path / "runs.work" / "runs").glob("*.json")]
    assert {record["n_total"] - record["n"] for record in records} == {(400 + 8) * 16}
    run(*ARGUMENTS, "--work", "again", "--checkpoint-steps", "5")
    assert (tmp_path / "runs.csv").read_bytes() == written

    (tmp_path / "grid.yaml").write_text(BYTES)
    run(*ARGUMENTS)
    assert not set(table.run) & set(runs_from_csv((tmp_path / "runs.csv").read_text()).run)


@needs_tokenizers
def test_families_that_the_tokenizer_hardly_knows_are_named(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    letters = {letter: number for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
    model(tmp_path / "given" / "tokenizer.json", {"type": "BPE", "vocab": letters, "merges": []})
    assert main(["law", *ARGUMENTS, "--partial"]) == 1  # nothing is trained yet
    assert "warning: Romance: the tokenizer cannot encode " in capsys.readouterr().out
    found = packed(texts, tmp_path / "work", tokenizer_at("given/tokenizer.json", tmp_path / "grid.yaml"))
    assert all(0.02 < one.unknown_share < 0.2 for one in found.index.families)  # capitals, points, accents


@needs_tokenizers
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "Expecting value"),
        (b"[]", "tokenizer file"),
        (b"{}", "tokenizer file"),
        (b"\xff\xfe", "tokenizer file"),
        (b"[" * 100_000, "tokenizer file"),
        (
            b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}',
            "1 … 1,000",
        ),
        (
            b'{"model": {"type": "BPE", "vocab": {"a": 1000000}, "merges": []}}',
            "numbers tokens up to 1,000,000; expect",
        ),
        (
            b'{"model": {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}}',
            "its dropout makes tokens",
        ),
        (b'{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}}', "tokenizer fails"),
    ],
)
def test_what_is_no_tokenizer_is_refused_in_a_line(
    run: Law, texts: Path, tmp_path: Path, raw: bytes, said: str
) -> None:
    (tmp_path / "given" / "tokenizer.json").write_bytes(raw)
    complaint = run(*ARGUMENTS, "--partial", status=1)
    assert complaint.startswith("winnow: given/tokenizer.json: ")
    assert_told(complaint, said)
    assert len(complaint.splitlines()) == 1
    assert not list(tmp_path.glob("runs.work/*data-*"))


@pytest.mark.parametrize("name", ["given/none.json", "given", "https://example.org/tokenizer.json", "x" * 900])
def test_a_file_that_is_not_there_is_refused_in_a_line(run: Law, texts: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "grid.yaml").write_text(f"{BYTES}tokenizer: {name}\n")
    complaint = run(*ARGUMENTS, "--partial", status=1)
    assert complaint.startswith("winnow: grid.yaml: tokenizer: ")
    assert_told(complaint, "tokenizer.json", "package tokenizers")
    assert len(complaint.splitlines()) == 1


def test_a_file_that_is_too_large_is_refused_before_it_is_read(run: Law, texts: Path, tmp_path: Path) -> None:
    with open(tmp_path / "given" / "tokenizer.json", "wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    said = "winnow: given/tokenizer.json: more than 64 MiB; expected a tokenizer.json of the package tokenizers\n"
    assert run(*ARGUMENTS, "--partial", status=1) == said


@pytest.mark.skipif(has_tokenizers, reason="tokenizers is here")
def test_without_the_package_one_line_says_what_to_install(run: Law, texts: Path, tmp_path: Path) -> None:
    (tmp_path / "given" / "tokenizer.json").write_text("{}")
    said = "winnow: winnow law probe needs the package tokenizers; run: pip install 'winnow[torch]'\n"
    assert run(*ARGUMENTS, "--partial", status=1) == said
