"""The operator `text.refinedweb`, against a slow restatement of DCLM's mappers, and hand-made pages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import PIECES, assert_spans_hold, documents, measured, of_preset
from tests.filters.text.oracles.line_rules_restated import refinedweb
from tests.property_sizes import scaled
from winnow.filters.spans import edited
from winnow.filters.text.refinedweb import OPERATOR, Config

WORST = "a b\n\n"  # takes most of the memory of its kernel
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def left(text: str) -> str:
    (row,) = measured(OPERATOR, [text])
    assert_spans_hold(text, row["removed"])
    return edited(text, row["removed"])


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("SHOUTED Words", "uppercase_lines"),
        ("SHOUTED words!", None),  # half of the characters, and no more
        ("0123456789", "numeric_lines"),
        ("0123456 89", None),  # a space is no digit
        ("3 likes", "counter_lines"),
        ("· 1,234.5K Followers!", "counter_lines"),
        ("about 3 likes", None),
        ("3likes", "short_lines"),
        ("Menu", "short_lines"),
        ("", None),
    ],
)
def test_a_line_goes_for_its_cause(line: str, cause: str | None) -> None:
    text = f"the first line\n{line}\nthe last line"
    (row,) = measured(OPERATOR, [text])
    causes = ("uppercase_lines", "numeric_lines", "counter_lines", "short_lines")
    assert [name for name in causes if row[name]] == ([cause] if cause else [])
    assert edited(text, row["removed"]) == (text if cause is None else "the first line\nthe last line")


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("you have 3 items in cart now", "you have 3 now"),
        ("Items In Cart", None),
        ("so it began Read more...", "so it began"),
        ("so it began read more now", "so it began read more now"),  # three characters may follow, these are four
        ("Read more... and on", "Read more... and on"),  # only at the end
        ("Sign-in to see it", "to see it"),
        ("to see it Sign-in", "to see it Sign-in"),  # only at the front
        (
            "one two three four five six seven eight items in cart",
            "one two three four five six seven eight items in cart",
        ),
        ("Read items in cart more...", None),  # what is left is looked at again
    ],
)
def test_short_lines_lose_substrings(line: str, rest: str | None) -> None:
    assert left(f"the first line\n{line}\nthe last line") == (
        "the first line\nthe last line" if rest is None else f"the first line\n{rest}\nthe last line"
    )


def test_of_a_run_of_newlines_two_stay() -> None:
    assert left("a first line\n\n\n\n\na second line\n\nand more lines\n\n\n") == (
        "a first line\n\na second line\n\nand more lines"
    )


def test_the_share_of_words_that_go_is_measured() -> None:
    text = "SHOUTED\n" + "one two three four five\n" * 3 + "Menu"
    (row,) = measured(OPERATOR, [text])
    assert (row["words"], row["kept_words"], row["removed_word_ratio"]) == (17, 15, 2 / 17)


def test_whole_pages_are_measured_as_they_were() -> None:
    (row,) = measured(OPERATOR, ["• To be... #1\n- 22 with the . . .\n\nthe The …"])
    names = ("stop_words", "mean_word_chars", "symbol_ratio", "non_alpha_ratio", "bullet_ratio", "ellipsis_ratio")
    assert [row[name] for name in names] == [5, 30 / 14, 4 / 14, 8 / 14, 2 / 3, 2 / 3]


@settings(max_examples=scaled(200), deadline=None)
@given(st.lists(TEXTS, max_size=5), st.integers(0, 4), st.integers(0, 12))
def test_every_measure_is_what_the_rules_say(texts: list[str], least: int, short: int) -> None:
    rows = measured(OPERATOR, texts, min_line_words=least, max_substring_words=short)
    for text, row in zip(texts, rows, strict=True):
        counts, rest = refinedweb(text, Config(min_line_words=least, max_substring_words=short))
        assert {name: row[name] for name in counts} == counts
        assert_spans_hold(text, row["removed"])
        assert edited(text, row["removed"]) == rest
        assert row["kept_lines"] == (len(rest.split("\n")) if rest else 0)


def test_real_and_made_pages_are_as_restated() -> None:
    texts = documents(4)
    rows, reasons = of_preset("refinedweb", texts)
    for text, row in zip(texts, rows, strict=True):
        counts, rest = refinedweb(text, Config())
        assert ({name: row[name] for name in counts}, edited(text, row["removed"])) == (counts, rest)
    assert len(set(reasons)) >= 6  # half of the rules are met
