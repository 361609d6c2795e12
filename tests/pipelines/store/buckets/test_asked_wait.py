"""How long a server asks to wait before the next request."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from winnow.pipelines.store.buckets.retries import DAY_SECONDS, asked_wait


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("0", 0.0), (" 7 ", 7.0), ("9" * 40, DAY_SECONDS), ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0)],
)
def test_numbers_and_dates_that_are_over(written: str, seconds: float) -> None:
    assert asked_wait(written) == seconds


@pytest.mark.parametrize("zone", ["+0000", "-0000"])  # -0000: a time without a zone, which is UTC here
def test_a_date_that_is_to_come(zone: str) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(hours=1)).removesuffix("+0000") + zone
    assert asked_wait(then) == pytest.approx(3600, abs=30)


def test_a_date_in_years_is_a_day() -> None:
    assert asked_wait("Sat, 01 Jan 2999 00:00:00 GMT") == DAY_SECONDS


@pytest.mark.parametrize("written", [None, "", "soon", "-1", "1.5", "²", "٣", "Mon, 99 Jan 2001 00:00:00 GMT"])
def test_what_asks_for_nothing(written: str | None) -> None:
    assert asked_wait(written) is None
