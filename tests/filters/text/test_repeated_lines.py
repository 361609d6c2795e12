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
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import assert_spans_hold
from winnow.filters.operators import ANSWERS, TEXT
from winnow.filters.spans import edited
from winnow.filters.text.repeated_lines import ID, OPERATOR, RepeatedLinesConfig, load_shard, offered_keys

WORST = "a\n"  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "repeated_lines.json"
WITHIN = ("samples.domain", "text.language.code")
COOKIES = "We use cookies to give you a better experience."


def batch_of(
    texts: Sequence[str], numbers: Sequence[int], places: Sequence[tuple[str | None, ...]] | None = None
) -> pa.RecordBatch:
    ids = pa.array([number.to_bytes(16, "big") for number in numbers], pa.binary(16))
    columns = [pa.array(texts, pa.large_string()), ids]
    for at in range(len(WITHIN)):
        columns.append(pa.array([place[at] for place in places or [("a.com", "deu")] * len(texts)], pa.string()))
    return pa.RecordBatch.from_arrays(columns, names=[TEXT, ID, *WITHIN])


def measured(
    texts: Sequence[str],
    numbers: Sequence[int] | None = None,
    places: Sequence[tuple[str | None, ...]] | None = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """The layer of a store of these texts, whose ids are these numbers, or else count from 0.

    `places`: the site and the language of each.
    """
    config = RepeatedLinesConfig(**settings)
    batch = batch_of(texts, numbers or range(len(texts)), places)
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


def left(*texts: str, places: Sequence[tuple[str | None, ...]] | None = None, **settings: Any) -> list[str]:
    rows = measured(texts, places=places, **settings)
    for text, row in zip(texts, rows, strict=True):
        assert_spans_hold(text, row["removed"])
    return [edited(text, row["removed"]) for text, row in zip(texts, rows, strict=True)]


def units(text: str, unit: str) -> list[str]:
    """The lines, or paragraphs, of a text, each with all up to the next one; or the text."""
    if unit == "text":
        return [text]
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


def plain(
    texts: Sequence[str], places: Sequence[tuple[str | None, ...]], config: RepeatedLinesConfig
) -> list[tuple[int, int, str]]:
    """Of each text: its lines, those that repeat, and what is left, by one loop over all texts in the order of ids."""
    groups = [tuple(place[WITHIN.index(name)] for name in config.within) for place in places]

    def key(unit: str, group: tuple[str | None, ...]) -> tuple[object, str] | None:
        text = unit.strip()
        if None in group or len(text) < config.min_chars or len(text.split()) < config.min_words:
            return None
        text = " ".join(text.split()) if config.ignore_spaces else text
        return group, text.lower() if config.ignore_case else text

    having: dict[tuple[object, str], set[int]] = defaultdict(set)
    for number, (text, group) in enumerate(zip(texts, groups, strict=True)):
        for unit in units(text, config.unit):
            if (one := key(unit, group)) is not None:
                having[one].add(number)
    found = []
    for number, (text, group) in enumerate(zip(texts, groups, strict=True)):
        pieces, seen = units(text, config.unit), set()
        stay, repeated = [], 0
        for unit in pieces:
            one = key(unit, group)
            is_repeated = (
                one is not None
                and len(having[one]) >= config.min_documents
                and len(having[one]) / groups.count(group) >= config.min_share
            )
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


_PLACES = st.tuples(st.sampled_from(["a.com", "b.com", None]), st.sampled_from(["deu", "eng", None]))


@given(
    st.lists(st.tuples(_TEXTS, _PLACES), max_size=8),
    st.builds(
        RepeatedLinesConfig,
        unit=st.sampled_from(["line", "paragraph", "text"]),
        keep=st.sampled_from(["first", "none"]),
        within=st.sampled_from([(), WITHIN[:1], WITHIN[1:], WITHIN]),
        min_share=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        min_documents=st.integers(2, 3),
        min_chars=st.integers(1, 6),
        min_words=st.integers(1, 2),
        ignore_case=st.booleans(),
        ignore_spaces=st.booleans(),
    ),
)
def test_what_is_removed_is_what_a_loop_over_all_texts_removes(
    written: list[tuple[str, tuple[str | None, ...]]], config: RepeatedLinesConfig
) -> None:
    settings = {name: getattr(config, name) for name in config.__slots__}
    texts, places = [text for text, _ in written], [place for _, place in written]
    rows = measured(texts, places=places, **settings)
    for text, row, (lines, repeated, kept) in zip(texts, rows, plain(texts, places, config), strict=True):
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


def test_a_line_on_most_pages_of_a_site_goes_and_other_sites_do_not_count() -> None:
    texts = [f"{COOKIES}\nThe text {number}." for number in range(3)] + ["A page of the same site.", COOKIES]
    sites: list[tuple[str | None, ...]] = [*[("a.com", None)] * 4, ("b.com", None)]
    template: dict[str, Any] = {"within": WITHIN[:1], "keep": "none", "min_chars": 20}
    cut = ["The text 0.", "The text 1.", "The text 2.", *texts[3:]]
    assert left(*texts, places=sites, **template, min_share=0.75) == cut  # one page of its site is no template
    assert left(*texts, places=sites, **template, min_share=0.76) == texts
    assert left(*texts, places=sites, **template, min_share=0.5, min_documents=4) == texts
    assert left(*texts, places=[(None, None)] * 5, **template) == texts  # without an address
    assert left(*texts, keep="none", min_chars=20, min_share=0.8)[-1] == ""  # 4 of 5 texts of the store


def test_a_line_in_every_text_of_a_language_stays_in_others() -> None:
    texts = [COOKIES] * 4
    places: list[tuple[str | None, ...]] = [("a.com", "deu"), ("b.com", "deu"), ("a.com", "eng"), ("a.com", None)]
    assert left(*texts, places=places, within=WITHIN[1:]) == [COOKIES, "", COOKIES, COOKIES]
    assert left(*texts, places=places, within=WITHIN, min_share=1) == texts


def test_whole_texts_are_compared_as_lines_are() -> None:
    text = "One line.\n\nAnother one.\n"
    rows = measured([text, "One line. ANOTHER one.", "One line.", "x", "x"], unit="text")
    assert [(row["lines"], row["repeated"], row["removed_ratio"]) for row in rows] == [
        *[(1, 1, 0), (1, 1, 1)],
        *[(1, 0, 0)] * 3,
    ]


def test_what_is_within_is_not_mixed_up() -> None:
    texts = [COOKIES] * 2
    assert left(*texts, places=[("1:a", "b"), ("1", "a:b")], within=WITHIN) == texts
    assert left(*texts, places=[("a", ""), ("", "a")], within=WITHIN) == texts
    spelt = [f":12:{letter * 8}.com" for letter in "ab"]
    assert left(*spelt, places=[(f"{letter * 8}.com", None) for letter in "ab"], within=WITHIN[:1]) == spelt


def test_spans_never_cut_a_character_cluster() -> None:
    clusters = regex.compile(r"\X")
    line = "e\u0301te\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0e01\u0e33 \U0001f1e9\U0001f1ea"
    ends = ("\n", "\r\n", "\n\u0301", "\r\n\u200d", "\u0301\n", "\r\r\n", "\u200d\r\n")
    texts = [f"{line}{end}{line} {number}{end}{line}" for number, end in enumerate([*ends, *(end * 2 for end in ends)])]
    settings: dict[str, Any]
    for settings in ({"keep": "none"}, {"unit": "paragraph"}, {"within": WITHIN, "min_share": 0.1}, {"unit": "text"}):
        rows = measured([*texts, texts[0]], **settings)
        assert any(row["removed"] for row in rows)
        for text, row in zip([*texts, texts[0]], rows, strict=True):
            starts = {len(text[: one.start()].encode()) for one in clusters.finditer(text)} | {len(text.encode())}
            assert all({span["start"], span["end"]} <= starts for span in row["removed"])


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
