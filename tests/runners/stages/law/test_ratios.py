"""`winnow law ratios`: the optimum as it is printed and written, what lies beyond the runs, families without a law."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.runners.stages.law.conftest import Law
from tests.scoring.laws import GAMMAS, law
from winnow.runners.stages.law.files import write_files
from winnow.schemas.errors import WinnowError
from winnow.schemas.law import law_to_json
from winnow.scoring.scaling_law.mixing import RatioObjective, family_ratios


def test_normalised_ratios_beside_both_of_the_papers_forms(run: Law, law_file: str) -> None:
    lines = run("ratios", law_file).splitlines()
    assert_told_each(
        lines[:6],
        "normalised losses",
        ("95 %", "normalised loss"),
        "--------  ------  ---------  ------  -----------  --------  -----  ---------------",
        "germanic  0.2415     0.2415  0.2416       0.2510    0.2415   0.08             1.12",
        "indic     0.4549     0.4549  0.4549       0.4422    0.4549   0.15            1.125",
        "slavic    0.3036     0.3036  0.3036       0.3069    0.3036    0.1            1.127",
    )
    assert lines[7] == "total 3.3724, at equal shares 3.38714; reduction 0.01474 [0.01387, 0.01559]"
    assert_told_each(
        lines[9:12], "Sensitivity:", "cost of keeping", "--------  -----  ----------  ---------  ---------------"
    )
    assert [line.split()[0] for line in lines[12:18]] == ["germanic", "0.088", "indic", "0.165", "slavic", "0.11"]


def test_what_is_printed_is_what_python_gives(run: Law, law_file: str) -> None:
    described = json.loads(run("ratios", law_file, "--weights", "uniform", "--n", "850M", "--d", "5B", "--json"))
    found = family_ratios(law(), RatioObjective("uniform", 8.5e8, 5e9))
    assert described["ratios"]["shares"] == pytest.approx(found.shares, rel=1e-7)
    assert described["n"] == 8.5e8
    assert described["loss"] == "loss"
    assert described["warnings"] == []


def test_sizes_beyond_the_runs_warn_with_the_distance(run: Law, law_file: str) -> None:
    out = run("ratios", law_file, "--n", "7B", "--d", "1e12")
    assert_told(out, "warning:", "7e+09", "7 times", "1e+09")
    assert_told(out, "warning:", "1e+12", "20 times", "5e+10")


def test_a_share_below_the_runs_warns(run: Law, law_file: str, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("family,weight\ngermanic,0.01\nindic,0.98\nslavic,0.01\n")
    out = run("ratios", law_file, "--weights", "w.csv", "--n", "1e9", "--d", "5e9")
    assert_told(out, "warning:", "p 0.0105", "9.52 times", "value (0.1)")


def test_given_weights_need_not_sum_to_one_and_it_is_said(run: Law, law_file: str, tmp_path: Path) -> None:
    tables = []
    for number in (1, 4):
        rows = "".join(f"{name},{number * weight}\n" for name, weight in zip(GAMMAS, (0.5, 0.25, 0.25), strict=True))
        (tmp_path / "w.csv").write_text(f"family,weight\n{rows}")
        tables.append(run("ratios", law_file, "--weights", "w.csv", "--n", "1e9", "--d", "5e9"))
    one, four = (text.splitlines() for text in tables)
    assert [line.split()[:4] for line in one[3:6]] == [line.split()[:4] for line in four[3:6]]
    assert_told(four, "warning:", "4", "1")
    assert not any("weights sum" in line for line in one)


def test_families_without_an_exponent_get_the_stated_fallback(run: Law, law_file: str) -> None:
    lines = run("ratios", law_file, "--with", "turkic", "japonic").splitlines()
    assert lines[6].split() == ["japonic", "0.2000", *["-"] * 6]
    assert lines[7].split() == ["turkic", "0.2000", *["-"] * 6]
    assert_told(lines, "given equal shares")
    shares = [float(line.split()[1]) for line in lines[3:8]]
    assert sum(shares) == pytest.approx(1, abs=2e-4)
    iterated = [float(line.split()[5]) for line in lines[3:6]]
    assert iterated == shares[:3]


def test_the_fallback_by_what_there_is(run: Law, law_file: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("family,tokens\ngermanic,6B\nindic,1B\nslavic,2B\nturkic,1B\n")
    proportional = json.loads(run("ratios", law_file, "--tokens", "t.csv", "--fallback", "proportional", "--json"))
    assert proportional["others"] == {"turkic": pytest.approx(0.1)}
    assert proportional["fallback"] == "shares by proportional"
    even = json.loads(run("ratios", law_file, "--tokens", "t.csv", "--d", "10B", "--json"))
    assert even["others"] == {"turkic": pytest.approx(0.25)}
    assert even["fallback"] == "shares by unimax 4"


def test_shares_as_a_table(run: Law, law_file: str, tmp_path: Path) -> None:
    out = run("ratios", law_file, "--with", "turkic", "--csv", "shares.csv")
    assert out.splitlines()[-1] == "shares shares.csv"
    with open(tmp_path / "shares.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["family"] for row in rows] == ["germanic", "indic", "slavic", "turkic"]
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1)
    assert float(rows[0]["low"]) < float(rows[0]["share"]) < float(rows[0]["high"])
    assert (rows[3]["low"], rows[3]["method"]) == ("", "equal shares")


def test_a_law_of_gamma_alone_needs_no_size_for_normalised_losses(run: Law, gamma_file: str) -> None:
    assert "normalised loss" in run("ratios", gamma_file, "--n", "3e8", "--d", "1e9").splitlines()[1]
    assert (
        run("ratios", gamma_file, "--weights", "uniform", "--n", "1e8", "--d", "1e9").splitlines()[1].endswith(" loss")
    )
    err = run("ratios", gamma_file, "--weights", "uniform", "--n", "3e8", "--d", "1e9", status=1)
    assert_told(err, "germanic:", "3e+08", "1e+09")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--weights", "uniform"), "--weights … --n … --d"),
        (("--weights", "evenly"), "--weights … expected uniform"),
        (("--weights", "w.csv"), "w.csv … 'indik' … 'indic'"),
        (("--weights", "few.csv"), "few.csv … 'germanic' … 'slavic'"),
        (("--n", "-1"), "--n … -1 … 1"),
        (("--with", "indic"), "--with … 'indic'"),
        (("--with", "turkic", "--fallback", "proportional"), "--fallback … --tokens"),
        (("--csv", "law.json"), "--csv … law.json"),
        (("--csv", "x.svg", "--plot", "x.svg"), "--plot … x.svg … --csv"),
        (("--csv", "no/shares.csv"), "--csv … no/shares.csv"),
    ],
)
def test_what_cannot_be_answered(
    run: Law, law_file: str, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "w.csv").write_text("family,weight\ngermanic,1\nindik,1\nslavic,1\n")
    (tmp_path / "few.csv").write_text("family,weight\nindic,1\n")
    err = run("ratios", law_file, *arguments, status=1)
    assert_told(err, complaint)
    assert err.count("\n") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["few.csv", "law.json", "w.csv"]


def test_sizes_that_a_refusal_prints_can_be_asked(run: Law, tmp_path: Path) -> None:
    known = law("gamma")
    odd = [replace(family, cells=(replace(family.cells[0], n=123456789.0),)) for family in known.families]
    (tmp_path / "odd.json").write_bytes(law_to_json(replace(known, families=tuple(odd))))
    ask = ("ratios", "odd.json", "--weights", "uniform", "--d", "1e9", "--n")
    assert_told(run(*ask, "3e8", status=1), "N 123456790", "1e+09")
    for n in ("123456790", "1.23457e8"):
        run(*ask, n)


def test_no_file_is_written_where_another_cannot_be(run: Law, law_file: str, tmp_path: Path) -> None:
    before = sorted(file.name for file in tmp_path.iterdir())
    with assert_refused(WinnowError, "no/b", "directory"):
        write_files([(tmp_path / "a", b"a"), (tmp_path / "no" / "b", b"b")])
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    run("ratios", law_file, "--csv", "ok.csv", "--plot", f"{'x' * 300}.svg", status=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == before


@pytest.mark.processes
def test_a_law_file_is_read_without_scipy_and_beam(law_file: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("family,tokens\ngermanic,6B\nindic,1B\n")
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['apache_beam'] = None\n"
        "from winnow.runners.commands.main import main\n"
        "parts = ['ratios'], ['show'], ['compare', '--tokens', 't.csv']\n"
        "sys.exit(sum(main(['law', part, 'law.json', *more]) for part, *more in parts))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_the_command_writes_svg_and_nothing_else(run: Law, law_file: str, tmp_path: Path) -> None:
    asked = ("ratios", law_file, "--weights", "uniform", "--n", "1e9", "--d", "5e9", "--plot")
    assert run(*asked, "ratios.SVG").splitlines()[-1] == "plot   ratios.SVG"
    assert b">normalised losses</text>" in (tmp_path / "ratios.SVG").read_bytes()
    run(*asked, "ratios.png", status=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["law.json", "ratios.SVG"]
