"""The operator `text.wordlist`, with mild words: whole words in every script, evasions, places, hostile texts."""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.language.lexicons.mild import MILD, Files
from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import scaled
from winnow.filters.language.words import packages
from winnow.filters.operators import Kernel, find_operator
from winnow.filters.text.wordlist import OPERATOR, Config
from winnow.schemas.safety import subcategories

WORST = "ass "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "wordlist.json"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def mild(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lists") / "mild.txt"
    path.write_text(MILD, encoding="utf-8")
    return str(path)


@lru_cache(maxsize=8)
def loaded(config: Config) -> Kernel:
    return OPERATOR.load(config, Files())


def measured(mild: str, rows: Sequence[tuple[str, str | None]], **settings: Any) -> list[Row]:
    config = Config(lists=(mild,), **settings)
    batch = pa.RecordBatch.from_pydict(
        {
            "text": pa.array([text for text, _ in rows], pa.large_string()),
            "text.language.code": pa.array([code for _, code in rows], pa.string()),
        }
    )
    found = loaded(config)(batch)
    assert found.schema.equals(OPERATOR.writes(config))
    found.validate(full=True)
    return list(found.to_pylist())


def hits(mild: str, text: str, code: str, **settings: Any) -> list[str]:
    """What was found, as it stands in the text."""
    (row,) = measured(mild, [(text, code)], **settings)
    assert row["status"] == "ok", row
    utf8 = text.encode()
    assert row["hits"] == len(row["spans"])
    return [utf8[span["start"] : span["end"]].decode() for span in row["spans"]]


def test_the_operator_says_what_it_looks_for_and_where(mild: str) -> None:
    assert find_operator("text.wordlist") is OPERATOR
    assert {subcategories()[name] for name in OPERATOR.detects(Config()).values()} == {
        subcategories()["language.vulgar"]
    }
    assert len(OPERATOR.languages(Config()) or ()) > 47
    assert OPERATOR.languages(Config(lists=(mild,))) >= frozenset({"eng", "deu", "cmn", "arb", "zho"})  # type: ignore[operator]


def test_words_are_counted(mild: str) -> None:
    (row,) = measured(mild, [("You silly goose, you dumbo. Dumbo!", "eng_Latn")])
    assert row == {
        "status": "ok",
        "list": "eng",
        "words": 6,
        "hits": 3,
        "distinct": 2,
        "density": 3 / 6,
        "spans": [{"start": 4, "end": 15}, {"start": 21, "end": 26}, {"start": 28, "end": 33}],
    }


@pytest.mark.parametrize(
    "text",
    [
        "classic assassins assess the title of a titan",  # words inside of words
        "silly geese, goose silly, silly. Goose",
        "silly big goose",
        "dumbonic undumbo dumboish",
        "The bass and the grass of Titicaca; a dumb owl.",
    ],
)
def test_only_whole_words_count(mild: str, text: str) -> None:
    assert hits(mild, text, "eng_Latn") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A DUMBO's dumbo", ["DUMBO", "dumbo"]),
        ("d\u00adum\u200bbo\u200b!", ["d\u00adum\u200bbo"]),
        ("ｄｕｍｂｏ 𝐝𝐮𝐦𝐛𝐨 ⓓⓤⓜⓑⓞ", ["ｄｕｍｂｏ", "𝐝𝐮𝐦𝐛𝐨", "ⓓⓤⓜⓑⓞ"]),
        ("dumbо", ["dumbо"]),  # with a Cyrillic letter
        ("d\u0336u\u0336m\u0336b\u0336o\u0336", ["d\u0336u\u0336m\u0336b\u0336o\u0336"]),
        ('(dumbo) _dumbo_ "dumbo" l\'dumbo dumbo-like', ["dumbo"] * 5),
        ("a silly\n goose and silly-goose", ["silly\n goose", "silly-goose"]),
        ("old silly billy", ["old silly billy"]),
        ("dumbos", ["dumbos"]),
        ("d. u. m. b. o.", []),
    ],
)
def test_case_width_accents_and_invisible_characters_hide_nothing(mild: str, text: str, found: list[str]) -> None:
    assert hits(mild, text, "eng_Latn") == found


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("deu_Latn", "Die Dummköpfe, des Dummkopfes, ein alter Esel; Scheißer", ["Dummkopfes", "alter Esel"]),
        ("rus_Cyrl", "Дурак! дурaк Козел козёл дураков", ["Дурак", "дурaк", "козёл"]),
        ("tur_Latn", "aptallarından APTAL şapşallık aptalca", ["aptallarından", "APTAL"]),
        ("hun_Latn", "lököttek lököttekkel lököttség", ["lököttek", "lököttekkel"]),
        ("fin_Latn", "tollossa tolloineen tollokin", ["tollossa", "tollokin"]),
        ("kor_Hang", "바보는 바보다 멍청이라고 바보상자 나바보", ["바보는", "멍청이라고"]),
        ("hin_Deva", "वह मूर्ख है। मूर्खता गधा", ["मूर्ख", "गधा"]),
        ("arb_Arab", "يا أحمق، والحمار، حـــمار حِمَار حماران محمار", ["أحمق", "والحمار", "حـــمار", "حِمَار", "حماران"]),
    ],
)
def test_words_may_have_the_endings_of_their_language(mild: str, code: str, text: str, found: list[str]) -> None:
    assert hits(mild, text, code) == found


def test_endings_can_be_refused(mild: str) -> None:
    assert hits(mild, "aptallarından aptal", "tur_Latn", inflected=False) == ["aptal"]
    assert hits(mild, "والحمار حمار", "arb_Arab", inflected=False) == ["حمار"]


@pytest.mark.parametrize(
    ("code", "package", "text", "found"),
    [
        ("zho_Hani", "jieba", "他是个傻瓜。大傻瓜相机不错,笨!", ["傻瓜"]),  # the second is part of a longer word
        ("jpn_Jpan", "sudachipy", "この馬鹿者め。bakaと bakara", ["馬鹿者", "baka"]),
        ("tha_Thai", "pythainlp", "เขาเป็นคนโง่มาก", ["คนโง่"]),
    ],
)
def test_scripts_without_spaces_are_segmented(mild: str, code: str, package: str, text: str, found: list[str]) -> None:
    if packages.package_segmenter(package) is None:
        pytest.skip(f"{package} is not installed")
    assert hits(mild, text, code) == found


def test_a_missing_segmenter_is_said(mild: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.filters.text.wordlist.package_segmenter", lambda name: None)
    rows = measured(mild, [("他是个傻瓜", "zho_Hani"), ("没有", "cmn_Hani"), ("dumbo", "eng_Latn")])
    assert [row["status"] for row in rows] == ["needs_jieba", "needs_jieba", "ok"]
    assert rows[0]["hits"] is None
    assert "needs_jieba" in OPERATOR.reasons


def test_a_segmenter_that_fails_is_said(mild: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.filters.text.wordlist.package_segmenter", lambda name: lambda text: ["else"])
    rows = measured(mild, [("他是个傻瓜", "zho_Hani"), ("没有", "cmn_Hani")])
    assert [(row["status"], row["hits"], row["spans"]) for row in rows] == [
        ("package_failed", None, None),
        ("ok", 0, []),
    ]


def test_without_a_list_nothing_is_measured(mild: str) -> None:
    rows = measured(
        mild, [("dumbo", "swe_Latn"), ("dumbo", None), ("dumbo", "rus_Latn"), ("fine", "eng_Latn"), ("", "eng")]
    )
    assert [row["status"] for row in rows] == ["no_detector", "no_language", "no_detector", "ok", "ok"]
    unmeasured = dict.fromkeys(("list", "words", "hits", "distinct", "density", "spans"))
    assert all({name: row[name] for name in unmeasured} == unmeasured for row in rows[:3])
    assert [(row["hits"], row["density"], row["spans"]) for row in rows[3:]] == [(0, 0.0, []), (0, 0.0, [])]


def test_words_of_another_language_can_be_looked_for_too(mild: str) -> None:
    assert hits(mild, "du dumbo", "deu_Latn") == []
    assert hits(mild, "du dumbo, Dummkopf", "deu_Latn", also=("eng",)) == ["dumbo", "Dummkopf"]
    (row,) = measured(mild, [("dumbo", "swe_Latn")], also=("eng",))
    assert row["status"] == "no_detector"


def test_digits_may_stand_for_letters(mild: str) -> None:
    text = "dumb0 p1110ck 11 d0mb0 ass 455"
    assert hits(mild, text, "eng_Latn") == ["ass"]
    assert hits(mild, text, "eng_Latn", leetspeak=True) == ["dumb0", "p1110ck", "ass"]


WRITTEN = [
    "dumbo",
    "silly",
    " ",
    "goose",
    "-",
    "Dummkopf",
    "傻瓜",
    "他",
    "。",
    "\u200b",
    "ｄ",
    "é",
    "바보는",
    "\n",
    "حمار",
    "1",
]
CODES = ["eng_Latn", "deu_Latn", "zho_Hani", "jpn_Jpan", "kor_Hang", "arb_Arab", "swe_Latn", None]
ROWS = st.lists(
    st.tuples(st.lists(st.sampled_from(WRITTEN), max_size=15).map("".join), st.sampled_from(CODES)), max_size=6
)


@settings(max_examples=scaled(60), deadline=None)
@given(ROWS)
def test_a_row_depends_on_itself_alone(mild: str, rows: list[tuple[str, str | None]]) -> None:
    whole = measured(mild, rows)
    assert [row for one in rows for row in measured(mild, [one])] == whole
    assert list(reversed(measured(mild, list(reversed(rows))))) == whole


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_texts_are_measured(mild: str, name: str) -> None:
    for row in measured(mild, [(HOSTILE[name], code) for code in ("eng_Latn", "zho_Hani", "arb_Arab", "tur_Latn")]):
        assert row["status"] == "ok"


@pytest.mark.parametrize(
    ("code", "piece", "count"),
    [
        ("eng_Latn", "silly ", 0),
        ("eng_Latn", "dumbo", 0),
        ("eng_Latn", "dumbo ", 50_000),
        ("tur_Latn", "aptallar", 0),
        ("arb_Arab", "وال", 0),
        ("zho_Hani", "傻瓜,", 50_000),
    ],
)
def test_long_texts_take_linear_time(mild: str, code: str, piece: str, count: int) -> None:
    (row,) = measured(mild, [(piece * 50_000, code)])
    assert (row["status"], row["hits"]) == ("ok", count)


def test_values_are_those_of_the_golden_file(mild: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured(mild, [(case["text"], case["code"]) for case in golden["cases"]])
    assert rows == [case["row"] for case in golden["cases"]]


def test_a_list_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    for languages in (["eng"], ["eng", "deu"], ["fra"]):
        path.write_text("".join(f"[{code}]\nword\n" for code in languages))
        assert OPERATOR.languages(Config(lists=(str(path),))) == frozenset(languages)
