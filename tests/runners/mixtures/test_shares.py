"""`--sample` is a share in digits; what would cost a machine's memory to be understood is refused."""

from fractions import Fraction

import pytest

from tests.messages import assert_refused
from winnow.runners.stages.mixing import parse_sample
from winnow.schemas.errors import WinnowError


@pytest.mark.parametrize(
    ("text", "share"),
    [("1%", Fraction(1, 100)), (" 0.25 % ", Fraction(1, 400)), (".5", Fraction(1, 2)), ("1/3", Fraction(1, 3))],
)
def test_a_share(text: str, share: Fraction) -> None:
    assert parse_sample(text) == share


@pytest.mark.parametrize("text", ["", "%", "0", "0%", "101%", "-1", "nan", "1/0", "1e-1000000000", "9" * 5_000])
def test_no_share(text: str) -> None:
    with assert_refused(WinnowError, "above 0", "100%"):
        parse_sample(text)
