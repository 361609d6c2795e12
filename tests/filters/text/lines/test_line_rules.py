"""What the operators on lines and sentences promise of every text: rows alone, hostile texts, pinned values."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.lines.line_rules import PIECES, Files, assert_spans_hold, measured
from tests.property_sizes import bait_bytes, scaled
from winnow.filters.operators import Operator, find_operator

NAMES = ("c4", "fineweb", "refinedweb", "madlad")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=50).map("".join)
GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(params=NAMES)
def operator(request: pytest.FixtureRequest) -> Operator:
    return find_operator(f"text.{request.param}")


@settings(max_examples=scaled(25), deadline=None)
@given(st.lists(TEXTS | st.text(max_size=40), min_size=1, max_size=6), st.data(), st.sampled_from(NAMES))
def test_a_row_depends_on_itself_alone(texts: list[str], data: st.DataObject, name: str) -> None:
    operator = find_operator(f"text.{name}")
    whole = measured(operator, texts)
    order = data.draw(st.permutations(range(len(texts))))
    assert measured(operator, [texts[at] for at in order]) == [whole[at] for at in order]
    cut = data.draw(st.integers(0, len(texts)))
    assert measured(operator, texts[:cut]) + measured(operator, texts[cut:]) == whole
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=["text"])
    assert operator.load(operator.config(), Files())(batch.slice(cut)).to_pylist() == whole[cut:]


HOSTILE = {
    "nothing": "",
    "white space": " \t\u3000\x1c\n" * 50_000,
    "empty lines": "\n" * bait_bytes(1_000_000),
    "one long line": "one word. " * bait_bytes(500_000),
    "one long word": "x" * bait_bytes(5_000_000),
    "equal lines": "the same\n" * bait_bytes(300_000),
    "different lines": "\n".join(map(str, range(300_000))),
    "brackets": "[" * bait_bytes(2_000_000),
    "unclosed citations": "[1" * bait_bytes(1_000_000),
    "citations": "[1]a" * bait_bytes(500_000),
    "ends": ".!?" * bait_bytes(1_000_000),
    "spaced ends": ". " * bait_bytes(1_000_000),
    "half phrases": "lorem ipsu javascrip items in car " * 60_000,
    "phrases": "items in cart\n" * bait_bytes(100_000),
    "emoji": "😀👨‍👩‍👧" * bait_bytes(200_000),
    "bidirectional": "\u202e\u05e9\u05dc\u05d5\u05dd\u202c \u2066x\u2069\n" * bait_bytes(100_000),
    "binary": "".join(map(chr, range(1, 0x300))) * 1_000 + "\0" * bait_bytes(100_000),
    "unassigned": "\u0378\U000e0080\ufffd\ufffe\n" * bait_bytes(100_000),
    "marks": "e" + "\u0301" * bait_bytes(1_000_000),
    "last code point": "\U0010ffff" * bait_bytes(500_000),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_measured(kind: str, operator: Operator) -> None:
    (row,) = measured(operator, [HOSTILE[kind]])
    assert_spans_hold(HOSTILE[kind], row.pop("removed", []))
    assert all(value is None or math.isfinite(value) for value in row.values())
    assert {name for name, value in row.items() if value is None} <= {"cursed_sentences", "other_language_sentences"}


def test_no_rows_give_no_rows(operator: Operator) -> None:
    assert measured(operator, []) == []


def test_values_are_those_of_this_version(operator: Operator) -> None:
    """The version goes up with any of these; rows were written by the kernel where it equalled its restatement."""
    golden: dict[str, Any] = json.loads((GOLDEN / f"{operator.name.removeprefix('text.')}.json").read_text("utf-8"))
    assert golden["version"] == operator.version
    rows = measured(operator, golden["texts"])
    for text, row, expected in zip(golden["texts"], rows, golden["rows"], strict=True):
        spans = row.pop("removed", None)
        values = [*row.values(), *([] if spans is None else [[[span["start"], span["end"]] for span in spans]])]
        assert values == expected, text
