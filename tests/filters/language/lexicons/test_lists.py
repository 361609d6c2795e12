"""Files of word lists, and the ones that are made of packages."""

import json
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.filters.language.lexicons.mild import MILD
from tests.messages import assert_refused
from tools.tables.selection import EVERYDAY, selected
from winnow.filters.language.identification.list_coverage import covered_languages
from winnow.filters.language.lexicons import published_lists
from winnow.filters.language.lexicons.lexicon import compiled
from winnow.filters.language.lexicons.lists import read_lists, write_lists
from winnow.pipelines.assets import AssetError, all_assets, lookup
from winnow.schemas.errors import RecipeError


def file_of(folder: Path, content: bytes) -> str:
    path = folder / "words.txt"
    path.write_bytes(content)
    return str(path)


def test_a_file_has_a_list_for_each_of_its_languages(tmp_path: Path) -> None:
    content = "\ufeff# mine\r\n[de]\r\n  Dummkopf \r\n\r\n# more\r\nalter Esel\r\n[deu]\r\nDummkopf\r\n[zh]\r\n傻瓜\r\n"
    assert read_lists(file_of(tmp_path, content.encode())) == {"deu": ("Dummkopf", "alter Esel"), "zho": ("傻瓜",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"word\n", "words.txt:1 … [eng]"),
        (b"[eng]\nword\n[qqq]\n", "words.txt:3 … [qqq] … ISO"),
        (b"[eng]\n\xff\n", "words.txt:2: not UTF-8"),
        (b"[eng]\n" + b"a" * 401, "words.txt:2 … 401 bytes … most 400"),
    ],
)
def test_a_line_that_is_no_word_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with assert_refused(RecipeError, message):
        read_lists(file_of(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"nowhere.txt: No such file"):
        read_lists(str(tmp_path / "nowhere.txt"))


def test_the_same_lists_are_the_same_bytes(tmp_path: Path) -> None:
    write_lists({"eng": ("b", "a", "b"), "deu": ("c",)}, tmp_path / "one", "from nowhere")
    write_lists({"deu": ("c",), "eng": ("a", "b")}, tmp_path / "two", "from nowhere")
    assert (tmp_path / "one").read_text() == "# from nowhere\n[deu]\nc\n[eng]\na\nb\n"
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_words_that_cannot_be_whole_ones_are_left_out(tmp_path: Path) -> None:
    lexicon = compiled(read_lists(file_of(tmp_path, MILD.encode())))
    left = dict(zip(lexicon.codes, (entries.left_out for entries in lexicon.entries), strict=True))
    assert {code: count for code, count in left.items() if count} == {
        "eng": 3,  # a sign parts the word, one letter, a number
        "zho": 1,  # one character
    }


def test_codes_that_mean_one_language_share_a_list() -> None:
    lexicon = compiled(
        {"cmn": ("傻瓜",), "zho": ("糊涂虫",), "fas": ("احمق",), "srp": ("будала", "budala"), "aze": ("axmaq",)}
    )
    assert lexicon.codes == ("aze", "fas", "srp", "zho")
    served = ("cmn_Hani", "zho_Hani", "zho", "pes_Arab", "srp_Latn", "srp_Cyrl", "azj_Latn")
    assert [lexicon.set_of(code) for code in served] == [3, 3, 3, 1, 2, 2, 0]
    # A list in one script says nothing of texts in another.
    assert [lexicon.set_of(code) for code in ("azb_Arab", "fas_Latn", "cmn_Latn", "hrv_Latn", "und_Hani")] == [-1] * 5
    assert covered_languages(["nor", "fas"]) >= {"nor", "nob", "nno", "fas", "pes"}


def test_a_language_that_is_to_be_looked_for_always_needs_a_list() -> None:
    with assert_refused(RecipeError, "`also`", "'deu'"):
        compiled({"eng": ("dumbo",)}, ["deu"])


def test_packages_are_made_into_files_of_lists(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text(json.dumps(["dumbo", "#tag", "silly  goose"]))
    (tmp_path / "fr-CA.json").write_text(json.dumps(["niaiseux"]))
    (tmp_path / "package.json").write_text("{}")
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        for name in ("en.json", "fr-CA.json", "package.json"):
            archive.add(tmp_path / name, f"package/{name}")
    published_lists.make_ldnoobw({"wordlists.ldnoobw.package": tmp_path / "package.tgz"}, tmp_path / "one")
    assert read_lists(str(tmp_path / "one")) == {"eng": ("dumbo", "silly goose", "tag"), "fra": ("niaiseux",)}
    table = pa.table({"lang": ["de", "piy", "en", "kh"], "word": ["Dummkopf", "x", "pillock", "ಮೂರ್ಖ"]})
    pq.write_table(table, tmp_path / "table")
    published_lists.make_ldnoobw2({"wordlists.ldnoobw2.table": tmp_path / "table"}, tmp_path / "two")
    assert read_lists(str(tmp_path / "two")) == {"deu": ("Dummkopf",), "eng": ("pillock",), "kan": ("ಮೂರ್ಖ",)}
    with zipfile.ZipFile(tmp_path / "wheel", "w") as wheel:
        wheel.writestr("safetext/languages/zh/words.txt", "傻瓜\n")
        wheel.writestr("safetext/languages/ch/words.txt", "傻瓜\n")
        wheel.writestr("safetext/languages/en/words.txt", "dumbo\n\ndumbos\n")
    published_lists.make_safetext({"wordlists.safetext.package": tmp_path / "wheel"}, tmp_path / "three")
    assert read_lists(str(tmp_path / "three")) == {"eng": ("dumbo", "dumbos"), "zho": ("傻瓜",)}


def test_what_is_selected_are_listed_words_that_are_no_everyday_ones() -> None:
    pytest.importorskip("wordfreq")
    lists = selected(
        {"eng": ("Dumbo", "ass")},
        {"eng": ("dumbo", "click", "ass"), "ell": ("χαζοβιόλης", "ναι"), "glg": ("parvo", "ano"), "kan": ("ಮೂರ್ಖ",)},
        {"eng": ("dumbo",)},
        {"eng": ("ass",), "glg": ("ano",)},
    )
    assert lists == {"ell": ["χαζοβιόλης"], "eng": ["dumbo"], "glg": ["parvo"]}


def test_everyday_words_are_listed_in_order() -> None:
    lists = read_lists(str(EVERYDAY))
    assert all(list(words) == sorted(words) for words in lists.values())


@pytest.mark.parametrize("name", sorted(published_lists.LANGUAGES))
def test_an_asset_has_the_languages_that_are_said_of_it(name: str) -> None:
    assert any(asset.name == name for asset in all_assets())
    try:
        path = lookup(name)
    except AssetError as error:
        pytest.skip(str(error))
    lists = read_lists(path)
    assert set(lists) == published_lists.LANGUAGES[name]
    assert len(compiled(lists).codes) == len(lists)
    if name == "wordlists.core":
        everyday = read_lists(str(EVERYDAY))
        assert not any(set(words) & {word.casefold() for word in lists[code]} for code, words in everyday.items())
