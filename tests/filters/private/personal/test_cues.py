"""Words that announce a number."""

import pytest

from winnow.filters.private.personal.cues import PHONES, Cues, window, words


@pytest.mark.parametrize(
    "text",
    [
        "tel. ",
        "tel:",
        "phone number: ",
        "phone (day or night): ",
        "fax no. ",
        "telefon\n",
        "téléphone : ",
        "телефон для справок: ",
        "t: ",
        "m. +(",
        "☎ ",
        "電話",
        "お電話は",
        "전화번호는 ",
        "โทรศัพท์ ",
        "फ़ोन: ",
    ],
)
def test_announced(text: str) -> None:
    assert PHONES.before(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hotel ",
        "telling ",
        "tel 12 and ",  # a number stands between
        "tel\nin the next line ",
        "tel. of nobody that we have ever known ",
        "mobile phones and their many uses: ",
        "mobile users ",  # means other things, too, so nothing may stand between
        "at: ",
        "xt: ",
        "t ",
        "tel:\n\n\n\n\n\n\n\n\n\n",
    ],
)
def test_not_announced(text: str) -> None:
    assert not PHONES.before(text)


def test_words_with_signs_inside_are_bounded_by_what_is_no_letter() -> None:
    cues = Cues(words("d.n.i social·security"))
    assert cues.before("d.n.i. ")
    assert cues.before("(d.n.i.) ")
    assert cues.before("social security of mine ")
    assert not cues.before("xd.n.i. ")
    assert not cues.before("asocial security ")


def test_only_the_text_itself_is_looked_at_and_no_half_character() -> None:
    buffer = memoryview(b"Tel. " + "é".encode() * 60)
    assert window(buffer, 0, 5) == "tel. "
    assert window(buffer, 3, 5) == ". "
    assert set(window(buffer, 0, 124)) == {"é"}
