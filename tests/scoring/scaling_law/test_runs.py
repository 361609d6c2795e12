"""A table of runs is checked before anything is computed, and what is wrong is one line with its row."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from winnow.schemas.errors import SourceError
from winnow.schemas.law import Units
from winnow.scoring.scaling_law.runs import runs_from_columns, runs_from_csv

HEADER = "family,N,D,p,loss,seed\n"
GOOD = "slavic,85e6,1e9,0.2,3.1,0\n"


def refusal(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        runs_from_csv(text, "runs.csv")
    return str(caught.value)


def test_a_table_is_read_with_its_units_and_sorted_by_value() -> None:
    table = runs_from_csv(
        "\ufeff# unit.N: all parameters\n# unit.loss = bits a byte, of UTF-8\n# made by hand\n"
        "seed,loss,p,D,N,family,speed\n1,3.0,1,1e9,85000000,slavic,fast\n\n0, 2.9 ,.5,1E9,8.5e7, indic ,slow\n"
    )
    assert table.families == ("indic", "slavic")
    assert table.family.tolist() == [0, 1]
    assert table.p.tolist() == [0.5, 1.0]
    assert table.loss.tolist() == [2.9, 3.0]
    assert table.seed.tolist() == [0, 1]
    assert table.units == Units("all parameters", Units().d, "bits a byte, of UTF-8")
    assert table.mixtures() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "runs.csv"),
        ("family,N,D,p,seed\n", "runs.csv:1 … 'family, N, D, p, seed'"),
        (
            "family;N;D;p;loss;seed\n",
            "runs.csv:1 … use commas",
        ),
        (HEADER.replace("seed", "seed,p"), "runs.csv:1 … two columns"),
        (HEADER, "runs.csv … 0 runs … expected 1"),
        (
            HEADER + GOOD.replace("3.1", "nan"),
            "runs.csv:2 … 'nan'",
        ),
        (HEADER + GOOD.replace("3.1", "-inf"), "runs.csv:2 … '-inf'"),
        (HEADER + GOOD.replace("3.1", "1e999"), "runs.csv:2 … '1e999'"),
        (HEADER + GOOD.replace("3.1", "0"), "runs.csv:2 … '0' … above 0"),
        (HEADER + GOOD.replace("3.1", ""), "runs.csv:2 … ''"),
        (HEADER + GOOD.replace("3.1", '"3,1"'), "runs.csv:2 … '3,1' … write 3.1"),
        (HEADER + GOOD.replace("3.1", "3,1"), "runs.csv:2 … 7 values … 6 columns"),
        (HEADER + GOOD.replace("0.2", "0"), "runs.csv:2 … '0' … above 0"),
        (HEADER + GOOD.replace("0.2", "-0.2"), "runs.csv:2 … '-0.2' … above 0"),
        (HEADER + GOOD.replace("0.2", "20"), "1 … 100"),
        (HEADER + GOOD.replace("0.2", "20%"), "runs.csv:2 … '20%' … 0.2"),
        ("# unit.P: shares\n" + HEADER + GOOD, "runs.csv:1 … 'unit.P'"),
        ("# Unit.N: all\n" + HEADER + GOOD, "runs.csv:1 … 'Unit.N' … unit.loss"),
        ("# unit.N:\n" + HEADER + GOOD, "runs.csv:1: unit.N: no unit"),
        (
            HEADER + GOOD + GOOD.replace("slavic", "Slavic"),
            "runs.csv … 'Slavic' … 'slavic'",
        ),
        (HEADER + GOOD.replace("85e6", "-85e6"), "runs.csv:2 … '-85e6' … 1"),
        (HEADER + GOOD.replace("85e6", "85M"), "runs.csv:2 … '85M' … 0.25"),
        (HEADER + GOOD.replace("1e9", "0"), "runs.csv:2 … '0' … 1"),
        (HEADER + GOOD.replace(",0\n", ",0.5\n"), "runs.csv:2 … '0.5'"),
        (HEADER + GOOD.replace("slavic", " "), "runs.csv:2: family is '': expected a name"),
        (HEADER + GOOD + "\n" + GOOD, "runs.csv:4 … runs.csv:2"),
        (HEADER + '"', "runs.csv:2: not CSV"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_its_row(text: str, message: str) -> None:
    found = refusal(text)
    assert_told(found, message)
    assert "\n" not in found


def test_all_that_is_wrong_is_reported_at_once() -> None:
    found = refusal(HEADER + GOOD.replace("3.1", "x") * 30).splitlines()
    assert found[0].startswith("runs.csv:2: ")
    assert len(found) == 21
    assert found[-1] == "… and 10 more"


RUN = "family,N,D,p,loss,seed,run\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["a,1e8,1e9,0.5,3,0,r", "b,1e8,1e9,0.4,3,0,r"],
            "runs.csv:2 … 'r' … 1e+09",
        ),
        (["a,1e8,1e9,0.5,3,0,r", "b,2e8,1e9,0.5,3,0,r"], "runs.csv:3 … 'r' … runs.csv:2"),
        (["a,1e8,1e9,0.5,3,0,r", "a,1e8,1e9,0.5,3,0,r"], "runs.csv:3 … runs.csv:2"),
        (["a,1e8,1e9,1,3,0,r", "a,1e8,1e9,1,3,0,s"], "runs.csv:3 … 's' … 'r'"),
        (["a,1e8,1e9,1,3,0,r", "a,1e8,2e9,0.999,3,0,r"], "'r' … 'a'"),
    ],
)
def test_rows_of_one_run_agree(rows: list[str], message: str) -> None:
    assert_told(refusal(RUN + "\n".join(rows)), message)


def test_a_run_may_be_measured_at_several_d_and_says_what_lay_beside_a_family() -> None:
    table = runs_from_csv(
        RUN + "a,1e8,1e9,0.333,3,0,r\nb,1e8,1e9,0.667,3,0,r\n"
        "a,1e8,2e9,0.333,3,0,r\nb,1e8,2e9,0.667,3,0,r\nb,1e8,1e9,1,3,0,s"
    )
    mixtures = table.mixtures()
    assert mixtures is not None
    assert mixtures.tolist() == [[0.333, 0.667]] * 2 + [[0.333, 0.667], [0.0, 1.0], [0.333, 0.667]]
    assert table.keys() == ("run r", "run r", "run r", "run s", "run r")


def test_no_order_of_rows_changes_a_table() -> None:
    rows = [f"f{n % 3},1e{7 + n % 2},1e9,{0.1 * (1 + n):.1f},{3 - n / 9},{n % 2}" for n in range(9)]
    digests: set[str] = set()
    for _ in range(5):
        random.Random(len(digests)).shuffle(rows)
        digests.add(runs_from_csv(HEADER + "\n".join(rows)).digest())
    assert len(digests) == 1


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_in_few_lines(text: str) -> None:
    for table in (text, HEADER + text):
        said = ""
        try:
            runs_from_csv(table)
        except SourceError as error:
            said = str(error)
        assert len(said.splitlines()) <= 21


def test_columns_of_unequal_length_are_refused() -> None:
    columns: dict[str, list[object]] = {
        "family": ["a"],
        "N": [1e8],
        "D": [1e9],
        "p": [0.5],
        "loss": [3.0, 2.0],
        "seed": [0],
    }
    with assert_refused(SourceError, "1 values", "2"):
        runs_from_columns(columns)
