"""The operator `text.madlad`, against a slow restatement, and hand-made pages."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import PIECES, documents, measured, of_preset
from tests.filters.text.oracles.line_rules_restated import madlad
from tests.property_sizes import scaled
from winnow.filters.text.madlad import OPERATOR, Config
from winnow.schemas.errors import RecipeError

WORST = "{ lorem ipsum [1]. "  # takes most of the memory of its kernel
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
CONFIGS = st.builds(
    Config,
    min_case_words=st.integers(0, 3),
    max_case_share=st.sampled_from([0.0, 0.5, 1.0]),
    min_chars=st.integers(0, 5),
    max_chars=st.integers(5, 30),
    max_technical_share=st.sampled_from([0.0, 0.2]),
    rules=st.lists(st.sampled_from(["case", "length", "technical", "cursed"]), unique=True).map(tuple),
)


@pytest.mark.parametrize(
    ("sentence", "breaks"),
    [
        ("this is a sentence of some length", []),
        ("Alice Bob Carol Dave Erin Frank Grace and those who came later", ["list_case"]),
        ("Alice Bob Carol Dave Erin Frank Grace and those", []),  # fewer than twelve words
        ("Alice Bob Carol Dave Erin Frank and six more names that follow", []),  # half of them, and no more
        ("too short", ["short"]),
        ("é" * 19, ["short"]),  # in characters: there are 38 bytes
        ("é" * 20, []),
        ("é" * 500, []),
        ("é" * 501, ["long"]),
        ("call (+30) 210/123/456 now please", ["technical"]),
        ("call 210 by {phone} now please", []),
    ],
)
def test_a_sentence_breaks_rules(sentence: str, breaks: list[str]) -> None:
    (row,) = measured(OPERATOR, [f"this one breaks no rule at all. {sentence}"])
    found = [name for name in ("list_case", "short", "long", "technical") if row[f"{name}_sentences"]]
    assert (row["sentences"], found) == (2, breaks)
    assert row["questionable_sentences"] == bool(breaks)


def test_sentences_end_at_marks_and_white_space() -> None:
    (row,) = measured(OPERATOR, ["One 1.5 and a.b?! Two...\nThree\nstill three.Still. \n ! "])
    assert row["sentences"] == 3


def test_pages_need_five_sentences_of_which_most_are_good() -> None:
    good = "this is a sentence of some length. "
    _, reasons = of_preset("madlad", [good * 4, good * 5, good * 4 + "short. ", good * 3 + "short. " * 2])
    assert reasons == ["too_few_sentences", None, None, "questionable_sentences"]


def test_datamap_counts_two_rules_and_drops_at_the_limit() -> None:
    good, names = "this is a sentence of some length. ", "Alice " * 12 + ". "
    _, reasons = of_preset("madlad@datamap", [good * 4 + "short. ", good * 4 + names, good * 5 + names])
    assert reasons == [None, "questionable_sentences", None]


GERMAN = "Dieser Satz ist auf Deutsch geschrieben und recht lang. "
ENGLISH = "This sentence is written in plain English and it is long enough. "


def test_a_sentence_may_be_in_another_language_than_its_page() -> None:
    texts = [GERMAN * 5 + ENGLISH, GERMAN * 5, ENGLISH * 4 + "Too short. " + GERMAN * 2, "", "1 2 3. " * 9]
    rows = measured(OPERATOR, texts, language_model="lid.176")
    assert [row["other_language_sentences"] for row in rows] == [1, 0, 2, 0, 0]
    assert [row["questionable_sentences"] for row in rows] == [1, 0, 3, 0, 9]
    assert rows == [row for text in texts for row in measured(OPERATOR, [text], language_model="lid.176")]


def test_only_so_many_sentences_are_looked_at() -> None:
    (row,) = measured(OPERATOR, [GERMAN * 9 + ENGLISH * 4], language_model="lid.176", max_language_sentences=11)
    assert row["other_language_sentences"] == 2


def test_cursed_substrings_come_from_a_list(tmp_path: Path) -> None:
    listed = tmp_path / "cursed.txt"
    listed.write_text("casino (bonus)\nprix d'été\n[0-9]{9}\n", "utf-8")
    texts = [
        "a casino (bonus) is offered here. nothing else is said at all. prix d'été pour tous les gens",
        "a casino bonus is offered here. they gave us the number 12345678 to call them at any time. "
        "and now it has one more: 123456789 is what we shall call them at",
    ]
    rows = measured(OPERATOR, texts, cursed=str(listed), cursed_expressions=1)
    assert [row["cursed_sentences"] for row in rows] == [2, 1]
    assert [row["questionable_sentences"] for row in rows] == [2, 1]
    without = measured(OPERATOR, texts)
    assert [row["cursed_sentences"] for row in without] == [None, None]
    assert [row["questionable_sentences"] for row in without] == [0, 0]


@pytest.mark.parametrize(("content", "complaint"), [(None, "cannot read"), ("fine\n(", "not a regular expression")])
def test_a_list_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, complaint: str) -> None:
    listed = tmp_path / "cursed.txt"
    if content is not None:
        listed.write_text(content)
    with pytest.raises(RecipeError, match=f"text.madlad: cursed: .*{complaint}"):
        measured(OPERATOR, [""], cursed=str(listed), cursed_expressions=1)


@settings(max_examples=scaled(150), deadline=None)
@given(st.lists(TEXTS, max_size=5), CONFIGS)
def test_every_measure_is_what_the_rules_say(texts: list[str], config: Config) -> None:
    settings = {name: getattr(config, name) for name in Config.__slots__}
    assert measured(OPERATOR, texts, **settings) == [madlad(text, config) for text in texts]


@settings(max_examples=scaled(50), deadline=None)
@given(st.lists(TEXTS, max_size=5), CONFIGS)
def test_cursed_sentences_are_what_the_list_says(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], config: Config
) -> None:
    listed = tmp_path_factory.getbasetemp() / "cursed.txt"
    listed.write_text("ab \n[1]\n語\n[0-9]+[.]\n", "utf-8")
    settings = {name: getattr(config, name) for name in Config.__slots__}
    settings.update(cursed=str(listed), cursed_expressions=1)
    assert measured(OPERATOR, texts, **settings) == [
        madlad(text, config, ["ab ", "[1]", "語"], ["[0-9]+[.]"]) for text in texts
    ]


def test_real_and_made_pages_are_as_restated() -> None:
    texts = documents(5)
    assert measured(OPERATOR, texts) == [madlad(text, Config()) for text in texts]
