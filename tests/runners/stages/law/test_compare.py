"""`winnow law compare`: every method on the same tokens, and what becomes of families that one side lacks."""

import json
from pathlib import Path

import pytest

from tests.messages import assert_told
from tests.runners.stages.law.conftest import Law
from tests.scoring.laws import law
from winnow.scoring.sampling import Inventory, by_law, compare, proportional, temperature, unimax

TOKENS = {"germanic": 40e9, "indic": 1.5e9, "slavic": 9e9}


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    (tmp_path / "t.csv").write_text("family,tokens\ngermanic,40B\nindic,1.5B\nslavic,9B\n")
    return "t.csv"


def test_five_methods_side_by_side(run: Law, law_file: str, tokens: str) -> None:
    lines = run("compare", law_file, "--tokens", tokens, "--d", "30B").splitlines()
    assert lines[0] == "30,000,000,000 tokens of 50,500,000,000 available"
    assert_told(lines[1], "training tokens", whole=True)
    assert lines[4].split() == ["method", "total", "with", "repeats", "above", "least", "most", "epochs"]
    methods = [
        "proportional",
        "temperature 3.3",
        "unimax 4",
        "law, normalised weights",
        "law, normalised weights, repeats",
    ]
    assert [line[:32].rstrip() for line in lines[6:11]] == methods
    for title in (
        "Shares",
        "Epochs",
        "Predicted normalised losses (loss over the loss at p = 1), with repeats at reduced value",
    ):
        assert lines[lines.index(title) + 1].split() == [
            *("family", "proportional", "temperature", "3.3", "unimax", "4", "law", "law,", "repeats")
        ]
    shares = [line.split() for line in lines[lines.index("Shares") + 3 :][:3]]
    assert [row[0] for row in shares] == ["germanic", "indic", "slavic"]
    assert [row[1] for row in shares] == ["0.7921", "0.0297", "0.1782"]


def test_the_numbers_are_those_of_the_methods(run: Law, law_file: str, tokens: str) -> None:
    described = json.loads(run("compare", law_file, "--tokens", tokens, "--d", "30B", "--n", "1B", "--json"))
    inventory = Inventory(TOKENS, 30e9)
    ways = [by_law(inventory, law(), n=1e9, repeats=repeats) for repeats in (False, True)]
    mixtures = [proportional(inventory), temperature(inventory), unimax(inventory, 4), *ways]
    for row, found in zip(described["methods"], compare(mixtures, inventory, law(), 1e9), strict=True):
        assert row["mixture"]["shares"] == pytest.approx(found.mixture.shares, rel=1e-6)
        assert row["normalised_with_repeats"] == pytest.approx(found.normalised_with_repeats, rel=1e-6)
        assert row["losses"] == pytest.approx(found.losses, rel=1e-6)
    totals = [row["normalised_with_repeats"] for row in described["methods"]]
    assert min(totals) == totals[-1]


def test_without_a_budget_everything_is_seen_once(run: Law, law_file: str, tokens: str) -> None:
    described = json.loads(run("compare", law_file, "--tokens", tokens, "--json"))
    assert described["budget"] == 50.5e9
    assert described["methods"][0]["mixture"]["epochs"] == pytest.approx([1, 1, 1])


def test_families_that_one_side_lacks_are_named(run: Law, law_file: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("family,tokens\ngermanic,4B\nindic,1B\nturkic,2B\n")
    out = run("compare", law_file, "--tokens", "t.csv")
    assert_told(out, "warning:", "unimax 4")
    assert_told(out, "warning:", "0.6667")
    assert_told(out, "warning:", "t.csv")


def test_unimax_is_let_repeat_more_where_the_budget_asks_for_it(run: Law, law_file: str, tokens: str) -> None:
    out = run("compare", law_file, "--tokens", tokens, "--d", "303B")
    assert_told(out, "warning:", "UniMax", "4 epochs", "6")


def test_a_cap_binds_every_method(run: Law, law_file: str, tokens: str) -> None:
    described = json.loads(run("compare", law_file, "--tokens", tokens, "--d", "30B", "--max-epochs", "2", "--json"))
    assert [row["mixture"]["method"] for row in described["methods"]][2] == "unimax 2"
    assert max(max(row["mixture"]["epochs"]) for row in described["methods"]) <= 2 + 1e-9


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("--d", "900B", "--max-epochs", "2"),
            "9e+11 … 2 epochs … 1.01e+1",
        ),
        (("--max-epochs", "-1"), "--max-epochs -1: expected a number above zero"),
        (("--unimax-epochs", "nan"), "--unimax-epochs … number above"),
        (("--temperature", "0"), "temperature 0.0: expected a number above zero"),
        (("--weights", "uniform"), "N and D are required"),
    ],
)
def test_what_cannot_be_compared(
    run: Law, law_file: str, tokens: str, arguments: tuple[str, ...], complaint: str
) -> None:
    assert_told(run("compare", law_file, "--tokens", tokens, *arguments, status=1), complaint)


def test_what_no_number_can_hold_is_one_line(run: Law, law_file: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("family,tokens\ngermanic,1\nindic,1e30\nslavic,5\n")
    err = run("compare", law_file, "--tokens", "t.csv", "--d", "1e30", status=1)
    assert_told(err, "law.json", "losses overflow", whole=True)


def test_tokens_of_no_family_of_the_law(run: Law, law_file: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("family,tokens\nturkic,2B\n")
    err = run("compare", law_file, "--tokens", "t.csv", status=1)
    assert_told(err, "law knows none", whole=True)
