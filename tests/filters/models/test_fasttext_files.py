"""Models that are no models: every one is refused in a line, before fastText can fall over it."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests.filters.models.training.declarations import SMALL, train
from tests.messages import assert_told
from winnow.filters.models.fasttext_files import check_fasttext, load_fasttext
from winnow.schemas.errors import RecipeError

DICTIONARY = 8 + 48 + 8  # where the sizes of the dictionary stand: after magic, version and settings


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for name in ("model.bin", "model.ftz"):
        train(folder / name, folder / "scratch", replace(SMALL, dimension=2, epochs=1, cutoff=300))
        made[name] = (folder / name).read_bytes()
    return made


def complaint(folder: Path, raw: bytes) -> str:
    path = folder / "given.bin"
    path.write_bytes(raw)
    with pytest.raises(RecipeError) as caught:
        load_fasttext(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def changed(raw: bytes, at: int, layout: str, *values: float) -> bytes:
    return raw[:at] + struct.pack(layout, *values) + raw[at + struct.calcsize(layout) :]


@pytest.mark.parametrize("name", ["model.bin", "model.ftz"])
def test_a_sound_model_is_known_and_answers(tmp_path: Path, models: dict[str, bytes], name: str) -> None:
    path = tmp_path / name
    path.write_bytes(models[name])
    model, header = load_fasttext(str(path))
    assert (header.dimension, header.word_ngrams, header.loss) == (2, 2, "softmax")
    assert header.quantised == name.endswith(".ftz")
    labels, _ = model.multilinePredict(["all human beings\n"], -1, 0.0, "strict")
    assert sorted(labels[0]) == sorted(header.labels)


@pytest.mark.parametrize("name", ["model.bin", "model.ftz"])
def test_a_model_that_ends_early_is_refused_wherever_it_ends(
    tmp_path: Path, models: dict[str, bytes], name: str
) -> None:
    raw = models[name]
    for size in {*range(1, 130), *range(130, len(raw), max(1, len(raw) // 60)), len(raw) - 1}:
        assert "fastText model" in complaint(tmp_path, raw[:size])


@pytest.mark.parametrize("name", ["model.bin", "model.ftz"])
def test_bytes_after_the_end_are_refused(tmp_path: Path, models: dict[str, bytes], name: str) -> None:
    assert "1 bytes follow its end" in complaint(tmp_path, models[name] + b"x")


@pytest.mark.parametrize(
    ("at", "layout", "values", "expected"),
    [
        (0, "<i", (1,), "not a fastText model"),
        (4, "<i", (99,), "fastText … format 99 … winnow reads"),
        (8, "<i", (0,), "0 dimensions"),
        (8, "<i", (2_000_000_000,), "2000000000 dimensions"),
        (8, "<i", (3,), "matrix of"),
        (28, "<i", (1_000_000_000,), "word n-grams of 1000000000"),
        (32, "<i", (9,), "loss 9"),
        (36, "<i", (1,), "fastText"),
        (40, "<i", (0,), "n-grams without buckets"),
        (40, "<i", (-5,), "-5 buckets"),
        (48, "<i", (1_000_000,), "subwords of"),
        (DICTIONARY, "<iii", (2_000_000_002, 2_000_000_000, 2), "2,000,000,002 entries"),
        (DICTIONARY, "<i", (7,), "7 entries; expected"),
        (DICTIONARY + 8, "<i", (0,), "0 labels"),
        (DICTIONARY + 12, "<q", (-1,), "-1 tokens"),
        (DICTIONARY + 20, "<q", (1 << 40,), "kept n-grams"),
    ],
)
def test_a_number_that_cannot_be_is_named(
    tmp_path: Path, models: dict[str, bytes], at: int, layout: str, values: tuple[int, ...], expected: str
) -> None:
    assert_told(complaint(tmp_path, changed(models["model.bin"], at, layout, *values)), expected)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, models: dict[str, bytes]) -> None:
    raw = models["model.bin"]
    for value in (float("nan"), float("inf"), 1e30):
        assert "values that are no weights" in complaint(tmp_path, changed(raw, len(raw) - 4, "<f", value))


def test_entries_of_the_dictionary_are_looked_at(tmp_path: Path, models: dict[str, bytes]) -> None:
    raw = models["model.bin"]
    first = DICTIONARY + 12 + 16
    end = raw.index(b"\0", first) + 1
    assert "a count of -1" in complaint(tmp_path, changed(raw, end, "<q", -1))
    assert "of kind 1" in complaint(tmp_path, changed(raw, end + 8, "<b", 1))
    label = raw.index(b"__label__hq\0")
    assert "not UTF-8" in complaint(tmp_path, raw[:label] + b"\xff" + raw[label + 1 :])
    twin = raw.replace(b"__label__hq\0", b"__label__cc\0")
    assert "a label that appears twice" in complaint(tmp_path, twin)


def test_a_kept_ngram_outside_its_table_is_refused(tmp_path: Path, models: dict[str, bytes]) -> None:
    raw = models["model.ftz"]
    path = tmp_path / "model.ftz"
    path.write_bytes(raw)
    header = check_fasttext(str(path))
    (pruned,) = struct.unpack_from("<q", raw, DICTIONARY + 20)
    assert pruned > 0
    last = raw.index(b"\0", raw.rindex(header.labels[-1].encode())) + 1 + 9
    assert_told(complaint(tmp_path, changed(raw, last, "<ii", 0, 1 << 30)), "outside its table")
    assert_told(complaint(tmp_path, changed(raw, last, "<ii", -1, 0)), "outside its table")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "an empty file"),
        (b"\0" * 100, "first bytes … fastText's"),
        (b'{"text": "not a model"}\n', "first bytes … fastText's"),
        (b"PK\x03\x04" + b"x" * 100, "first bytes … fastText's"),
    ],
)
def test_other_files_are_called_what_they_are(tmp_path: Path, raw: bytes, expected: str) -> None:
    assert_told(complaint(tmp_path, raw), expected)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.bin", tmp_path):
        with pytest.raises(RecipeError, match=r"expected a fastText model"):
            check_fasttext(str(path))
