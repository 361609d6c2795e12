"""What operators on captions measure: lists aligned with the captions."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.caption.rows import Row, batch, layer, measured, medium
from tests.property_sizes import scaled
from winnow.filters.operators import find_operator

FOLDER = Path(__file__).parent / "golden"
NAMES = ("digest", "language", "length", "overlap")
ROWS: tuple[Row, ...] = (
    (["A red car on a bridge", "a  red CAR, on a bridge", "红色的汽车"], "cars/IMG_2043.JPG", None),
    (["IMG_2043.JPG", "img_2043", "รถสีแดงบนสะพาน", "12-34", ""], "cars/IMG_2043.JPG", None),
    ([], "cars/a.jpg", None),
    ([], None, "https://example.org/page"),
    (["Das rote Auto"], "crawl.warc.gz", "https://example.org/img/rotes%20auto.jpg?size=2#x"),
)


pytestmark = pytest.mark.usefixtures("lid_model")


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_version(name: str) -> None:
    operator = find_operator(f"caption.{name}")
    golden = {"operator": operator.name, "version": operator.version, "rows": measured(name, *ROWS)}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_captions_has_no_lists_and_says_whether_it_has_media(name: str) -> None:
    found = measured(name, *ROWS)
    assert [row["status"] for row in found] == ["ok", "ok", "no_captions", "no_media", "ok"]
    assert {value for row in found[2:4] for key, value in row.items() if key != "status"} == {None}
    assert {len(value) for key, value in found[1].items() if key != "status"} == {5}


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_see_each_other(name: str) -> None:
    together = batch(*ROWS)
    whole = layer(name, together).to_pylist()
    assert layer(name, together.slice(1, 3)).to_pylist() == whole[1:4]
    assert [layer(name, batch(row)).to_pylist()[0] for row in ROWS] == whole
    assert layer(name, together.slice(0, 0)).num_rows == 0


def test_a_length_is_counted_in_words_or_letters_by_script() -> None:
    texts = ["two\twords", "한국어 두 단어", "红色的汽车, 2019", "รถสีแดง", "赤いクルマ", "123 456", ""]
    (row,) = measured("length", (texts, "a.jpg", None))
    assert row["script"] == ["Latn", "Hang", "Hani", "Thai", "Jpan", None, None]
    assert row["words"] == [len(text.split()) for text in texts]
    assert row["characters"] == [len(text) for text in texts]
    assert row["spaced_words"] == [2, 3, None, None, None, None, None]
    assert row["unspaced_letters"] == [None, None, 5, 6, 5, None, None]  # a vowel mark is none


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(st.lists(st.text(), max_size=4), max_size=5))
def test_any_text_is_counted_as_python_counts_it(captions: list[list[str]]) -> None:
    stored = [[text.encode("utf-8", "replace").decode() for text in row] for row in captions]
    rows: list[Row] = [(row, "a.jpg", None) for row in stored]
    for row, found in zip(stored, measured("length", *rows), strict=True):
        assert (found["words"] or []) == [len(text.split()) for text in row]
        assert (found["characters"] or []) == [len(text) for text in row]
    for name in ("language", "overlap"):
        measured(name, *rows)


def test_the_language_is_that_of_text_language_with_the_models_own_label() -> None:
    texts = [
        "A red car on a bridge over the river",
        "Ein rotes Auto auf einer Brücke über den Fluss",
        "12:30",
        "ᏂᎦᏓ ᎠᏂᏴᏫ",
    ]
    (row,) = measured("language", (texts, "a.jpg", None))
    assert row["code"] == ["eng_Latn", "deu_Latn", None, "und_Cher"]
    assert row["model_label"][:2] == ["en", "de"]
    assert all(row["model_label"])  # a peer's rule takes what the model says, even of no letters


@pytest.mark.parametrize(
    ("caption", "path", "url", "share", "is_name"),
    [
        ("black cat on a sofa", "a/Black-cat_sofa.jpg", None, 0.6, False),
        ("black cat sofa", "a/Black-cat-sofa.jpg", None, 1.0, False),
        ("IMG_2043", "a/IMG_2043.jpg", None, None, True),
        ("img_2043.jpg", "a/IMG_2043.JPG", None, None, True),
        ("Fish.png", "x/fish.png", None, None, True),
        ("fish", "x/fish.png", None, 1.0, False),
        ("红色汽车", "x/红色汽车.jpg", None, 1.0, False),
        ("café", "x/cafe\N{COMBINING ACUTE ACCENT}.jpg", None, 1.0, False),
        ("black cat", "a.jpg", "https://example.org/i/black%20cat.png?x=/dog", 1.0, False),
        ("black cat", "a.jpg", "http://[broken", 0.0, False),
        ("...", "a/b.jpg", None, None, False),
    ],
)
def test_overlap_with_the_files_name(
    caption: str, path: str, url: str | None, share: float | None, is_name: bool
) -> None:
    (row,) = measured("overlap", ([caption], path, url))
    assert row["is_file_name"] == [is_name]
    if share is not None:
        assert row["file_name_share"] == [share]


def test_the_name_of_an_entry_counts_and_that_of_the_archive_does_not() -> None:
    rows: list[Row] = [(["black cat"], "", None)] * 2
    media = [medium("dog.tar", "tar", "train/black.jpg"), medium("black-cat.warc.gz", "warc.gz", "3")]
    assert layer("overlap", batch(*rows, media=media))["file_name_share"].to_pylist() == [[0.5], [None]]


def test_a_caption_that_says_the_same_again_is_repeated() -> None:
    (row,) = measured("overlap", (["A cat.", "a  CAT", "A dog.", "ａ cat"], "a.jpg", None))
    assert row["repeated"] == [False, True, False, True]


def test_a_very_long_caption_takes_little_memory_and_its_end_still_counts() -> None:
    long = "a" * (1 << 20)
    rows = batch(([long, long[:-1], long, "b " * (1 << 19)], "a.jpg", None))
    tracemalloc.start()
    try:
        (row,) = layer("overlap", rows).to_pylist()
        assert tracemalloc.get_traced_memory()[1] < 10 << 20  # 129 bytes a letter where the whole is split
    finally:
        tracemalloc.stop()
    assert row["repeated"] == [False, False, True, False]
    assert row["is_file_name"] == [False] * 4
