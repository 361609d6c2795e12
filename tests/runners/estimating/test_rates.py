"""Rates: those that ship, and a file of the user's laid over them."""

from pathlib import Path

import pytest

from tests.messages import assert_refused
from winnow.runners.commands.main import main
from winnow.runners.estimating.rates import EngineRate, Rate, part_names, read_rates, shipped_rates
from winnow.runners.estimating.tables import measured_yaml
from winnow.schemas.errors import WinnowError


def test_shipped_rates_name_their_machine_and_every_engine() -> None:
    rates = shipped_rates()
    assert rates.machine
    assert {one.name for one in rates.engines} == {"local", "spark", "flink", "dataflow"}
    assert rates.of("ingest.main").name == "ingest.main"


def test_what_nobody_measured_has_the_rate_of_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text("rates: {export.other: {mb_per_second: 7}}")
    rates = read_rates(str(file))
    assert rates.of("export.strange") == Rate("export.other", 7)
    assert rates.of("url.strange").name == "other"


def test_a_file_is_laid_over_the_shipped_rates_name_by_name(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(
        "machine: ours\n"
        "engines: {spark: {work: 1.5, start_seconds: 20, measured: true}}\n"
        "rates: {text.gopher: {mb_per_second: 2.5, written: 0.25}}\n"
    )
    rates = read_rates(str(file))
    assert rates.machine == "ours"
    assert EngineRate("spark", 1.5, 20, True) in rates.engines
    assert rates.of("text.gopher") == Rate("text.gopher", 2.5, 0.25)
    assert rates.of("text.length") == shipped_rates().of("text.length")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rates: {text.gopher: {mb_per_second: 0}}", ":1: rates.text.gopher.mb_per_second: "),
        ("rates: {text.gopher: {speed: 3}}", r"unknown key 'speed'"),
        ("rates: [1]", r":1: "),
        ("rates: {text.gopher: {mb_per_second: .nan}}", r":1: "),
        ("- 1", r":1: "),
        ("rates:\n  text.gohper: {}", ":2 … rates.text.gohper … 'text.gopher'"),
        ("rates: {score.next_bite: {}}", "did you mean 'score.next_byte'"),
        ("engines: {sparc: {work: 2}}", ":1 … 'sparc'"),
        ('machine: "a\\e[31mred"', ":1 … machine"),
        ("", ":1 … `rates:`"),
        ("rates: {}\n---\nrates: {}", ":2 … second document"),
    ],
)
def test_what_is_no_rate_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(text)
    with assert_refused(WinnowError, said):
        read_rates(str(file))


def test_a_file_that_is_not_there_or_no_text_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "recipe.yaml").write_text(
        "version: 1\nstore: {path: s}\nsources: {a: {root: a, files: ['*'], class: web}}\n"
    )
    for name, said in (("gone.yaml", ": no such file; "), ("bytes", "not UTF-8")):
        assert main(["plan", str(tmp_path / "recipe.yaml"), "--rates", str(tmp_path / name)]) == 1
        assert said in capsys.readouterr().err


def test_every_shipped_rate_is_of_a_part_that_there_is() -> None:
    assert {one.name for one in shipped_rates().rates} <= part_names()


def test_the_rates_of_no_runs_are_a_file_of_rates_too(tmp_path: Path) -> None:
    file = tmp_path / "rates.yaml"
    file.write_text(measured_yaml([], shipped_rates()))
    assert read_rates(str(file)).rates == shipped_rates().rates
