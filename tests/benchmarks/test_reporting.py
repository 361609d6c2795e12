"""What a benchmark reports is what was measured."""

import sys

import orjson
import pytest

from benchmarks.measuring.reporting import (
    GIB,
    Amounts,
    Limit,
    Measured,
    Report,
    Row,
    compared,
    measure,
    median_of,
    row_of,
    show,
    timed,
    wall_seconds,
)


def _took(wall: float, cpu: float = 1.0) -> Measured:
    return Measured(wall, cpu, GIB, 2 * GIB, "done")


def _run(startup: float, each: float, units: int) -> Measured:
    """A command whose time is a line over the units that it works on."""
    return _took(2 * (startup + each * units), startup + each * units)


def test_memory_and_time_of_children_count() -> None:
    child = "import time; held = bytearray(150 << 20); time.sleep(0.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True); print('done')"
    took = measure([sys.executable, "-c", parent])
    assert took.last_line == "done"
    assert 150 << 20 < took.peak_bytes <= took.peak_bytes_bound
    assert took.wall_seconds > 0.5


def test_a_command_too_short_to_be_sampled_took_time_all_the_same() -> None:
    assert measure([sys.executable, "-S", "-c", ""]).cpu_seconds > 0


def test_a_failing_command_says_what_it_wrote() -> None:
    with pytest.raises(SystemExit, match=r"(?s)no such case.*ended with status 3"):
        measure([sys.executable, "-c", "import sys; print('no such case', file=sys.stderr); sys.exit(3)"])


def test_the_median_run_is_kept() -> None:
    runs = iter([_took(3.0), _took(1.0), _took(2.0)])
    assert median_of(3, lambda: next(runs)).wall_seconds == 2.0


def test_a_ratio_is_ours_over_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(
        name="sorting",
        unit="rows/s",
        ours=300.0,
        peers={"bare": 100.0, "bare_small": 50.0},
        ours_for={"bare_small": 25.0},
        limit=Limit("peak memory", 1.5, 2, "GiB"),
        floors={"bare": 2},
        rows=[Row("ours", "600 rows", _took(2.0), 300.0)],
    )
    assert show(report, as_json=True) == 0
    result = orjson.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(result) == ["name", "ours", "unit", "peers", "limit", "ratios", "machine"]
    assert result["ratios"] == {"bare": 3.0, "bare_small": 0.5}


def test_a_quick_run_says_the_rate_of_the_full_one() -> None:
    quick = timed("ours", "rows", Amounts(2_000, 100_000, 100), lambda units: _run(10, 0.001, units))
    full = timed("ours", "rows", Amounts(100_000, 100_000, 100), lambda units: _run(10, 0.001, units))
    assert quick.rate == pytest.approx(full.rate) == pytest.approx(100_000 / 110)
    assert full.rate == pytest.approx(100_000 / full.measured.cpu_seconds)
    assert quick.startup is not None
    assert (quick.startup.seconds, quick.startup.rate) == pytest.approx((10, 1_000))
    assert quick.size == "2,000 rows"


def test_the_clock_may_be_that_of_the_wall() -> None:
    row = row_of("ours", "rows", Amounts(200, 200, 100), _run(1, 0.1, 200), _run(1, 0.1, 100), wall_seconds)
    assert row.rate == pytest.approx(200 / 42)


def test_a_run_that_is_no_slower_than_the_small_one_still_has_a_rate() -> None:
    row = row_of("ours", "rows", Amounts(200, 200, 100), _took(1, 10), _took(1, 11))
    assert row.rate == pytest.approx(20)
    assert row.startup is not None
    assert row.startup.rate == pytest.approx(1_000)


def test_ratios_are_said_with_and_without_startup(capsys: pytest.CaptureFixture[str]) -> None:
    amounts = Amounts(1_000, 1_000, 100)
    ours = timed("winnow", "rows", amounts, lambda units: _run(9, 0.001, units))
    theirs = timed("slow", "rows", amounts, lambda units: _run(0, 0.01, units))
    bare = Row("bare", "1,000 rows", _took(1), 50.0)
    report = compared("sorting", "rows/s", ours, {"slow": theirs, "bare": bare}, rows=[ours, theirs, bare])
    assert report.ratios == {"slow": 1.0, "bare": 2.0}
    assert report.ratios_after_startup == {"slow": 10.0}
    assert show(report, as_json=True) == 0
    said = capsys.readouterr().out
    assert "1.00 times slow, 10.00 times after start-up\n" in said
    result = orjson.loads(said.splitlines()[-1])
    assert result["ratios_after_startup"] == {"slow": 10.0}


@pytest.mark.parametrize(("ratio", "kept"), [(0.76, True), (0.74, False)])
def test_a_quick_run_may_miss_a_promise_by_a_quarter(ratio: float, kept: bool) -> None:
    assert Report("n", "u", ratio, {"peer": 1.0}, floors={"peer": 1}, quick=True).kept is kept


@pytest.mark.parametrize(
    "broken",
    [Report("n", "u", 1.0, {"peer": 1.0}, floors={"peer": 2}), Report("n", "u", 1.0, limit=Limit("m", 3, 2, "GiB"))],
)
def test_a_broken_promise_is_the_exit_status(broken: Report, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(broken, as_json=False) == 1
    assert capsys.readouterr().out
