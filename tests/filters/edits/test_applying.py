"""Edits put into texts, against a slow restatement."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.edits import Edit, Placeholders, apply_edits, edited, edits_of, unmeasured
from winnow.filters.spans import SPANS, TYPED_SPANS

Span = tuple[int, int]
Typed = tuple[int, int, str]


def deletions(*rows: Sequence[Span] | None) -> pa.ListArray:
    return pa.array([None if row is None else [{"start": a, "end": b} for a, b in row] for row in rows], SPANS)


def typed(*rows: Sequence[Typed] | None) -> pa.ListArray:
    lists = [None if row is None else [{"start": a, "end": b, "kind": kind} for a, b, kind in row] for row in rows]
    return pa.array(lists, TYPED_SPANS)


def left(text: str, gone: Sequence[Span] = (), replaced: Sequence[Typed] = ()) -> Any:
    texts = pa.array([text], pa.large_string())
    return apply_edits(texts, [deletions(gone)], [(typed(replaced), Placeholders())])[0].as_py()


def test_spans_go_or_become_what_they_were() -> None:
    text = "Grüße an max@example.com, bitte!"
    assert left(text, [(0, 7)]) == " an max@example.com, bitte!"
    assert left(text, [], [(11, 26, "email")]) == "Grüße an <EMAIL>, bitte!"
    assert left(text, [(0, 11)], [(11, 26, "email")]) == "<EMAIL>, bitte!"


@pytest.mark.parametrize(
    ("gone", "replaced", "rest"),
    [
        ([(2, 4)], [(0, 6, "email")], "6789"),  # a deletion wins, and nothing of the value stays
        ([(0, 3)], [(2, 6, "email")], "6789"),
        ([(5, 8)], [(2, 6, "email")], "0189"),
        ([], [(1, 4, "ip"), (3, 9, "phone")], "0<PHONE>9"),  # the longest
        ([], [(1, 4, "ip"), (3, 6, "phone")], "0<IP>6789"),  # of equals the first
        ([], [(1, 4, "ip"), (4, 6, "phone")], "0<IP><PHONE>6789"),  # these only touch
        ([(1, 4)], [(4, 6, "phone")], "0<PHONE>6789"),
        ([(3, 3)], [(0, 9, "phone")], "<PHONE>9"),  # an empty span is none
        ([(0, 10)], [(0, 9, "phone")], ""),
        ([(7, 8)], [(1, 4, "ip"), (3, 6, "phone"), (5, 8, "card")], "089"),  # over what overlaps in turn
    ],
)
def test_what_overlaps_is_one_edit(gone: list[Span], replaced: list[Typed], rest: str) -> None:
    columns = [typed([span]) for span in replaced]  # each its own layer, as nothing overlaps within one
    texts = pa.array(["0123456789"], pa.large_string())
    assert apply_edits(texts, [deletions(gone)], [(one, Placeholders()) for one in columns]).to_pylist() == [rest]


def test_of_equal_spans_the_layer_counts_that_is_named_first() -> None:
    texts, first, second = pa.array(["abc"], pa.large_string()), typed([(0, 2, "name")]), typed([(0, 2, "phone")])
    made = Placeholders()
    assert apply_edits(texts, [], [(first, made), (second, made)]).to_pylist() == ["<NAME>c"]
    assert apply_edits(texts, [], [(second, made), (first, made)]).to_pylist() == ["<PHONE>c"]


def test_null_texts_stay_null_and_texts_without_spans_keep_their_bytes() -> None:
    texts = pa.array(["ab", None, "", "cd", "ef"], pa.large_string())
    found = apply_edits(texts, [deletions([(0, 1)], [(0, 1)], [], [], [(1, 2)])], [])
    assert found.to_pylist() == ["b", None, "", "cd", "e"]
    found.validate(full=True)


def test_without_spans_the_column_is_the_same() -> None:
    texts = pa.array(["ab", None], pa.large_string())
    assert apply_edits(texts, [deletions([], None)], [(typed([], None), Placeholders())]) is texts


def test_a_text_whose_spans_are_null_is_gone_with_its_bytes() -> None:
    texts = pa.array(["ada@host.org", None, "bob@host.org", "cid@host.org", "x"], pa.large_string())
    gone = deletions([], None, None, [(0, 4)], [])
    mails = typed(None, None, [], [], [])
    found = apply_edits(texts, [gone], [(mails, Placeholders())])
    assert found.to_pylist() == [None, None, None, "host.org", "x"]
    found.validate(full=True)
    assert found.buffers()[2].to_pybytes().rstrip(b"\0") == b"host.orgx"
    assert unmeasured(texts, [gone, mails]).to_pylist() == [True, False, True, False, False]
    nothing = deletions([], [], None, [], [])
    assert apply_edits(texts, [nothing], []).to_pylist() == [texts[0].as_py(), None, None, texts[3].as_py(), "x"]


def test_slices_and_chunks_are_edited() -> None:
    texts = pa.array(["xx", "ab", "cd", "yy"], pa.large_string()).slice(1, 2)
    spans = deletions([(0, 2)], [(0, 1)], [(1, 2)], [(0, 2)]).slice(1, 2)
    assert apply_edits(texts, [spans], []).to_pylist() == ["b", "c"]
    assert apply_edits(pa.chunked_array([texts, texts]), [pa.concat_arrays([spans, spans])], []).to_pylist() == [
        *("b", "c", "b", "c")
    ]


@pytest.mark.parametrize("span", [(0, 7), (-1, 2), (3, 2), (2, 3), (1, 2)])
def test_spans_of_another_text_are_refused(span: Span) -> None:
    with assert_refused(ValueError, "text 0", "6 bytes"):
        left("漢字", [span])


def test_another_number_of_spans_is_refused() -> None:
    with assert_refused(ValueError, "2 lists", "1 texts"):
        apply_edits(pa.array(["a"], pa.large_string()), [deletions([], [])], [])


def test_the_edits_of_one_text_can_be_seen() -> None:
    assert edits_of("0123456789", [deletions([(1, 3)])], [typed([(2, 4, "ip"), (5, 6, "card")])]) == [
        Edit(0, 1, 4, None, -1),
        Edit(0, 5, 6, "card", 0),
    ]


TEXT = st.text(st.sampled_from("ab \né漢😀\u0301\0"), max_size=20)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str | None], list[list[list[Span]]], list[list[list[Typed]]]]:
    texts = draw(st.lists(st.none() | TEXT, max_size=5))

    def spans(text: str | None) -> list[Span]:
        places = [len((text or "")[:place].encode()) for place in range(len(text or "") + 1)]
        bounds = sorted(draw(st.lists(st.sampled_from(places), max_size=8)))
        return list(zip(bounds[::2], bounds[1::2], strict=False))

    gone = [[spans(text) for text in texts] for _ in range(draw(st.integers(0, 2)))]
    kinds = st.sampled_from(["email", "phone", "ip"])
    replaced = [
        [[(start, end, draw(kinds)) for start, end in spans(text)] for text in texts]
        for _ in range(draw(st.integers(0, 3)))
    ]
    return texts, gone, replaced


def restated(text: str, gone: Sequence[Span], replaced: Sequence[tuple[int, int, str, int]]) -> str:
    """Bytes by components: spans are nodes, sharing a byte is an edge."""
    groups: list[list[tuple[int, int, str | None, int]]] = []
    spans = [(a, b, None, -1) for a, b in gone] + list(replaced)
    for span in (span for span in spans if span[0] < span[1]):
        meeting = [group for group in groups if any(span[0] < b and a < span[1] for a, b, _, _ in group)]
        groups = [group for group in groups if group not in meeting] + [[span, *(one for g in meeting for one in g)]]
    utf8, out, at = text.encode(), b"", 0
    for group in sorted(groups, key=lambda one: min(span[0] for span in one)):
        start, end = min(span[0] for span in group), max(span[1] for span in group)
        kind = max(group, key=lambda span: (span[1] - span[0], -span[0], -span[3]))[2]
        out += utf8[at:start]
        if all(span[2] for span in group):
            out += f"<{str(kind).upper()}>".encode()
        at = end
    return (out + utf8[at:]).decode()


@settings(max_examples=scaled(300), deadline=None)
@given(cases())
def test_all_at_once_as_one_by_one(
    case: tuple[list[str | None], list[list[list[Span]]], list[list[list[Typed]]]],
) -> None:
    texts, gone, replaced = case
    found = apply_edits(
        pa.array(texts, pa.large_string()),
        [deletions(*column) for column in gone],
        [(typed(*column), Placeholders()) for column in replaced],
    )
    found.validate(full=True)
    assert found.to_pylist() == [
        text
        if text is None
        else restated(
            text,
            [span for column in gone for span in column[row]],
            [(*span, number) for number, column in enumerate(replaced) for span in column[row]],
        )
        for row, text in enumerate(texts)
    ]


@given(
    st.lists(
        st.tuples(
            st.text("aé你 ", max_size=12),
            st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=3),
            st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4)), max_size=1),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_between_edits_is_found_where_moves_say(
    rows: list[tuple[str, list[tuple[int, int]], list[tuple[int, int]]]],
) -> None:
    def spans(text: str, cuts: list[tuple[int, int]]) -> list[Span]:
        ends = [0, *(len(text[: at + 1].encode()) for at in range(len(text)))]
        found: list[Span] = []
        for at, length in sorted(cuts):
            span = ends[min(at, len(text))], ends[min(at + length, len(text))]
            if not found or span[0] >= found[-1][1]:
                found.append(span)
        return found

    whole = [text for text, _, _ in rows]
    gone = [spans(text, cuts) for text, cuts, _ in rows]
    kinds = [[(*span, "email") for span in spans(text, cuts)] for text, _, cuts in rows]
    made, moves = edited(pa.array(whole, pa.large_string()), [deletions(*gone)], [(typed(*kinds), Placeholders())])
    for row, (text, after) in enumerate(zip(whole, made.to_pylist(), strict=True)):
        utf8, new = text.encode(), after.encode()
        edits = edits_of(text, [deletions(gone[row])], [typed(kinds[row])])
        places = np.arange(len(utf8) + 1)
        moved = moves.of(np.full(len(places), row), places)
        assert moved[-1] == len(new)
        for place in range(len(utf8)):
            inside = next((one for one in edits if one.start < place < one.end), None)
            if inside is not None:
                assert moved[place] == moved[inside.end]
            elif not any(one.start == place < one.end for one in edits):
                assert new[moved[place]] == utf8[place]
