"""The operator `text.controls`: what terminals obey is found as whole sequences, and what is left reads well."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.hostile_texts import HOSTILE
from tests.filters.text.lines.line_rules import PIECES, assert_spans_hold, measured
from tests.property_sizes import bait_bytes, scaled
from winnow.filters.spans import edited
from winnow.filters.text.controls import OPERATOR

WORST = "a\x1b[1m"  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "controls.json"
KEPT = "\t\n\v\f\r\x85"
CONTROLS = "".join(map(chr, [*range(32), *range(127, 160)]))
SEQUENCES = (
    "\x1b[1m",
    "\x1b[0m",
    "\x1b[38;2;1;2;3m",
    "\x1b]8;;http://a.example\x1b\\",
    "\x1b]0;title\x07",
    "\x1b(B",
    "N\bN",
    "_\bé",
)


def left(text: str, **config: int) -> str:
    (row,) = measured(OPERATOR, [text], **config)
    return edited(text, row["removed"])


@pytest.mark.parametrize(
    ("text", "kept", "escapes", "overstrikes", "strays"),
    [
        ("\x1b[1mNAME\x1b[0m\n  ls - list", "NAME\n  ls - list", 2, 0, 0),
        ("\x1b[1;31;48;5;3mred\x1b[K \x1b[?25lx\x1b[2J\x1b[10;20H.", "red x.", 5, 0, 0),
        ("N\bNA\bAM\bME\bE", "NAME", 0, 4, 0),
        ("_\bf_\bi_\bl_\be.", "file.", 0, 4, 0),
        ("é\bé日\b日 \b\b·", "é日·", 0, 3, 1),
        ("see \x1b]8;;https://a.example/?q=1\x1b\\here\x1b]8;;\x1b\\.", "see here.", 2, 0, 0),
        ("\x1b]0;a title\x07text", "text", 1, 0, 0),
        ("\x1bPq#0\x1b\\text\x1b(B\x1b)0\x1b7\x1b8", "text", 5, 0, 0),
        ("\x1b[1", "", 1, 0, 0),
        ("an \x1bescape, \x1b]8;; without an end", "an escape, ]8;; without an end", 0, 0, 2),
        ("a\0\0b\x01 \x7f\x80\x93c\x94", "ab c", 0, 0, 7),
        ("a\tb\r\nc\fd\ve\x85f", "a\tb\r\nc\fd\ve\x85f", 0, 0, 0),
        ("\b at the beginning\n\b of lines", " at the beginning\n of lines", 0, 0, 2),
        ("Nothing here: Ünïcödé 日本 \u2028\ufeff", "Nothing here: Ünïcödé 日本 \u2028\ufeff", 0, 0, 0),
        ("", "", 0, 0, 0),
    ],
)
def test_what_terminals_obey_goes_and_what_readers_see_stays(
    text: str, kept: str, escapes: int, overstrikes: int, strays: int
) -> None:
    (row,) = measured(OPERATOR, [text])
    assert edited(text, row["removed"]) == kept
    assert (row["status"], row["escapes"], row["overstrikes"]) == ("ok", escapes, overstrikes)
    assert row["stray_ratio"] == strays / max(len(text), 1)
    assert row["characters"] == sum(one in CONTROLS and one not in KEPT for one in text)


def test_a_sequence_is_one_span() -> None:
    (row,) = measured(OPERATOR, ["é\x1b[1;31mred\x1b[0m\x1b[K."])
    assert row["removed"] == [{"start": 2, "end": 9}, {"start": 12, "end": 19}]


def test_a_text_with_too_many_is_not_measured_and_the_others_are() -> None:
    rows = measured(OPERATOR, ["a\0b", "nothing", "a\0b\0c"], max_spans=1)
    assert [(row["status"], row["characters"], row["removed"]) for row in rows] == [
        ("ok", 1, [{"start": 1, "end": 2}]),
        ("ok", 0, []),
        ("too_many_spans", None, None),
    ]


@settings(max_examples=scaled(100), deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([*PIECES, *SEQUENCES, *CONTROLS]), max_size=12).map("".join), max_size=6),
    st.randoms(),
)
def test_a_row_depends_on_itself_alone_and_no_control_is_left(texts: list[str], chance: random.Random) -> None:
    whole = measured(OPERATOR, texts)
    for text, row in zip(texts, whole, strict=True):
        assert measured(OPERATOR, [text]) == [row]
        assert_spans_hold(text, row["removed"])
        assert not set(edited(text, row["removed"])) & (set(CONTROLS) - set(KEPT))
        assert bool(row["characters"]) == bool(row["removed"])
    order = chance.sample(range(len(texts)), len(texts))
    assert measured(OPERATOR, [texts[place] for place in order]) == [whole[place] for place in order]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_is_too_odd(name: str) -> None:
    assert measured(OPERATOR, [HOSTILE[name]])[0]["status"] == "ok"


@pytest.mark.parametrize(
    "piece", ["\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b[1;", "a\b", "\b", "\x1b]a", "\0\x1b[", "\xc2\x80", "\x1b("]
)
def test_bait_is_read_in_linear_time(piece: str) -> None:
    left(piece * (bait_bytes(300_000) // len(piece)), max_spans=1_000_000)


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    texts, rows = zip(*golden["rows"], strict=True)
    assert measured(OPERATOR, texts) == list(rows)
