"""The operator `text.c4`, against datatrove, a slow restatement, and hand-made pages."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measuring.environments import PEERS
from tests.filters.text.lines.line_rules import PIECES, assert_spans_hold, documents, measured, of_preset
from tests.filters.text.oracles.line_rules_restated import c4
from tests.property_sizes import scaled
from winnow.filters.presets import find_preset
from winnow.filters.spans import edited
from winnow.filters.text.c4 import OPERATOR, Config

WORST = "{ lorem ipsum [1]. "  # takes most of the memory of its kernel
HERE = Path(__file__).parent
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
STATISTICS = {
    "line-total": "lines",
    "line-kept": "kept_lines",
    "line-filter-too_long_word": "long_word_lines",
    "line-filter-no_terminal_punc": "unterminated_lines",
    "line-filter-too_few_words": "short_lines",
    "line-filter-javascript": "javascript_lines",
    "line-filter-policy": "policy_lines",
}
NONE = dict.fromkeys(STATISTICS, 0)


def left(text: str, **config: Any) -> str:
    (row,) = measured(OPERATOR, [text], **config)
    assert_spans_hold(text, row["removed"])
    return edited(text, row["removed"])


def of_peer(wanted: str, options: dict[str, Any], texts: Sequence[str]) -> list[Any]:
    peer = PEERS / "datatrove"
    if not (peer / "ready").exists():
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    if wanted == "c4" and not list(peer.glob("lib/*/site-packages/spacy")):
        pytest.skip("the peer datatrove has no spaCy, which tells sentences apart")
    said = subprocess.run(
        [peer / "bin" / "python", HERE / "oracles" / "line_rules_peer.py", wanted, json.dumps(options)],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in said.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("A line that ends well.", "kept_lines"),
        ('They said "it ends."', "kept_lines"),
        ("It ends in an apostrophe'", "kept_lines"),
        ("A heading without a mark", "unterminated_lines"),
        ("It trails off and on...", "unterminated_lines"),
        ("Its mark stands before a note. [1]", "unterminated_lines"),  # a space is left at the end
        ("Two words.", "short_lines"),
        ("Please turn on JavaScript to read.", "javascript_lines"),
        ("We Use Coo\u212aies on all pages.", "policy_lines"),
        ("It has a " + "w" * 1001 + " in it.", "long_word_lines"),
        ("It has a " + "w" * 1000 + " in it.", "kept_lines"),
        ("", "unterminated_lines"),
    ],
)
def test_a_line_goes_for_its_first_cause(line: str, cause: str) -> None:
    (row,) = measured(OPERATOR, [f"The first line stays.\n{line}\nThe last line stays."])
    causes = {name: row[name] for name in (*STATISTICS.values(),) if name not in ("lines", "kept_lines") and row[name]}
    assert causes == ({} if cause == "kept_lines" else {cause: 1})
    assert (row["lines"], row["kept_lines"]) == (3, 2 + (cause == "kept_lines"))


def test_what_goes_is_lines_citations_and_white_space_around_lines() -> None:
    text = "Home\n  One[1] two three[edit] four.  \r\nMenu\n\nFive six[citation needed] seven!\nEnd"
    assert left(text) == "One two three four.\nFive six seven!"
    (row,) = measured(OPERATOR, [text])
    assert (row["citations"], row["words"]) == (3, 7)
    assert row["removed"][:2] == [{"start": 0, "end": 7}, {"start": 10, "end": 13}]


def test_line_breaks_stay_what_they_are() -> None:
    assert left("One two three.\u2028Four five six.\r\nSeven eight nine.\rTen.") == (
        "One two three.\u2028Four five six.\nSeven eight nine."
    )


def test_a_page_of_which_nothing_stays_is_removed_as_a_whole() -> None:
    (row,) = measured(OPERATOR, ["Home\nMenu\nÉnd"])
    assert row["removed"] == [{"start": 0, "end": 14}]
    assert (row["kept_lines"], row["sentences"], row["words"]) == (0, 0, 0)


def test_words_are_counted_before_or_after_citations() -> None:
    text = "One two [citation needed] [12]three."
    assert left(text, min_line_words=5) == "One two  three."
    assert left(text, min_line_words=4, count_words="after_citations") == ""
    assert left(text, min_line_words=3, count_words="after_citations") == "One two  three."


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("Say lorem IPSUM to me.\nAnd on it goes.", (True, False)),
        ("if (x) { run it now. }\nfunction() { return 1;", (False, False)),  # these lines go before anyone looks
        ("Here is a brace { in text.", (False, True)),
        ("Enable javascript { in your browser.", (False, False)),
        ("Our privacy policy { is long.", (False, True)),
    ],
)
def test_pages_are_marked_by_lines_that_reach_the_test(text: str, flags: tuple[bool, bool]) -> None:
    (row,) = measured(OPERATOR, [text])
    assert (row["has_lorem_ipsum"], row["has_curly"]) == flags


@settings(max_examples=scaled(150), deadline=None)
@given(
    st.lists(TEXTS, max_size=5),
    st.builds(
        Config,
        min_line_words=st.integers(0, 4),
        count_words=st.sampled_from(["before_citations", "after_citations"]),
        max_word_chars=st.sampled_from([1, 30, 1000]),
        end_marks=st.sampled_from([".?!\"'", '.?!"', "。!"]),
        require_end_mark=st.booleans(),
    ),
)
def test_every_measure_is_what_the_rules_say(texts: list[str], config: Config) -> None:
    settings = {name: getattr(config, name) for name in Config.__slots__}
    for text, row in zip(texts, measured(OPERATOR, texts, **settings), strict=True):
        counts, kept = c4(text, config)
        assert {name: row[name] for name in counts} == counts
        assert_spans_hold(text, row["removed"])
        # Breaks stay what they are, so pages are compared by what stands between them.
        assert edited(text, row["removed"]).split() == "\n".join(kept).split()
        if not set("\r\v\f\x1c\x1d\x1e\x85\u2028\u2029") & set(text):
            assert edited(text, row["removed"]) == "\n".join(kept).strip()


@pytest.mark.peers
@pytest.mark.parametrize("preset", ["c4@paper", "c4@fineweb"])
def test_datatrove_leaves_the_same_text(preset: str) -> None:
    texts = documents(1)
    options = {} if preset == "c4@paper" else {"filter_no_terminal_punct": False}
    rows, _ = of_preset(preset, texts)
    for text, row, answer in zip(texts, rows, of_peer("edits", options, texts), strict=True):
        assert "\n".join(edited(text, row["removed"]).splitlines()) == "\n".join(answer["text"].splitlines())
        assert {name: row[ours] for name, ours in STATISTICS.items()} == {**NONE, **answer["counts"]}
    assert sum(row["kept_lines"] for row in rows) > 500


@pytest.mark.peers
@pytest.mark.parametrize("preset", ["c4@paper", "c4@fineweb"])
def test_datatrove_drops_the_same_pages(preset: str) -> None:
    texts = documents(2)[::3]
    options = {} if preset == "c4@paper" else {"filter_no_terminal_punct": False}
    rows, reasons = of_preset(preset, texts)
    for row, reason, answer in zip(rows, reasons, of_peer("c4", options, texts), strict=True):
        assert row["sentences"] == answer["sentences"]
        if row["has_lorem_ipsum"] and row["has_curly"]:  # the peer names the one that comes first
            assert {reason, answer["reason"]} <= {"lorem_ipsum", "curly_bracket"}
        else:
            assert reason == answer["reason"]


def test_the_builder_has_other_numbers_than_the_paper() -> None:
    four = "One two three four."
    five = "One two three four five. And one more."
    _, paper = of_preset("c4@paper", [f"{four}\n" * 5, f"{five}\n" * 2])
    rows, builder = of_preset("c4@tfds", [f"{four}\n" * 5, f"{five}\n" * 2])
    assert paper == [None, "too_few_sentences"]
    assert builder == ["too_few_sentences", None]
    assert [row["kept_lines"] for row in rows] == [0, 2]
    assert find_preset("c4@tfds").operators["text.c4"]["end_marks"] == '.?!"'
