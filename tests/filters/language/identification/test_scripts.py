"""The script of most letters: counted from the text, whatever anybody declares."""

import numpy as np
import pytest

from winnow.filters.language.identification.scripts import EITHER, dominant_scripts, script_names


def scripts_of(*texts: str) -> list[tuple[str | None, int, int]]:
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in raw], dtype=np.int64)
    starts = ends - np.array([len(text) for text in raw], np.int64)
    found = dominant_scripts(np.frombuffer(b"".join(raw), np.uint8), starts, ends)
    names = [script_names()[number] if number >= 0 else None for number in found.numbers]
    return list(zip(names, found.letters.tolist(), found.own_letters.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello", "Latn"),
        ("Привет, world", "Cyrl"),
        ("Γειά", "Grek"),
        ("שלום", "Hebr"),
        ("مرحبا", "Arab"),
        ("नमस्ते", "Deva"),
        ("ನಮಸ್ಕಾರ", "Knda"),
        ("ᏣᎳᎩ", "Cher"),
        ("ⵜⴰⵎⴰⵣⵉⵖⵜ", "Tfng"),
        ("안녕하세요", "Hang"),
        ("你好世界", "Hani"),
        ("東京都に住む", "Jpan"),
        ("カタカナ", "Jpan"),
        ("日本語" * 20 + "の", "Hani"),  # one kana in sixty characters does not make it Japanese
        ("𐤀𐤁𐤂", "Phnx"),
        ("𠀀𠀁", "Hani"),
    ],
)
def test_the_script_of_most_letters(text: str, script: str) -> None:
    assert scripts_of(text)[0][0] == script


@pytest.mark.parametrize(
    "text", ["", " \n\t", "12345 ٣٤", "🎉🎊", "—…!?", "\0\x01", "\ufffd\ufffd", "\U000e0041\uffff"]
)
def test_what_is_no_letter_is_in_no_script(text: str) -> None:
    assert scripts_of(text) == [(None, 0, 0)]


def test_letters_are_counted_and_nothing_else() -> None:
    assert scripts_of("ab, где 12") == [("Cyrl", 5, 3)]


def test_of_equally_frequent_scripts_the_first_by_name_is_taken() -> None:
    assert scripts_of("abгд") == scripts_of("гдab") == [("Cyrl", 4, 2)]


def test_texts_do_not_see_each_other() -> None:
    texts = ["Hello", "", "Привет", "東京の", "你好"]
    assert scripts_of(*texts) == [scripts_of(text)[0] for text in texts]


def test_a_second_script_counts_from_a_tenth_of_the_letters() -> None:
    def second(text: str) -> str | None:
        raw = np.frombuffer(text.encode(), np.uint8)
        number = dominant_scripts(raw, np.array([0]), np.array([len(raw)])).seconds[0]
        return script_names()[number] if number >= 0 else None

    assert second("a" * 90 + "я" * 10) == "Cyrl"
    assert second("a" * 91 + "я" * 9) is None
    assert second("a" * 60 + "日本のこと" * 5 + "я" * 10) == "Jpan"
    assert second("abc") is second("12 3") is second("") is None


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("東京都" * 10, "Hani", None),
        ("東京都" * 6, "Hani", EITHER),  # a heading
        ("東京都" * 30 + "の", "Hani", EITHER),
        ("東京都の本", "Jpan", EITHER),  # more Chinese characters than kana
        ("東京のこと", "Jpan", None),
        ("東京" * 30 + "대한민국" * 10, "Hani", "Hang"),
        ("東京 " + "name" * 4, "Latn", EITHER),
        ("東京" * 20 + "name" * 20, "Latn", "Hani"),
    ],
)
def test_where_chinese_characters_may_be_of_either_language(text: str, first: str, second: str | None) -> None:
    raw = np.frombuffer(text.encode(), np.uint8)
    found = dominant_scripts(raw, np.array([0]), np.array([len(raw)]))
    names = script_names()
    assert (names[found.numbers[0]], names[found.seconds[0]] if found.seconds[0] >= 0 else None) == (first, second)
    assert found.second_letters[0] == found.letters[0] - found.own_letters[0]
