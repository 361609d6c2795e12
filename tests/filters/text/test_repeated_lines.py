"""The operator `text.repeated_lines`, against a plain loop over all texts, and on hostile texts."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import assert_spans_hold
from winnow.filters.operators import ANSWERS, TEXT
from winnow.filters.spans import edited
from winnow.filters.text.repeated_lines import ID, OPERATOR, RepeatedLinesConfig, load_shard, offered_keys

GOLDEN = Path(__file__).parent / "golden" / "repeated_lines.json"
COOKIES = "We use cookies to give you a better experience."


def batch_of(texts: Sequence[str], numbers: Sequence[int]) -> pa.RecordBatch:
    ids = pa.array([number.to_bytes(16, "big") for number in numbers], pa.binary(16))
    return pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string()), ids], names=[TEXT, ID])


def measured(texts: Sequence[str], numbers: Sequence[int] | None = None, **settings: Any) -> list[dict[str, Any]]:
    """The layer of a store of these texts, whose ids are these numbers, or else count from 0."""
    config = RepeatedLinesConfig(**settings)
    batch = batch_of(texts, numbers or range(len(texts)))
    offers: dict[bytes, set[bytes]] = defaultdict(set)
    rows, keys = offered_keys(config, batch)
    for row, key in zip(rows.tolist(), keys.to_pylist(), strict=True):
        offers[key].add(batch[ID][row].as_py())
    met = [(key, min(ids), len(ids)) for key, ids in sorted(offers.items()) if len(ids) >= config.min_documents]
    answers = pa.RecordBatch.from_pylist([dict(zip(ANSWERS.names, one, strict=True)) for one in met], schema=ANSWERS)
    kernel = load_shard(config, answers)
    found: list[dict[str, Any]] = kernel(batch).to_pylist()
    parts = [kernel(batch.slice(at, 2)).to_pylist() for at in range(0, batch.num_rows, 2)]
    assert [row for part in parts for row in part] == found
    return found


def left(*texts: str, **settings: Any) -> list[str]:
    rows = measured(texts, **settings)
    for text, row in zip(texts, rows, strict=True):
        assert_spans_hold(text, row["removed"])
    return [edited(text, row["removed"]) for text, row in zip(texts, rows, strict=True)]


def units(text: str, unit: str) -> list[str]:
    """The lines, or paragraphs, of a text, each with all up to the next one."""
    lines = re.split(r"(?<=\n)", text)
    found: list[str] = []
    fresh = True
    for line in lines:
        if not line.strip():
            if found:
                found[-1] += line
            else:
                found = [line]
            fresh = fresh or (unit == "paragraph" and line.endswith("\n"))
        elif fresh or unit == "line":
            if len(found) == 1 and not found[0].strip():
                found[0] += line
            else:
                found.append(line)
            fresh = False
        else:
            found[-1] += line
    return found


def plain(texts: Sequence[str], config: RepeatedLinesConfig) -> list[tuple[int, int, str]]:
    """Of each text: its lines, those that repeat, and what is left, by one loop over all texts in the order of ids."""

    def key(unit: str) -> str | None:
        text = unit.strip()
        if len(text) < config.min_chars or len(text.split()) < config.min_words:
            return None
        text = " ".join(text.split()) if config.ignore_spaces else text
        return text.lower() if config.ignore_case else text

    having: dict[str, set[int]] = defaultdict(set)
    for number, text in enumerate(texts):
        for unit in units(text, config.unit):
            if (one := key(unit)) is not None:
                having[one].add(number)
    found = []
    for number, text in enumerate(texts):
        pieces, seen = units(text, config.unit), set()
        stay, repeated = [], 0
        for unit in pieces:
            one = key(unit)
            is_repeated = one is not None and len(having[one]) >= config.min_documents
            repeated += is_repeated
            if config.keep == "none":
                stay.append(not is_repeated)
            else:
                first = one is None or ((not is_repeated or min(having[one]) == number) and one not in seen)
                seen.add(one)
                stay.append(first)
        kept = "".join(unit for unit, stays in zip(pieces, stay, strict=True) if stays)
        if kept and not stay[-1]:
            body = kept[: len(kept.rstrip())]
            kept = body + kept[len(body) :].partition("\n")[0].removesuffix("\r")
        found.append((sum(bool(unit.strip()) for unit in pieces), repeated, kept))
    return found


_WORDS = st.sampled_from(["One line", "one  line", "a", "Zwei ähnliche", "一行文字", "😀 x", " ", ""])
_BREAKS = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n", "\n \n", "\r", " \n\t"])
_TEXTS = st.builds(
    lambda lines, end: "".join(word + after for word, after in lines) + end,
    st.lists(st.tuples(_WORDS, _BREAKS), max_size=8),
    _WORDS,
)


@given(
    st.lists(_TEXTS, max_size=6),
    st.builds(
        RepeatedLinesConfig,
        unit=st.sampled_from(["line", "paragraph"]),
        keep=st.sampled_from(["first", "none"]),
        min_documents=st.integers(2, 3),
        min_chars=st.integers(1, 6),
        min_words=st.integers(1, 2),
        ignore_case=st.booleans(),
        ignore_spaces=st.booleans(),
    ),
)
def test_what_is_removed_is_what_a_loop_over_all_texts_removes(texts: list[str], config: RepeatedLinesConfig) -> None:
    settings = {name: getattr(config, name) for name in config.__slots__}
    rows = measured(texts, **settings)
    for text, row, (lines, repeated, kept) in zip(texts, rows, plain(texts, config), strict=True):
        assert_spans_hold(text, row["removed"])
        assert (row["lines"], row["repeated"], edited(text, row["removed"])) == (lines, repeated, kept)
        assert row["removed_ratio"] == pytest.approx((len(text) - len(kept)) / max(len(text), 1))


def test_the_sample_with_the_smallest_id_keeps_a_line_whatever_the_order_of_samples() -> None:
    texts = [f"{COOKIES}\nPage {number} says something.\n" for number in range(4)]
    numbers = [3, 1, 2, 9]
    rows = measured(texts, numbers)
    assert [len(row["removed"]) for row in rows] == [1, 0, 1, 1]
    assert list(reversed(rows)) == measured(texts[::-1], numbers[::-1])


def test_lines_go_with_their_break_and_at_the_end_with_the_break_before_them() -> None:
    assert left(f"First one.\n{COOKIES}\nLast one.", f"Top line.\r\n{COOKIES.upper()}\r\nBottom.", min_chars=20)[1] == (
        "Top line.\r\nBottom."
    )
    assert left(COOKIES, f"Top.\r\n{COOKIES}\r\n", f"\n{COOKIES}\n\nEnd.", COOKIES) == [COOKIES, "Top.", "End.", ""]


def test_short_lines_stay_and_a_text_keeps_its_first_of_equal_lines() -> None:
    assert left("Home\nA refrain of a song", "Home\nVerse\nA refrain of it\nA refrain of it") == [
        "Home\nA refrain of a song",
        "Home\nVerse\nA refrain of it",
    ]
    assert left("one two three", "one two three", min_words=4) == ["one two three"] * 2


def test_every_copy_goes_where_none_is_kept_and_only_from_the_given_number_of_texts_on() -> None:
    texts = [f"{COOKIES}\nThe text {number}." for number in range(3)]
    assert left(*texts, keep="none", min_chars=20) == ["The text 0.", "The text 1.", "The text 2."]
    assert left(*texts, keep="none", min_documents=4) == texts


def test_hostile_texts() -> None:
    hostile = [
        "",
        "\n",
        "\r\n\r\n",
        " \t ",
        "no break",
        "\x00\n\x00",
        "\u2028\u0085",
        "e\u0301" * 20,
        "\u202e\n" * 50,
        "\r" * 9,
    ]
    for unit in ("line", "paragraph"):
        rows = measured(hostile, unit=unit)
        assert [row["removed"] for row in rows] == [[]] * len(hostile)
        assert left(*hostile, *hostile, unit=unit)[: len(hostile)] == hostile
    same = measured([COOKIES] * 1000)
    assert [row["removed_ratio"] for row in same] == [0, *[1] * 999]
    assert {row["repeated"] for row in same} == {1}


def test_a_key_that_begins_as_another_is_not_taken_for_it() -> None:
    text = "a line to find"
    key = offered_keys(RepeatedLinesConfig(), batch_of([text], [5]))[1][0].as_py()
    near = [key[:8] + bytes([byte]) * 8 for byte in (0, 255)]
    for keys in (sorted([*near, key]), near):
        lines = [{"key": one, "id": bytes(16), "total": 2} for one in keys]
        kernel = load_shard(RepeatedLinesConfig(), pa.RecordBatch.from_pylist(lines, schema=ANSWERS))
        (row,) = kernel(batch_of([text], [5])).to_pylist()
        assert row["repeated"] == (key in keys)


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["version"] == OPERATOR.version
    found = measured([row["text"] for row in golden["rows"]])
    assert found == [row["values"] for row in golden["rows"]]
    alone = OPERATOR.load(RepeatedLinesConfig(), None)(batch_of(["a b c d e f\na b c d e f"], [0]))  # type: ignore[arg-type]
    assert np.diff(alone["removed"].offsets).tolist() == [1]
