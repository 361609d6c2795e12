"""The pictures: one file, the same bytes each time, every family named, no name read as a formula."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.runners.law.conftest import Law
from tests.scoring.laws import family, law
from winnow.runners.report.law_plots import MOST_BARS, MOST_PANELS, fit_plot, ratios_plot
from winnow.schemas.law import ScalingLaw, law_to_json
from winnow.scoring.scaling_law.mixing import Question, family_ratios
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
    drawn = fit_plot(law(), runs_of(law()), "svg")
    said = words(drawn)
    assert [text for text in said if "gamma" in text] == [
        "germanic: gamma 0.0800",
        "indic: gamma 0.1500",
        "slavic: gamma 0.1000",
    ]
    assert "N 1e+08, D 1e+09" in said
    assert drawn == fit_plot(law(), runs_of(law()), "svg")
    assert b"<dc:date>" not in drawn


def test_more_families_than_fit_are_counted() -> None:
    known = many(MOST_PANELS + 3)
    said = words(fit_plot(known, runs_of(known), "svg"))
    assert sum("gamma" in text for text in said) == MOST_PANELS
    assert any("3 more families not shown" in text for text in said)


def test_a_plot_of_a_law_of_gamma_alone() -> None:
    assert fit_plot(law("gamma"), runs_of(law()), "png").startswith(b"\x89PNG")


def test_shares_of_every_weighting() -> None:
    weightings = [(name, family_ratios(law(), Question(name, 1e9, 5e9))) for name in ("normalised", "uniform")]
    drawn = ratios_plot(law(), weightings, "svg")
    said = words(drawn)
    assert [text for text in said if text in law().names] == ["indic", "slavic", "germanic"]  # the largest first
    assert {"normalised", "uniform", "equal shares"} <= set(said)
    assert drawn == ratios_plot(law(), weightings, "svg")


def test_the_largest_shares_of_many() -> None:
    known = many(MOST_BARS + 5)
    said = words(ratios_plot(known, [("normalised", family_ratios(known, Question()))], "svg"))
    assert sum(text.startswith("family ") for text in said) == MOST_BARS
    assert any("5 smaller ones not shown" in text for text in said)


@pytest.mark.parametrize("name", ["$\\frac{$", "汉语 & <b>", "x" * 200])
def test_names_are_text(name: str) -> None:
    known = replace(law(), families=(family(name, 0.1, "full"),))
    said = words(fit_plot(known, runs_of(known), "svg"))
    assert any(text.startswith(name[:30]) for text in said)


def test_the_command_writes_both_kinds(run: Law, law_file: str, tmp_path: Path) -> None:
    for file in ("ratios.svg", "ratios.PNG"):
        out = run("ratios", law_file, "--weights", "uniform", "--n", "1e9", "--d", "5e9", "--plot", file)
        assert out.splitlines()[-1] == f"plot   {file}"
    assert "normalised losses" in words((tmp_path / "ratios.svg").read_bytes())
    assert (tmp_path / "ratios.PNG").read_bytes().startswith(b"\x89PNG")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["law.json", "ratios.PNG", "ratios.svg"]


def test_a_users_settings_change_nothing(run: Law, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "law.json").write_bytes(law_to_json(law()))
    run("ratios", "law.json", "--plot", "one.svg")
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 9.0)
    run("ratios", "law.json", "--plot", "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
