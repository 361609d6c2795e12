"""What a search for duplicates is judged by: recall by resemblance, what is joined in vain, what a scheme promises."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.dedupe.truth import BANDS, ROWS, THRESHOLD, Truth, judged, promised_shares, verified_shares
from benchmarks.inputs.planted import PLANTED, TRUTH
from winnow.filters.duplicates.curves import probabilities
from winnow.filters.duplicates.verification import judge

WORDS = [f"w{number}" for number in range(60)]
TEXTS = [
    " ".join(WORDS),  # 0
    " ".join(WORDS[1:]),  # 1: 55 of the 56 shingles of 0
    "one page of a site about bees and no other page",  # 2
    "one page of a site about wasps and no other page",  # 3
    "alone with what is not said elsewhere in here",  # 4
]


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    kinds = ["original", "near", "template", "template", "alone"]
    rows = [
        {
            "id": f"planted-{number:09d}",
            "text": text,
            "source": "crawl-a",
            "language": "en",
            "group": 0 if number < 2 else -1,
            "kind": kinds[number],
            "jaccard": 1.0,
        }
        for number, text in enumerate(TEXTS)
    ]
    pq.write_table(pa.Table.from_pylist(rows[:3], PLANTED), tmp_path / "part-00000.parquet")
    pq.write_table(pa.Table.from_pylist(rows[3:], PLANTED), tmp_path / "part-00001.parquet")
    pairs = [(0, 1, 55 / 56, "near"), (2, 3, 0.25, "template")]
    planted = [
        {"first": rows[one]["id"], "second": rows[other]["id"], "jaccard": share, "script": "spaced", "kind": kind}
        for one, other, share, kind in pairs
    ]
    pq.write_table(pa.Table.from_pylist(planted, TRUTH), tmp_path / "truth.parquet")
    return Truth.of(tmp_path)


def test_a_search_that_joins_what_is_alike_is_complete_and_precise(truth: Truth) -> None:
    quality = judged(truth, {"right": np.array([7, 7, 1, 2, 3])})
    found = quality.precision["right"]
    assert {(one.similarity, one.pairs, one.found["right"]) for one in quality.bins} == {
        ("0.95-1.00", 1, 1.0),
        ("one template", 1, 0.0),
    }
    assert (found.joined_rows, found.precise, found.strangers, found.pages_joined) == (2, 1.0, 0.0, 0)
    assert found.high["spaced"] == 1.0


def test_pages_and_strangers_that_are_joined_are_told(truth: Truth) -> None:
    found = judged(truth, {"wrong": np.array([1, 2, 3, 3, 1])}).precision["wrong"]
    assert (found.joined_rows, found.precise, found.strangers) == (4, 0.0, 1.0)
    assert (found.pages_joined, found.pages, found.high["spaced"]) == (2, 2, 0.0)


def test_a_search_that_lacks_rows_is_refused(truth: Truth) -> None:
    with pytest.raises(SystemExit, match="peer tells of 4 rows, expected 5"):
        judged(truth, {"peer": np.arange(4)})


@pytest.mark.parametrize("similarity", [0.6, 0.74, 0.76, 0.85])
def test_what_is_promised_is_what_signatures_made_by_chance_do(similarity: float) -> None:
    equal = np.random.default_rng(1).random((40_000, BANDS, ROWS)) < similarity
    verdict = judge(equal.sum(axis=(1, 2)), BANDS * ROWS, THRESHOLD)
    alike = (verdict > 0) | ((verdict == 0) & (similarity >= THRESHOLD))
    candidate = np.any(np.all(equal, axis=2), axis=1)
    assert verified_shares(np.array([similarity]))[0] == pytest.approx(np.mean(candidate & alike), abs=0.008)


def test_above_the_threshold_verification_costs_hardly_any_recall() -> None:
    similarities = np.linspace(0.8, 1.0, 21)
    lost = probabilities(similarities, BANDS, ROWS) - verified_shares(similarities)
    assert (lost >= -1e-9).all()
    assert lost.max() < 0.002


def test_two_texts_of_a_group_are_joined_by_the_third(truth: Truth) -> None:
    three = Truth(
        truth.folder,
        3,
        np.array([0, 0, 1]),
        np.array([1, 2, 2]),
        np.array([0.95, 0.95, 0.5]),
        np.zeros(3, np.bool_),
        np.zeros(3, np.bool_),
        np.zeros(3, np.int64),
        np.zeros(0, np.int64),
    )
    assert promised_shares(three).tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-3)
    assert verified_shares(np.array([0.5]))[0] < 1e-9
