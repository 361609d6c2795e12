"""Words that announce a number."""

from winnow.filters.private.personal.cues import Cues, window


def test_words_with_signs_inside_are_bounded_by_what_is_no_letter() -> None:
    cues = Cues(["d.n.i", "social security"])
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
