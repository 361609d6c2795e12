"""What a benchmark reports is what was measured."""

import sys

import orjson
import pytest

from benchmarks.reporting import GIB, Limit, Measured, Report, Row, measure, median_of, show


def _took(wall_seconds: float) -> Measured:
    return Measured(wall_seconds, 1.0, GIB, 2 * GIB, "done")


def test_memory_and_time_of_children_count() -> None:
    child = "import time; held = bytearray(150 << 20); time.sleep(0.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True); print('done')"
    took = measure([sys.executable, "-c", parent])
    assert took.last_line == "done"
    assert 150 << 20 < took.peak_bytes <= took.peak_bytes_bound
    assert took.wall_seconds > 0.5


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


@pytest.mark.parametrize(
    "broken",
    [Report("n", "u", 1.0, {"peer": 1.0}, floors={"peer": 2}), Report("n", "u", 1.0, limit=Limit("m", 3, 2, "GiB"))],
)
def test_a_broken_promise_is_the_exit_status(broken: Report, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(broken, as_json=False) == 1
    assert capsys.readouterr().out
