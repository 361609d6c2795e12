"""Numbers as people read them."""

import pytest

from winnow.runners.tables.quantities import byte_size, grouped, share


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (1_234_567, "1,234,567"), (-1234, "-1,234"), (12.0, "12"), (0.12345, "0.1235"), (1234.56, "1,235"),
     (12345.6, "12,346"), (1e300, "1.000e+300"), (2**64, "18,446,744,073,709,551,616")],
)  # fmt: skip
def test_grouped(number: float, shown: str) -> None:
    assert grouped(number) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (1536, "1.5 KiB"), (100 * 1024, "100 KiB"), (1 << 30, "1.0 GiB"),
     (1 << 70, "1,024 EiB")],
)  # fmt: skip
def test_byte_size(count: int, shown: str) -> None:
    assert byte_size(count) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, "-"), (0, 5, "0.0 %"), (1, 8, "12.5 %"), (5, 5, "100.0 %"), (1, 1_000_000, "< 0.1 %"),
     (999_999, 1_000_000, "> 99.9 %")],
)  # fmt: skip
def test_share_never_rounds_to_nothing_or_to_all(part: int, whole: int, shown: str) -> None:
    assert share(part, whole) == shown
