"""Adverts of betting and of sex, and texts about the same things that are none."""

import json
import random
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.parity.documents import Document
from benchmarks.parity.ours import Preparation
from benchmarks.safety_parity.known import passages
from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import bait_bytes
from winnow.filters.presets import find_preset
from winnow.filters.text.spam import OPERATOR, spam

WORST = "ass casino "  # takes most of the memory of its kernel
CLEAN = [(code, text) for code, topics in passages()["clean"].items() for texts in topics.values() for text in texts]
CODE = "text.language.code"
PLANTED = [
    (code, kind, text)
    for code, kinds in passages()["planted"].items()
    for kind in ("spam.gambling", "sexual.spam")
    for text in kinds.get(kind, [])
]


def measured(*texts: tuple[str | None, str]) -> list[dict[str, object]]:
    codes = pa.array([code and f"{code}_Zyyy" for code, _ in texts], pa.string())
    batch = pa.record_batch([pa.array([text for _, text in texts], pa.large_string()), codes], names=["text", CODE])
    rows: list[dict[str, object]] = spam(batch).to_pylist()
    return rows


@cache
def judged() -> dict[tuple[str, str], bool]:
    """Whether the preset drops each of the passages."""
    texts = [(code, text) for code, _, text in PLANTED] + CLEAN
    documents = [Document(str(number), text, f"{code}_Zyyy") for number, (code, text) in enumerate(texts)]
    found = Preparation(find_preset("spam"), (), by_language=True).judge(documents)
    return {one: outcome.reason is not None for one, outcome in zip(texts, found, strict=True)}


def dropped(code: str, text: str) -> bool:
    return judged()[code, text]


@pytest.mark.parametrize(("code", "kind", "text"), PLANTED, ids=[f"{code} {kind}" for code, kind, _ in PLANTED])
def test_adverts_are_found_in_their_language(code: str, kind: str, text: str) -> None:
    (row,) = measured((code, text))
    assert dropped(code, text)
    assert int(row[f"{'gambling' if 'gambling' in kind else 'sexual'}_terms"]) >= 5  # type: ignore[call-overload]


@pytest.mark.parametrize(("code", "text"), CLEAN, ids=[f"{code} {text[:20]}" for code, text in CLEAN])
def test_advice_law_and_medicine_are_no_adverts(code: str, text: str) -> None:
    (row,) = measured((code, text))
    assert not dropped(code, text)
    assert not row["sexual_terms"]


def test_counts_and_shares() -> None:
    (row,) = measured(("eng", "Roulette, roulette and baccarat on WhatsApp"))
    assert row == {
        "status": "ok",
        "gambling_terms": 3,
        "gambling_distinct": 2,
        "gambling_share": 24 / 43,
        "sexual_terms": 0,
        "sexual_distinct": 0,
        "sexual_share": 0.0,
        "contacts": 1,
    }


def test_nothing_found_in_a_language_without_terms_is_nobody_looked() -> None:
    unknown, none, found = measured(("amh", "ሰላም"), (None, "hello"), ("amh", "ካዚኖ casino"))
    assert (unknown["status"], none["status"], found["status"]) == ("no_detector", "no_language", "ok")
    assert unknown["gambling_terms"] is None
    assert (found["gambling_terms"], found["sexual_terms"], found["contacts"]) == (1, None, 0)


PIECES = st.sampled_from(
    [*(text for _, text in CLEAN[:6]), *(text for _, _, text in PLANTED[:8]), "赌场", "casino", " ", ""]
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["eng", "cmn", "amh", None]), PIECES), min_size=1, max_size=8), st.randoms())
def test_a_row_depends_on_itself_alone(rows: list[tuple[str | None, str]], order_of: random.Random) -> None:
    together = measured(*rows)
    assert together == [measured(row)[0] for row in rows]
    order = list(range(len(rows)))
    order_of.shuffle(order)
    assert measured(*(rows[place] for place in order)) == [together[place] for place in order]


def test_hostile_texts_are_measured() -> None:
    rows = measured(*(("eng", text) for text in HOSTILE.values()))
    assert [row["status"] for row in rows] == ["ok"] * len(HOSTILE)


@pytest.mark.parametrize("bait", ["casino", "赌场", "free spin ", "free spins"])
def test_bait_is_read_to_its_end(bait: str) -> None:
    (row,) = measured(("eng", bait * (bait_bytes(4_000_000) // len(bait))))
    assert row["status"] == "ok"


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads((Path(__file__).parent / "golden" / "spam.json").read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured(*((code, text) for code, text, _ in golden["texts"]))
    assert [list(row.values()) for row in rows] == [values for _, _, values in golden["texts"]]


def test_a_language_has_the_terms_of_the_code_that_usually_stands_for_it() -> None:
    (row,) = measured(("fas", "سلام"))  # the terms are those of `pes`
    assert (row["status"], row["gambling_terms"]) == ("ok", 0)
