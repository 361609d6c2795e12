"""Megatron-LM's indexed datasets, read back by a reader made from the layout alone, and by Megatron's own."""

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.messages import assert_refused
from tests.pipelines.export.formats.mixed_rows import batches, export, row
from tests.trainers import run_trainer
from winnow.filters.language.tokenizers import load_tokenizer
from winnow.pipelines.export.formats import find_format
from winnow.pipelines.export.formats.megatron import FORMAT, MegatronConfig
from winnow.pipelines.export.formats.megatron_index import index_lengths, join_indexed, write_index
from winnow.pipelines.export.formats.protocol import ShardName
from winnow.schemas.errors import ExportError

DTYPES: dict[int, np.dtype[Any]] = {4: np.dtype("<i4"), 8: np.dtype("<u2")}
BYTES = MegatronConfig(tokenizer="bytes", end_token=256)


def documents(prefix: Path) -> list[list[int]]:
    """What a dataset holds, by the layout that Megatron documents: nothing of winnow's is used."""
    index = prefix.with_name(prefix.name + ".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, boundaries = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    lengths = np.frombuffer(index, "<i4", sequences, 34)
    pointers = np.frombuffer(index, "<i8", sequences, 34 + 4 * sequences)
    starts = np.frombuffer(index, "<i8", boundaries, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * boundaries
    assert (starts[0], starts[-1]) == (0, sequences)
    raw = prefix.with_name(prefix.name + ".bin").read_bytes()
    assert len(raw) == int(lengths.sum()) * DTYPES[code].itemsize
    held = [np.frombuffer(raw, DTYPES[code], length, at).tolist() for at, length in zip(pointers, lengths, strict=True)]
    return [[token for one in held[first:last] for token in one] for first, last in pairwise(starts)]


def expected(rows: list[dict[str, Any]], end: list[int]) -> list[list[int]]:
    return [[*str(one["text"]).encode(), *end] for one in rows]


@pytest.fixture
def bpe(tmp_path: Path) -> str:
    """A small byte-level BPE."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["the cat sat on the mat", "der Hund auf der Matte"] * 3, trainer)
    tokenizer.save(str(tmp_path / "bpe.json"))
    return str(tmp_path / "bpe.json")


ROWS = [row(0, text="ab"), row(1, text=""), row(2, text="é"), row(3, text="x" * 5000), row(4, text="a\0b")]


def test_every_sample_is_a_document_with_its_end(tmp_path: Path) -> None:
    written = export(FORMAT, BYTES, tmp_path / "out", {"train": [ROWS[:2], ROWS[2:]]}, batch=2)
    prefix = tmp_path / "out" / "train_00001_of_00002_text_document"
    assert documents(prefix) == expected(ROWS[2:], [256])
    assert [one.samples for one in written] == [2, 3]
    assert [one.facts["tokens"] for one in written] == [4, 5008]
    assert [file.path for file in written[1].files] == [prefix.name + ".bin", prefix.name + ".idx"]


def test_without_ends_an_empty_text_is_an_empty_document(tmp_path: Path) -> None:
    export(FORMAT, MegatronConfig(tokenizer="bytes", end=False), tmp_path / "out", {"train": [ROWS]})
    assert documents(tmp_path / "out" / "train_00000_of_00001_text_document") == expected(ROWS, [])


def test_a_tokenizers_own_ids_and_end(tmp_path: Path, bpe: str) -> None:
    import tokenizers

    export(FORMAT, MegatronConfig(tokenizer=bpe), tmp_path / "out", {"train": [ROWS]})
    own = tokenizers.Tokenizer.from_file(bpe)
    ids = [[*own.encode(one["text"]).ids, own.token_to_id("<|endoftext|>")] for one in ROWS]
    assert documents(tmp_path / "out" / "train_00000_of_00001_text_document") == ids


def sparse(place: Path, last: int) -> str:
    """A BPE of single bytes, and what ends a document under a number far beyond theirs."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    known = {letter: number for number, letter in enumerate(letters)} | {"</s>": last}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=known, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["</s>"])
    made.save(str(place))
    return str(place)


@pytest.mark.parametrize(
    ("last", "dtype", "code"),
    [(256, "auto", 8), (65_498, "auto", 8), (65_499, "auto", 4), (65_535, "uint16", 8), (70_000, "auto", 4)],
)
def test_ids_are_as_wide_as_megatron_makes_them(tmp_path: Path, last: int, dtype: Any, code: int) -> None:
    config = MegatronConfig(tokenizer=sparse(tmp_path / "bpe.json", last), dtype=dtype)
    export(FORMAT, config, tmp_path / "out", {"train": [ROWS[:1]]})
    prefix = tmp_path / "out" / "train_00000_of_00001_text_document"
    assert prefix.with_name(prefix.name + ".idx").read_bytes()[17] == code
    assert documents(prefix)[0][-1] == last


def test_an_end_that_texts_may_have_or_that_is_beyond_the_vocabulary_is_refused(tmp_path: Path, bpe: str) -> None:
    for end in (0, 10, 255):
        with assert_refused(ExportError, f"end_token: {end}", "end_token: 256"):
            FORMAT.check(MegatronConfig(tokenizer="bytes", end_token=end))
    with assert_refused(ExportError, "end_token: 257", "256 ids", "end_token: 256"):
        FORMAT.check(MegatronConfig(tokenizer="bytes", end_token=257))
    own = load_tokenizer(bpe)
    assert own.end is not None
    ordinary = next(token for token in range(own.vocabulary) if token != own.end)
    with assert_refused(ExportError, "bpe.json", f"end_token: {own.end}"):
        FORMAT.check(MegatronConfig(tokenizer=bpe, end_token=ordinary))
    for end in (own.end, own.vocabulary):
        FORMAT.check(MegatronConfig(tokenizer=bpe, end_token=end))
    FORMAT.check(MegatronConfig(tokenizer="bytes", end=False, end_token=3))  # it is not written


def test_the_lists_weigh_each_dataset_by_its_tokens(tmp_path: Path) -> None:
    export(FORMAT, BYTES, tmp_path / "out", {"train": [ROWS[:2], ROWS[2:]], "validation": [ROWS[:1]]})
    assert (tmp_path / "out" / "train_data_path.txt").read_text() == (
        "4 train_00000_of_00002_text_document\n5008 train_00001_of_00002_text_document\n"
    )
    assert (tmp_path / "out" / "validation_data_path.txt").read_text() == "3 validation_00000_of_00001_text_document\n"


def test_a_merged_output_is_what_one_shard_of_all_would_be(tmp_path: Path) -> None:
    config = MegatronConfig(tokenizer="bytes", end_token=256, merge=True)
    apart = export(FORMAT, config, tmp_path / "apart", {"train": [ROWS[:1], ROWS[1:3], ROWS[3:]], "late": [ROWS[:1]]})
    export(FORMAT, config, tmp_path / "whole", {"train": [ROWS]})
    (tmp_path / "joined").mkdir()
    made = FORMAT.join(tmp_path / "apart", apart, tmp_path / "joined")
    assert [(one.samples, one.facts["tokens"]) for one in made] == [(5, 5012), (1, 3)]
    assert made[0].files == ("train_text_document.bin", "train_text_document.idx")
    for suffix in (".bin", ".idx"):
        joined = tmp_path / "joined" / f"train_text_document{suffix}"
        assert joined.read_bytes() == (tmp_path / "whole" / f"train_00000_of_00001_text_document{suffix}").read_bytes()
    assert (tmp_path / "apart" / "train_data_path.txt").read_text() == "5012 train_text_document\n"


def test_a_join_refuses_a_dataset_that_is_cut_short(tmp_path: Path) -> None:
    (tmp_path / "one.bin").write_bytes(bytes(5))
    write_index(tmp_path / "one.idx", "uint16", np.array([1, 2]))
    with assert_refused(ExportError, "one.bin", "5 bytes", "says 6"):
        join_indexed([tmp_path / "one"], tmp_path / "all", "uint16")
    (tmp_path / "one.idx").write_bytes((tmp_path / "one.idx").read_bytes()[:-1])
    with pytest.raises(ExportError, match=r"one\.idx: 81 bytes, expected 82"):
        index_lengths(tmp_path / "one.idx", "uint16")


def test_the_same_rows_give_the_same_bytes_however_they_come(tmp_path: Path, bpe: str) -> None:
    for size in (1, 5):
        (tmp_path / str(size)).mkdir()
        FORMAT.write(MegatronConfig(tokenizer=bpe), tmp_path / str(size), ShardName("train", 0, 1), batches(ROWS, size))
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / "5" / file.name).read_bytes()


def test_what_it_cannot_hold_is_told_in_a_line(tmp_path: Path, bpe: str) -> None:
    def write(config: MegatronConfig, *rows: dict[str, Any]) -> None:
        FORMAT.write(config, tmp_path, ShardName("train", 0, 1), batches(rows, 2))

    with pytest.raises(ExportError, match=r"sample 0{31}7 has no text"):
        write(BYTES, row(1), row(2), row(7, text=None))
    with assert_refused(ExportError, "1 texts", "train_00000_of_00001_text_document"):
        write(MegatronConfig(tokenizer="bytes", end=False), row(1, text=""))
    with assert_refused(ExportError, "`tokenizer`", "expected bytes"):
        FORMAT.check(MegatronConfig())
    with assert_refused(ExportError, "end_token", "256"):
        FORMAT.check(MegatronConfig(tokenizer="bytes"))
    with assert_refused(ExportError, "uint16", "65536"):
        FORMAT.check(MegatronConfig(tokenizer=sparse(tmp_path / "wide.json", 65_536), dtype="uint16"))
    letters = tmp_path / "letters.json"
    import tokenizers

    tokenizers.Tokenizer(tokenizers.models.BPE(vocab={"a": 0, "b": 1}, merges=[])).save(str(letters))
    with assert_refused(ExportError, "letters.json", "2"):
        write(MegatronConfig(tokenizer=str(letters), end=False), row(1, text="ab"), row(2, text="ac"))


def test_the_identity_is_the_tokenizers_content_not_its_path(bpe: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / "bpe.json"
    other.parent.mkdir()
    other.write_bytes(Path(bpe).read_bytes())
    own = load_tokenizer(bpe)
    assert FORMAT.identity(MegatronConfig(tokenizer=bpe)) == FORMAT.identity(MegatronConfig(tokenizer=str(other)))
    assert FORMAT.identity(MegatronConfig(tokenizer=bpe)) == {
        "tokenizer": own.digest,
        "end": own.end,
        "dtype": "uint16",
        "merge": False,
    }
    assert find_format("megatron") is FORMAT


def test_long_batches_are_encoded_in_portions(tmp_path: Path) -> None:
    rows = [row(number, text=chr(97 + number) * (1 << 20)) for number in range(9)]
    made = FORMAT.write(BYTES, tmp_path, ShardName("train", 0, 1), iter([pa.concat_batches(list(batches(rows, 9)))]))
    assert made.facts["tokens"] == 9 * ((1 << 20) + 1)
    assert [one[0] for one in documents(tmp_path / "train_00000_of_00001_text_document")] == list(range(97, 106))


READER = """
import pickle, sys, numpy
try:
    from megatron.core.datasets.indexed_dataset import IndexedDataset
except ImportError as error:
    print("missing:", error)
    sys.exit()
held = IndexedDataset(sys.argv[1])
again = pickle.loads(pickle.dumps(held))  # as it goes to the workers of a DataLoader
order = numpy.random.default_rng(7).permutation(len(held)).tolist()
read = {number: again[number].tolist() for number in order}
for number in order:
    assert held.get(number, 1, 1).tolist() == read[number][1:2]
print([read[number] for number in range(len(held))])
print(held.document_indices.tolist())
"""


@pytest.mark.readers
def test_megatrons_own_reader(tmp_path: Path) -> None:
    rows = [row(number, text="x" * number + "y") for number in range(40)]
    export(FORMAT, BYTES, tmp_path / "out", {"train": [rows]})
    script = tmp_path / "read.py"
    script.write_text(READER)
    said = run_trainer(script, [tmp_path / "out" / "train_00000_of_00001_text_document"])
    if said.startswith("missing:"):
        pytest.skip(f"megatron-core is not among the trainers' libraries: {said.strip()}")
    samples, boundaries = said.splitlines()[-2:]
    assert samples == str(expected(rows, [256]))
    assert boundaries == str(list(range(41)))
