"""`winnow law fit`: what it prints and writes, what it refuses, and that nothing is left half written."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages import assert_told, assert_told_each
from tests.runners.stages.law.conftest import EXAMPLE, Law
from tests.scoring.synthetic import TRUTHS, runs
from winnow.runners.stages.law.fitting import SMALL, fit_families
from winnow.schemas.law import law_from_json
from winnow.scoring.scaling_law.fitting import FitConfig, fit_law

FEW = ("--resamples", "30")


def test_a_full_fit_says_parameters_errors_ranges_and_both_tests(run: Law) -> None:
    out = run("fit", str(EXAMPLE), *FEW)
    lines = out.splitlines()
    assert lines[0] == f"{EXAMPLE.name}: 540 losses of 3 families"
    assert_told_each(
        lines[1:5],
        ("parameters", "30 resamples"),
        "  N     parameters without embeddings",
        "training tokens",
        "  loss  nats a token",
    )
    assert_told(lines[7], "parameter", "95 %", whole=True)
    assert [line.split()[:2] for line in lines[9:12]] == [
        ["Germanic", "gamma"],
        ["E", lines[10].split()[1]],
        ["A", lines[11].split()[1]],
    ]
    for title in ("Errors of the loss (mean absolute)", "Fitted range"):
        assert title in lines
    assert "Germanic  1e+07 to 1.6e+08  5e+08 to 8e+09  0.1 to 1" in lines
    independence = lines.index(
        "Does a family's loss depend on the other families' shares? The law assumes it does not."
    )
    assert lines[independence + 1].startswith("  Germanic  no contradiction found (p ")
    invariance = lines.index("Is gamma the same at every N and D? The law assumes it is.")
    assert "per tenfold N, " in lines[invariance + 1]


def test_the_law_file_holds_what_was_printed(run: Law, tmp_path: Path) -> None:
    described = json.loads(run("fit", str(EXAMPLE), *FEW, "--output", "law.json", "--json"))
    law = law_from_json((tmp_path / "law.json").read_bytes())
    assert [family["gamma"]["value"] for family in described["law"]["families"]] == [
        family.gamma.value for family in law.families
    ]
    assert set(described) == {"law", "two_stage", "independence", "invariance", "warnings"}
    assert all("draws" not in family for family in described["law"]["families"])
    assert law.provenance.source == EXAMPLE.name
    assert law.provenance.fingerprint.startswith("winnow ")
    assert law.provenance.note == ""
    assert described["two_stage"]["Indic"][0] == pytest.approx(0.15, abs=0.005)


def test_equal_runs_give_equal_files_whatever_their_order(run: Law, tmp_path: Path, small_csv: str) -> None:
    header, *rows = [line for line in (tmp_path / small_csv).read_text().splitlines() if not line.startswith("#")]
    (tmp_path / "turned").mkdir()
    (tmp_path / "turned" / "small.csv").write_text("\n".join([header, *reversed(rows)]) + "\n")
    for folder in (".", "turned"):
        table = str(Path(folder, "small.csv"))
        run("fit", table, "--mode", "gamma", *FEW, "--output", f"{folder}/law.json", "--plot", f"{folder}/fit.svg")
    one, two = (json.loads((tmp_path / folder / "law.json").read_text()) for folder in (".", "turned"))
    for law in (one, two):
        del law["units"]
    assert one == two


def test_gamma_alone_is_fitted_at_one_size(run: Law, small_csv: str) -> None:
    lines = run("fit", small_csv, "--mode", "gamma", *FEW).splitlines()
    assert lines[1] == "  fitted gamma alone; 30 resamples"
    assert lines[7] == "family    parameter                  value  95 % from       to"
    assert lines[10].split()[:6] == ["loss", "at", "N", "4e+07", "D", "2e+09"]
    assert_told(lines, "others as well")


def test_runs_that_are_missing_are_named(run: Law, small_csv: str) -> None:
    err = run("fit", small_csv, status=1)
    assert_told(err.splitlines()[0], "small.csv", "3 values", "4e+07", "2 more", "--mode", whole=True)


def test_a_family_that_one_typo_made_is_answered_with_the_nearest(run: Law, tmp_path: Path, small_csv: str) -> None:
    text = (tmp_path / small_csv).read_text()
    (tmp_path / "typo.csv").write_text(f"{text}germnic,4e7,2e9,1,2.5,9,typo\n")
    err = run("fit", "typo.csv", "--mode", "gamma", status=1)
    assert_told(err, "typo.csv", "gamma needs")
    assert_told(err.splitlines()[0], "you mean", "'Germanic'")


def test_the_two_stages_in_both_spellings(run: Law, tmp_path: Path, small_csv: str) -> None:
    for method, table in (("two-stage", (str(EXAMPLE),)), ("two_stage", (small_csv, "--mode", "gamma"))):
        run("fit", *table, *FEW, "--method", method, "--output", "law.json")
        assert law_from_json((tmp_path / "law.json").read_bytes()).provenance.method == "two_stage"


def test_more_resamples_than_a_large_table_bears_are_refused(run: Law) -> None:
    err = run("fit", str(EXAMPLE), "--resamples", "90000", status=1)
    assert_told(err, "--resamples", "90000", "540 losses", "most 37037", "20,000,000", whole=True)


def test_a_table_without_units_beside_one_with_them_is_warned_of(run: Law, tmp_path: Path, small_csv: str) -> None:
    lines = (tmp_path / small_csv).read_text().splitlines()
    plain = [line for line in lines if not line.startswith("#")]
    head = [line for line in lines if line.startswith("#")]
    slavic = [line for line in plain[1:] if line.split(",")[5] == "1"]
    others = [line for line in plain[1:] if line not in slavic]
    (tmp_path / "a.csv").write_text("\n".join([*head, plain[0], *others]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join([plain[0], *slavic]) + "\n")
    out = run("fit", "a.csv", "b.csv", "--mode", "gamma", *FEW)
    assert_told(out, "warning:", "b.csv", "unit.loss")


def test_an_assumption_that_the_runs_contradict_is_said_and_kept(run: Law, tmp_path: Path) -> None:
    rows = list(csv.DictReader(line for line in EXAMPLE.read_text().splitlines() if not line.startswith("#")))
    beside = {(row["run"], row["family"]): float(row["p"]) for row in rows}
    for row in rows:  # Slavic text teaches Germanic
        if row["family"] == "Germanic":
            row["loss"] = f"{float(row['loss']) * (1 - 0.05 * beside.get((row['run'], 'Slavic'), 0.0)):.4f}"
    with open(tmp_path / "runs.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    out = run("fit", "runs.csv", *FEW, "--output", "law.json")
    assert_told(out, "CONTRADICTED", "0.0015")
    note = law_from_json((tmp_path / "law.json").read_bytes()).provenance.note
    assert_told(note, "runs contradict independence")


def test_a_fit_at_its_bounds_warns(run: Law, tmp_path: Path, small_csv: str) -> None:
    lines = (tmp_path / small_csv).read_text().splitlines()
    flat = [line if line.startswith(("#", "family")) else _with_loss(line, "3") for line in lines]
    (tmp_path / "flat.csv").write_text("\n".join(flat) + "\n")
    out = run("fit", "flat.csv", "--mode", "gamma", *FEW)
    assert_told(out, "warning:", "lower bound")


def _with_loss(line: str, loss: str) -> str:
    cells = line.split(",")
    return ",".join([*cells[:4], loss, *cells[5:]])


@pytest.mark.processes
def test_processes_give_what_one_gives() -> None:
    truths = {name: TRUTHS[name] for name in ("germanic", "slavic")}
    table = runs(truths, 0.005)
    config = FitConfig(mode="gamma", resamples=SMALL // len(table) + 1)
    done: list[str] = []
    fit = fit_families(table, config, done.append)
    alone = fit_law(table, config)
    assert sorted(done) == ["germanic", "slavic"]
    assert [family.family for family in fit.families] == ["germanic", "slavic"]
    for family, other in zip(fit.families, alone.families, strict=True):
        assert family.parameters == pytest.approx(other.parameters, rel=1e-9)
        assert family.draws == pytest.approx(other.draws, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("small.csv", "small.csv"), "named twice"),
        (("nothing.csv",), "nothing.csv"),
        ((".",), "regular file"),
        (("small.csv", "--resamples", "3"), "--resamples 3: expected 20 to 100000"),
        (
            ("small.csv", "--seed", "99999999999999999999"),
            "--seed … 99999999999999999999 … below 9007199254740992",
        ),
        (("small.csv", "--output", f"{'x' * 300}.json"), f"--output … {'x' * 300}.json"),
        (("small.csv", "--min-seeds", "0"), "--min-seeds 0: expected 1 or more"),
        (("small.csv", "--output", "no/law.json"), "--output … no/law.json"),
        (("small.csv", "--output", "small.csv"), "--output … small.csv … small.csv"),
        (
            ("small.csv", "--plot", "fit.pdf"),
            "--plot … fit.pdf … SVG",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_work(
    run: Law, tmp_path: Path, small_csv: str, arguments: tuple[str, ...], complaint: str
) -> None:
    assert_told(run("fit", *arguments, status=1), complaint, whole=True)
    assert [file.name for file in tmp_path.iterdir()] == [small_csv]


def test_nothing_is_written_where_the_data_are_refused(run: Law, tmp_path: Path, small_csv: str) -> None:
    run("fit", small_csv, "--output", "law.json", "--plot", "fit.svg", status=1)
    assert [file.name for file in tmp_path.iterdir()] == [small_csv]


def test_a_table_that_is_no_text_is_refused(run: Law, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_bytes("family,N\nété,1\n".encode("latin-1"))
    assert_told(run("fit", "runs.csv", status=1), "runs.csv:2", "UTF-8", "CSV", "UTF-8", whole=True)


@pytest.mark.processes
def test_stdin_is_a_table(small_csv: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "winnow", "law", "fit", "-", "--mode", "gamma", *FEW]
    with open(tmp_path / small_csv) as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True)
    assert_told(done.stdout, "stdin:", "60 losses", "3 families")


@pytest.mark.processes
def test_without_scipy_one_line_says_what_to_install(tmp_path: Path, small_csv: str) -> None:
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from winnow.runners.commands.main import main\n"
        "sys.exit(main(['law', 'fit', 'small.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert_told(done.stderr, "winnow law fit", "scipy", "'winnow[law]'", whole=True)
