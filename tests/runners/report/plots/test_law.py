"""The pictures: one file, the same bytes each time, every family named, no name read as a formula."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.scoring.laws import family, law
from winnow.runners.stages.law.plots import MOST_BARS, MOST_PANELS, fit_plot, ratios_plot
from winnow.schemas.law import ScalingLaw
from winnow.scoring.scaling_law.mixing import RatioObjective, family_ratios
from winnow.scoring.scaling_law.runs import RunTable, runs_from_columns

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: bytes) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def runs_of(known: ScalingLaw) -> RunTable:
    rows = [(name, 1e8, 1e9, p, 3 * p**-0.1, seed) for name in known.names for p in (0.1, 0.5, 1) for seed in (0, 1)]
    return runs_from_columns(dict(zip(("family", "N", "D", "p", "loss", "seed"), zip(*rows, strict=True), strict=True)))


def many(count: int) -> ScalingLaw:
    known = law()
    return replace(
        known, families=tuple(family(f"family {place:03}", 0.1 + place / 1000, "full") for place in range(count))
    )


def test_every_family_has_its_panel_with_points_and_law() -> None:
    drawn = fit_plot(law(), runs_of(law()))
    said = words(drawn)
    assert [text for text in said if "gamma" in text] == [
        "germanic: gamma 0.0800",
        "indic: gamma 0.1500",
        "slavic: gamma 0.1000",
    ]
    assert "N 1e+08, D 1e+09" in said
    assert drawn == fit_plot(law(), runs_of(law()))


def test_more_families_than_fit_are_counted() -> None:
    known = many(MOST_PANELS + 3)
    said = words(fit_plot(known, runs_of(known)))
    assert sum("gamma" in text for text in said) == MOST_PANELS
    assert any("3 more families not shown" in text for text in said)


def test_runs_lie_on_the_law_that_made_them() -> None:
    known = law("gamma")
    tree = ElementTree.fromstring(fit_plot(known, runs_of(known)))
    marks = [mark for mark in tree.iter(f"{SVG}circle") if "mark" in mark.attrib["class"]]
    assert len(marks) == len(runs_of(known)) + 1  # one in the legend


def test_colours_are_written_out_for_readers_without_variables() -> None:
    drawn = fit_plot(law(), runs_of(law())).decode()
    assert "var(" not in drawn
    assert "prefers-color-scheme: dark" in drawn


def test_shares_of_every_weighting() -> None:
    weightings = [(name, family_ratios(law(), RatioObjective(name, 1e9, 5e9))) for name in ("normalised", "uniform")]
    drawn = ratios_plot(law(), weightings)
    said = words(drawn)
    assert [text for text in said if text in law().names] == ["indic", "slavic", "germanic"]  # the largest first
    assert {"normalised", "uniform", "equal shares"} <= set(said)
    assert drawn == ratios_plot(law(), weightings)


def test_the_largest_shares_of_many() -> None:
    known = many(MOST_BARS + 5)
    said = words(ratios_plot(known, [("normalised", family_ratios(known, RatioObjective()))]))
    assert sum(text.startswith("family ") for text in said) == MOST_BARS
    assert any("5 smaller ones not shown" in text for text in said)


@pytest.mark.parametrize("name", ["$\\frac{$", "汉语 & <b>", "x" * 200])
def test_names_are_text(name: str) -> None:
    known = replace(law(), families=(family(name, 0.1, "full"),))
    said = words(fit_plot(known, runs_of(known)))
    assert any(text.startswith(name[:30]) for text in said)
