"""Signatures as a layer."""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.duplicates.scripts import TEXTS
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_refused
from winnow.filters.duplicates.shingles import shingles_of, words32
from winnow.filters.text.minhash import OPERATOR, MinhashConfig, minhash, schema
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problems
from winnow.schemas.recipe import build_config
from winnow.schemas.recipe.nodes import parse_yaml

WORST = "a "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "minhash.json"


def measured(*texts: str, config: MinhashConfig | None = None) -> list[dict[str, object]]:
    config = config or MinhashConfig(hashes=8)
    batch = pa.record_batch([pa.array(texts, pa.large_string())], names=["text"])
    found = minhash(batch, config.scheme, schema(config))
    found.validate(full=True)
    rows: list[dict[str, object]] = found.to_pylist()
    return rows


def test_a_signature_is_the_bytes_of_datasketch() -> None:
    theirs = MinHash(112, 1, hashfunc=words32)
    theirs.update_batch(shingles_of("The quick brown fox, and so on.", "words", 5))
    (row,) = measured("The quick brown fox, and so on.", config=MinhashConfig())
    assert row["signature"] == theirs.hashvalues.astype("<u4").tobytes()
    assert (row["status"], row["shingles"], len(row["digest"])) == ("ok", 3, 16)  # type: ignore[arg-type]


def test_case_width_punctuation_and_forms_of_unicode_make_no_difference() -> None:
    first, second, third = measured("Ein Café!", "ein  ＣＡＦＥ\u0301", "ein Cafe")
    assert first == second
    assert first["digest"] != third["digest"]


def test_a_text_without_words_is_null_and_says_why() -> None:
    nothing, word = measured("... 😀", "word")
    assert nothing == {"status": "no_words", "signature": None, "digest": None, "shingles": None}
    assert (word["status"], word["shingles"]) == ("ok", 1)
    assert measured() == []


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.randoms())
def test_a_row_depends_on_itself_alone(texts: list[str], order_of: random.Random) -> None:
    together = measured(*texts)
    assert together == [measured(text)[0] for text in texts]
    order = list(range(len(texts)))
    order_of.shuffle(order)
    assert measured(*(texts[place] for place in order)) == [together[place] for place in order]


def test_hostile_texts_are_measured() -> None:
    silent = {"empty", "white space", "NULs", "flags", "emoji", "replacement", "unassigned", "newlines"}
    rows = dict(zip(HOSTILE, measured(*HOSTILE.values()), strict=True))
    assert {name for name, row in rows.items() if row["status"] == "no_words"} == silent
    assert {row["status"] for row in rows.values()} == {"ok", "no_words"}


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("size: 65", "65 … 1 … 64"),
        ("hashes: 0", "0 … 1 … 10_000"),
        ("shingle: lines", "lines"),
    ],
)
def test_settings_are_checked(written: str, complaint: str) -> None:
    with assert_refused(RecipeError, complaint):
        build_config(MinhashConfig, parse_yaml(written, "r.yaml", Problems()), "text.minhash")


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    for shingle, rows in golden["rows"].items():
        found = measured(*golden["texts"], config=MinhashConfig(shingle, 5, 4))
        assert [
            [
                row["status"],
                row["signature"] and np.frombuffer(row["signature"], "<u4").tolist(),  # type: ignore[call-overload]
                row["digest"] and row["digest"].hex(),  # type: ignore[attr-defined]
                row["shingles"],
            ]
            for row in found
        ] == rows
