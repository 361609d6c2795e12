"""Words estimated where the package that finds them is missing: their units, and measures beside the package's."""

import json
import lzma
import random
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pyarrow as pa
import pytest

from winnow.filters.language.words.estimates import ESTIMATED, split_units
from winnow.filters.language.words.packages import PACKAGES
from winnow.filters.language.words.scripts import lacking_package
from winnow.filters.operators import Assets
from winnow.filters.text.fineweb2 import OPERATOR, Config

UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
LANGUAGES = {
    "cmn-Hans": ("cmn_Hani", "jieba"),
    "jpn": ("jpn_Jpan", "sudachipy"),
    "tha": ("tha_Thai", "pythainlp"),
    "vie": ("vie_Latn", "pyvi"),
}
COMPARED = {  # how far the median of estimates may be from that of the packages' words
    "words": 0.15,
    "non_symbol_words": 0.15,
    "mean_word_length": 0.25,
    "alpha_word_ratio": 0.05,
    "newline_ratio": 0.15,
}


class NoAssets(Assets):
    def path(self, name: str) -> str:
        raise AssertionError(name)


def units(text: str, spaced: bool = False) -> list[str]:
    return split_units(pa.array(["none", text], pa.large_string()), spaced).of(1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("人人 free，3.5。\u200b（", ["人", "人", "free", "，", "3.5", "。", "（"]),
        ("한국어 가3월 free", ["한", "국", "어", "가", "3", "월", "free"]),
        ("", []),
        ("ภาษาไทย", ["ภา", "ษา", "ไท", "ย"]),
    ],
)
def test_units_are_characters_or_clusters(text: str, found: list[str]) -> None:
    assert units(text) == found


def test_units_of_a_spaced_language_are_runs_of_letters() -> None:
    assert units("Tất cả mọi người, 한국어", spaced=True) == ["Tất", "cả", "mọi", "người", ",", "한국어"]


def pages(language: str) -> list[str]:
    """Articles, and bad pages made of them: one line again and again, menus, numbers, lists."""
    chance = random.Random(language)
    articles = [normalize("NFC", "\n".join(article)) for article in UDHR[language]["articles"]]
    lines = [line for article in articles for line in article.split("\n")]
    found = ["\n\n".join(articles[at : at + 5]) for at in range(len(articles) - 4)]
    for _ in range(20):
        some = chance.sample(lines, 3)
        found += [
            "\n".join(chance.choices(some, k=12)),
            "\n".join(line[:8] for line in chance.sample(lines, 20)),
            "\n".join(
                f"{line[:12]} | {chance.randrange(10_000)} / 2024-01-02 *** [{at}]" for at, line in enumerate(lines)
            ),
            " ".join([some[0][:10]] * 40),
            some[0][:30],
        ]
    return found


def measured(language: str, code: str) -> list[dict[str, Any]]:
    texts = pages(language)
    batch = pa.record_batch(
        [pa.array(texts, pa.large_string()), pa.array([code] * len(texts))], ["text", "text.language.code"]
    )
    return list(OPERATOR.load(Config(), NoAssets())(batch).to_pylist())


@pytest.mark.parametrize("language", LANGUAGES)
def test_estimates_are_near_the_words_of_the_package(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, package = LANGUAGES[language]
    exact = measured(language, code)
    monkeypatch.setattr("winnow.filters.text.fineweb2.package_segmenter", lambda _name: None)
    found = measured(language, code)
    assert {(row["status"], row["segmentation"], row["substituted"]) for row in found} == {("ok", ESTIMATED, True)}
    assert {row["segmentation"].partition(" ")[0] for row in exact} == {PACKAGES[package].distributions[0]}
    articles = len(UDHR[language]["articles"]) - 4
    for name, most in COMPARED.items():
        ours, theirs = (sorted(row[name] for row in rows[:articles])[articles // 2] for rows in (found, exact))
        assert abs(ours - theirs) <= most * theirs, (name, ours, theirs)
    for name, least in (("dup_5gram", 0.2), ("dup_10gram", 0.15), ("top_4gram", 0.2)):
        agreed = [(one[name] > least) == (other[name] > least) for one, other in zip(found, exact, strict=True)]
        assert sum(agreed) >= 0.8 * len(agreed), (name, sum(agreed), len(agreed))
        assert any(one[name] > least for one in found)


def test_a_row_is_estimated_by_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.filters.text.fineweb2.package_segmenter", lambda _name: None)
    texts = ["人人生而自由", "", "한국어 3월", "ภาษาไทย", "Tất cả", " \n", "人\0人\ufffd" * 99]
    codes = ["cmn_Hani", "jpn_Jpan", "kor_Hang", "tha_Thai", "vie_Latn", "khm_Khmr", "cmn_Hani"]
    kernel = OPERATOR.load(Config(), NoAssets())

    def rows(places: list[int]) -> list[dict[str, Any]]:
        columns = [pa.array([texts[at] for at in places], pa.large_string()), pa.array([codes[at] for at in places])]
        return list(kernel(pa.record_batch(columns, ["text", "text.language.code"])).to_pylist())

    together = rows([*range(len(texts))])
    assert [rows([at])[0] for at in range(len(texts))] == together
    assert rows([5, 3, 1, 6, 0, 2, 4]) == [together[at] for at in (5, 3, 1, 6, 0, 2, 4)]
    values = [value for row in together for value in row.values() if isinstance(value, (int, float))]
    assert all(0 <= value < 1e6 for value in values)


def test_each_language_whose_words_need_a_package_without_substitute_can_be_estimated() -> None:
    assert all(package.units is not None for name, package in PACKAGES.items() if not name.startswith("spacy_"))


def test_the_package_that_a_language_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lacking_package("jpn_Jpan") is None
    monkeypatch.setattr(type(PACKAGES["jieba"]), "found", lambda _self: None)
    assert lacking_package("jpn_Jpan") is PACKAGES["sudachipy"]
    for none in ("deu_Latn", "fra_Latn", "hin_Deva", "unknown", "und_Hani", "", "lzh_Hani"):
        assert lacking_package(none) is None
