"""The operator `text.fineweb`, against datatrove, a slow restatement, and hand-made pages."""

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measuring.environments import PEERS
from tests.filters.text.lines.line_rules import PIECES, documents, measured, of_preset
from tests.filters.text.oracles.line_rules_restated import fineweb
from tests.property_sizes import scaled
from winnow.filters.text.fineweb import OPERATOR

WORST = "a b\n\n"  # takes most of the memory of its kernel
HERE = Path(__file__).parent
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def test_lines_are_measured_as_they_stand() -> None:
    text = "A short line.\n\n \nA line that has more characters than thirty\nA short line.\nEnds with a space. "
    (row,) = measured(OPERATOR, [text], words="whitespace")
    assert row == {
        "lines": 4,
        "stopped_lines": 2,  # a space after the mark hides it
        "short_lines": 3,
        "duplicate_chars": 13,
        "chars": 13 + 1 + 43 + 13 + 19,
        "newlines": 5,
        "words": 3 + 8 + 3 + 4,
        "line_punct_ratio": 0.5,
        "short_line_ratio": 0.75,
        "char_dup_ratio": 13 / 89,
        "newline_ratio": 5 / 18,
    }


@pytest.mark.parametrize("stop", [".", "!", "?", "。", "？", "।", "؟", "።", "‽", "៖", "᪩", "\U0001da88"])
def test_every_script_has_its_stops(stop: str) -> None:
    (row,) = measured(OPERATOR, [f"a{stop}\nb,"])
    assert row["stopped_lines"] == 1


def test_stops_and_short_lines_may_be_chosen() -> None:
    (row,) = measured(OPERATOR, ["语;\nab."], stop_chars=";", short_line_chars=2)
    assert (row["stopped_lines"], row["short_lines"]) == (1, 1)


def test_a_page_without_words_has_shares_of_nothing() -> None:
    rows, reasons = of_preset("fineweb", ["", " \n\n"])
    assert reasons == ["no_lines", "no_lines"]
    assert [row["newline_ratio"] for row in rows] == [0.0, 0.0]


@settings(max_examples=scaled(150), deadline=None)
@given(st.lists(TEXTS, max_size=5), st.integers(1, 30))
def test_every_measure_is_what_the_rules_say(texts: list[str], short: int) -> None:
    rows = measured(OPERATOR, texts, words="whitespace", stop_chars=".!?。", short_line_chars=short)
    assert rows == [fineweb(text, ".!?。", short) for text in texts]


@pytest.mark.peers
def test_datatrove_drops_the_same_pages_for_the_same_reason() -> None:
    peer = PEERS / "datatrove"
    if not (peer / "ready").exists():
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    texts = documents(3)
    said = subprocess.run(
        [peer / "bin" / "python", HERE / "oracles" / "line_rules_peer.py", "fineweb", "{}"],
        input="".join(json.dumps(text) + "\n" for text in texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    theirs = [json.loads(line) for line in said.stdout.splitlines()]
    _, ours = of_preset("fineweb", texts, words="whitespace")
    assert ours == [{"empty": "no_lines"}.get(reason, reason) for reason in theirs]
    assert {"empty", "line_punct_ratio", "short_line_ratio", "char_dup_ratio", None} <= {*theirs}
