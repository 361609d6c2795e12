"""`winnow law show` and `winnow law published`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.messages import assert_told, assert_told_each
from tests.runners.stages.law.conftest import Law
from tests.scoring.laws import law
from winnow.runners.stages.law.published import recomputed
from winnow.schemas.law import law_to_json


def test_a_law_for_a_person(run: Law, law_file: str) -> None:
    lines = run("show", law_file).splitlines()
    assert_told_each(
        lines[:8],
        "law.json: the law of 3 families",
        "  L = (E + A N^-alpha + B D^-beta) p^-gamma",
        "  N     parameters without embeddings (assumed)",
        "training tokens",
        "  loss  nats a token (assumed)",
        "",
        "Parameters",
        "family    parameter  value  95 % from     to",
    )
    assert lines[9:11] == [
        "germanic  gamma       0.08      0.072  0.088",
        "          E            1.2       1.08   1.32",
    ]
    assert "germanic  1e+08 to 1e+09  1e+09 to 5e+10  0.1 to 1" in lines
    assert "germanic    48      2  0.9900  0.01         -          -          -        0.004" in lines
    assert_told_each(
        lines[-6:-1],
        "Provenance",
        f"  runs       runs.csv, 144 losses, digest {'0' * 32}",
        ("losses beyond", "0.01"),
        "  intervals  95 % of 1,000 resamples, seed 0",
        "  draws      5 kept",
    )


def test_a_law_of_gamma_alone(run: Law, gamma_file: str) -> None:
    lines = run("show", gamma_file).splitlines()
    assert_told(lines[1], "alone fitted across", whole=True)
    assert lines[10].split() == ["loss", "at", "N", "1e+08", "D", "1e+09", "3", "2.7", "3.3"]


def test_parameters_at_their_bounds_warn(run: Law, tmp_path: Path) -> None:
    known = law()
    edged = replace(known.families[0], at_bounds=("alpha at its lower bound",))
    (tmp_path / "law.json").write_bytes(law_to_json(replace(known, families=(edged, *known.families[1:]))))
    last = run("show", "law.json").splitlines()[-1]
    assert_told(last, "warning:", "lower bound", whole=True)


def test_as_json_without_draws(run: Law, law_file: str) -> None:
    described = json.loads(run("show", law_file, "--json"))
    assert described["schema"] == 1
    assert [family["family"] for family in described["families"]] == ["germanic", "indic", "slavic"]
    assert "draws" not in described["families"][0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "law.json: not JSON ("),
        (b'{"schema": 1', "law.json: not JSON ("),
        (b'{"schema": 2}', "law.json … schema 1 … '2'"),
        (b"[]", "law.json … schema 1 … 'None'"),
        (b'{"schema": 1}', "law.json: missing required field mode"),
        (b"\xff\xfe", "law.json: not JSON ("),
    ],
)
def test_what_is_no_law(run: Law, tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "law.json").write_bytes(content)
    err = run("show", "law.json", status=1)
    assert_told(err, complaint)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("gamma", "value"), 1e300, "germanic: … expected 10"),
        (("gamma", "low"), -0.1, "germanic: … positive value"),
        (("bracket", "b", "high"), 1e308, "germanic: b: expected 4.6e+299 at most"),
        (("draws", 0, 0), 1e9, "germanic: … draws[0][0]"),
        (("draws", 0, 5), -3, "germanic: … draws[0][5] … above 0"),
    ],
)
def test_a_law_of_absurd_numbers(
    run: Law, tmp_path: Path, path: tuple[str | int, ...], value: float, complaint: str
) -> None:
    described = json.loads(law_to_json(law()))
    inner = described["families"][0]
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    (tmp_path / "law.json").write_text(json.dumps(described))
    assert_told(run("ratios", "law.json", status=1), "law.json", complaint, whole=True)


def test_no_law_at_all(run: Law) -> None:
    assert_told(run("show", "law.json", status=1), "law.json", whole=True)


def test_a_name_cannot_move_the_cursor(run: Law, tmp_path: Path) -> None:
    known = law()
    named = replace(known.families[0], family="\x1b[2Jgermanic")
    (tmp_path / "law.json").write_bytes(law_to_json(replace(known, families=(named, *known.families[1:]))))
    assert "\x1b" not in run("show", "law.json")


def test_what_is_published_is_computed_again_within_its_digits(run: Law) -> None:
    found = {row.what: row for row in recomputed()}
    assert all(row.low <= row.value <= row.high for row in found.values())
    assert all(row.high - row.low <= 0.006 for row in found.values())
    total = found["table 6: sum of the five cells"]
    assert (total.printed, total.verdict) == (5.946, "differs by 0.075")
    lines = run("published").splitlines()
    assert lines[6].split()[-4:] == ["0.0825", "0.0822", "0.0828", "-"]
    assert "Cannot be recomputed" in lines
    assert_told(lines[-1], "R2", "errors", whole=True)
    described = json.loads(run("published", "--json"))
    assert len(described["recomputed"]) == len(found)
    assert len(described["not_recomputed"]) == 6
