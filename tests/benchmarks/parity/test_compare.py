"""A preset is compared with a peer in a process of its own, and nothing that differs goes unsaid."""

import io
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from benchmarks.parity.adapters import Adapter, Check, Difference, Explained
from benchmarks.parity.compare import Comparison, compare
from benchmarks.parity.documents import Document
from benchmarks.parity.show import as_json, print_comparison
from winnow.filters.presets import Preset, preset_rule
from winnow.schemas.errors import WinnowError

pytestmark = pytest.mark.processes

PRESET = Preset(
    name="few_lines",
    summary="pages of fewer than three lines",
    operators={"text.fineweb": {}},
    rules=(
        preset_rule("few_lines", "text.fineweb.lines < 3"),
        preset_rule("no_words", "text.fineweb.words < 1"),
    ),
)
ADAPTER = Adapter(
    preset="few_lines",
    peer="line counter",
    module=str(Path(__file__).with_name("line_counter")),
    settings=lambda: {"least": 3},
    checks=(Check("lines", "text.fineweb.lines", "few_lines"), Check("half", "text.fineweb.lines / 3.0")),
    reasons={"few lines": "few_lines"},
)
LONG = "One line.\nAnother line.\nA third line."


def compared(*texts: str, adapter: Adapter = ADAPTER) -> Comparison:
    documents = (Document(f"d{number}", text) for number, text in enumerate(texts))
    return compare(PRESET, adapter, Path(sys.executable), documents)


def test_where_both_say_the_same_nothing_differs() -> None:
    found = compared(LONG, "one line", LONG + "\n\n\nmore")
    assert (found.documents, found.same, found.different, found.equal) == (3, 3, 0, True)
    assert found.values == 6
    assert found.dropped == (1, 1)
    assert dict(found.reasons) == {("kept", "kept"): 2, ("few_lines", "few_lines"): 1}


def test_a_value_that_differs_is_named_with_both_sides() -> None:
    found = compared(LONG, LONG + "\ncount wrongly")
    assert (found.same, found.different, found.equal) == (1, 1, False)
    assert set(found.differences) == {("value", "text.fineweb.lines"), ("value", "text.fineweb.lines / 3.0")}
    (example,) = found.examples["value", "text.fineweb.lines"]
    assert (example.id, example.ours, example.theirs) == ("d1", "4", "5.0")


def test_a_verdict_that_differs_is_said_beside_the_rule() -> None:
    found = compared(LONG + "\ndrop it")
    assert dict(found.differences) == {("verdict", "kept / few_lines"): 1, ("rule", "few_lines"): 1}
    assert found.dropped == (0, 1)


def test_two_reasons_for_one_drop_are_a_difference_too() -> None:
    found = compared("call it thin")
    assert dict(found.differences) == {("reason", "few_lines / thin"): 1}


def test_a_document_at_which_the_peer_raises_is_counted() -> None:
    found = compared("raise", LONG)
    assert dict(found.differences) == {("error", "ZeroDivisionError"): 1}
    assert found.same == 1


def test_what_the_peer_prints_is_no_answer() -> None:
    assert compared("shout\nshout\nshout").equal


def test_a_peer_that_dies_ends_the_comparison_with_its_own_words() -> None:
    with pytest.raises(WinnowError, match="ended with status 3: the peer has no more memory"):
        compared("die")


def test_a_difference_that_is_explained_is_no_failure() -> None:
    def wrongly(difference: Difference) -> bool:
        return difference.kind == "value" and "count wrongly" in difference.document

    explained = replace(ADAPTER, explained=(Explained("wrongly", "the peer counts wrongly when asked to", wrongly),))
    found = compared(LONG, LONG + "\ncount wrongly", adapter=explained)
    assert (found.same, found.explained, found.different, found.equal) == (1, 1, 0, True)
    assert dict(found.explanations) == {"wrongly": 2}


def test_documents_that_one_side_cannot_judge_are_left_out() -> None:
    found = compared(LONG, "count wrongly", adapter=replace(ADAPTER, where="text.fineweb.lines > 1"))
    assert (found.same, found.left_out.total(), found.equal) == (1, 1, True)


def test_a_document_larger_than_any_pipe_goes_through() -> None:
    found = compared(*["word word word.\n" * 40_000] * 12)
    assert (found.documents, found.same) == (12, 12)


def test_what_is_shown_cannot_harm_the_terminal() -> None:
    found = compared("\x1b[2Jred\u202e\ncount wrongly\nlast")
    shown = io.StringIO()
    print_comparison(found, ADAPTER, Console(file=shown, width=80))
    lines = shown.getvalue().splitlines()
    assert "  1 documents: 0 the same, 0 differ as explained, 1 differ" in lines
    assert "    d0: winnow 3, line counter 4.0" in lines
    assert "      \\x1b[2Jred\\u202e\\x0acount wrongly\\x0alast" in lines
    assert lines[-1] == "not the same"


def test_json_says_it_all_in_one_object() -> None:
    found = orjson.loads(as_json(compared(LONG, LONG + "\ndrop it"), ADAPTER))
    assert (found["equal"], found["documents"], found["same"]) == (False, 2, 1)
    assert found["differences"][0]["examples"][0] == {
        "id": "d1",
        "ours": "kept",
        "theirs": "few_lines",
        "excerpt": "One line.\\x0aAnother line.\\x0aA third line.\\x0adrop it",
    }
