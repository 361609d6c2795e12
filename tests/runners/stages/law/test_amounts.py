"""Sizes as people write them, and tables of one number a family."""

import pytest

from tests.messages import assert_told
from winnow.runners.stages.law.amounts import amounts_from_csv, size
from winnow.schemas.errors import SourceError, WinnowError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("85000000", 8.5e7),
        ("1.2e9", 1.2e9),
        ("85M", 8.5e7),
        ("20B", 2e10),
        ("1.5t", 1.5e12),
        (" 3k ", 3e3),
        ("2G", 2e9),
    ],
)
def test_sizes(text: str, value: float) -> None:
    assert size("--n", text) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2e9", "1.2e9 … 1200000000"),
        ("1,200,000", "1.2e9 … 1200000000"),
        ("nan", "expected a finite number"),
        ("1e999", "expected a finite number"),
        ("-85M", "expected … 1"),
        ("0", "expected … 1"),
        ("12 parsecs", "85000000 … 1.2e9 … 85M"),
        ("1e9B", "85000000 … 1.2e9 … 85M"),
        ("٣", "85000000 … 1.2e9 … 85M"),
    ],
)
def test_what_is_no_size(text: str, complaint: str) -> None:
    with pytest.raises(WinnowError) as error:
        size("--n", text)
    assert_told(str(error.value), "--n", text, complaint, whole=True)


def test_a_table_with_remarks_a_mark_of_its_encoding_and_other_columns() -> None:
    text = "\ufeff# counted in June\nfamily,note,tokens\r\nindic,few,1.5B\r\n\r\nslavic,,9e9\r\n"
    assert amounts_from_csv(text, "t.csv", "tokens") == {"indic": 1.5e9, "slavic": 9e9}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "t.csv … expected"),
        ("family,weight\n", "t.csv … expected"),
        ("group,weight\n", "t.csv:1 … 'group, weight'"),
        ("family,weight,weight\n", "t.csv:1 … expected family"),
        ("family;weight\n", "t.csv:1 … use commas"),
        ("family,weight\na,1,5\n", "t.csv:2 … 3 values … 2 columns"),
        ("family,weight\na\n", "t.csv:2: 1 values for 2 columns"),
        (
            'family,weight\na,"1,5"\n',
            "t.csv:2 … '1,5' … 1.2e9",
        ),
        ("family,weight\na,NaN\n", "t.csv:2 … 'NaN'"),
        ("family,weight\na,-1\n", "t.csv:2 … '-1'"),
        ("family,weight\na,0\n", "t.csv:2 … '0'"),
        (
            "family,weight\na,\n",
            "t.csv:2 … '' … 85000000",
        ),
        ("family,weight\n,1\n", "t.csv:2 … '' … 1"),
        ("family,weight\na,1\nb,1\na,2\n", "t.csv:4 … 'a' … line 2"),
        ('family,weight\n"a,1\n', "t.csv:2: not CSV ("),
    ],
)
def test_what_is_no_table(text: str, complaint: str) -> None:
    with pytest.raises(SourceError) as error:
        amounts_from_csv(text, "t.csv", "weight")
    assert_told(str(error.value), complaint)


def test_every_bad_line_is_said_up_to_a_limit() -> None:
    with pytest.raises(SourceError) as error:
        amounts_from_csv("family,weight\n" + "".join(f"f{number},x\n" for number in range(25)), "t.csv", "weight")
    lines = str(error.value).splitlines()
    assert (len(lines), lines[-1]) == (21, "… and 5 more")
