"""What the marks of a plot mean."""

import re

from winnow.runners.report.plots.bars import Part, Row, bars, shares
from winnow.runners.report.plots.histograms import Curve, half_octaves, log_histograms
from winnow.schemas.summary import Bin, Measure


def widths(svg: str, tone: str) -> list[float]:
    return [float(found) for found in re.findall(rf'width="([\d.]+)" height="18" class="{tone}"', svg)]


def test_bars_share_one_scale() -> None:
    drawn = bars("t", [Row("a", (Part("n", 100),)), Row("b", (Part("n", 50),))], 200)
    first, second = widths(drawn, "tone-1")
    assert second == first / 2
    assert "100 · 50.0 %" in drawn


def test_shares_fill_the_row_whatever_its_count() -> None:
    drawn = shares("t", [Row("a", (Part("k", 1, "kept"),)), Row("b", (Part("k", 900, "kept"),))])
    assert len(set(widths(drawn, "kept") + widths(drawn, "track"))) == 1


def test_what_is_not_nothing_is_seen() -> None:
    drawn = shares("t", [Row("a", (Part("k", 10**9, "kept"), Part("q", 1, "quarantined"), Part("d", 0, "dropped")))])
    assert widths(drawn, "quarantined") == [1.5]
    assert widths(drawn, "dropped") == []


def test_a_doubling_has_two_columns_and_zero_its_own() -> None:
    bins = tuple(Bin(low, low, 1) for low in (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12))
    assert half_octaves(Measure("characters", 11, 0, 12, None, bins=bins)) == {
        0: 1,  # zero
        1: 1,  # 1
        3: 1,  # 2
        4: 1,  # 3
        5: 2,  # 4, 5
        6: 2,  # 6, 7
        7: 2,  # 8, 11
        8: 1,  # 12
    }


def test_a_column_is_named_by_the_lengths_in_it() -> None:
    measure = Measure("characters", 2, 5, 12, None, bins=(Bin(5, 5, 1), Bin(12, 12, 1)))
    drawn = log_histograms("t", "characters", [Curve("a", measure)])
    assert "<title>4 to 5 characters: 1</title>" in drawn
    assert "<title>12 to 15 characters: 1</title>" in drawn


def test_a_histogram_of_nothing_is_drawn() -> None:
    assert "0 texts" in log_histograms("t", "characters", [Curve("a", Measure("characters", 0, None, None, None))])
