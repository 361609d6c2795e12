"""A test that every step of a check skips is named; one that some step runs is not."""

import json
import subprocess
import sys
from pathlib import Path

from tests.outcomes import VARIABLE
from tools.unrun import unrun


def line(test: str, outcome: str, reason: str = "") -> str:
    return json.dumps({"test": test, "outcome": outcome, "reason": reason})


def test_what_a_later_step_runs_is_no_matter() -> None:
    steps = [
        line("tests/b.py", "skipped", "no torch"),
        line("tests/a.py::two", "skipped", "no peer"),
        line("tests/a.py::one", "skipped", "no model"),
        line("tests/b.py::inside", "ran"),
        line("tests/a.py::one", "ran"),
        line("tests/c.py", "skipped", "no reader"),
    ]
    assert unrun(steps) == {"tests/a.py::two": "no peer", "tests/c.py": "no reader"}


def test_pytest_writes_what_was_skipped_and_what_ran(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.outcomes import *\n")
    (tmp_path / "test_one.py").write_text(
        "import pytest\n"
        "def test_runs(): pass\n"
        "def test_skips(): pytest.skip('no model')\n"
        "@pytest.mark.skipif(True, reason='no system')\n"
        "def test_marked(): pass\n"
        "def test_fails(): assert 0\n"
        "@pytest.mark.xfail\n"
        "def test_expected(): assert 0\n"
    )
    (tmp_path / "test_whole.py").write_text("import pytest\npytest.skip('no torch', allow_module_level=True)\n")
    record = tmp_path / "record"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env={VARIABLE: str(record), "PYTHONPATH": str(root)}, check=False)
    found = [json.loads(one) for one in record.read_text().splitlines()]
    assert {(one["test"], one["outcome"], one["reason"]) for one in found} == {
        ("test_whole.py", "skipped", "no torch"),
        ("test_one.py::test_runs", "ran", ""),
        ("test_one.py::test_skips", "skipped", "no model"),
        ("test_one.py::test_marked", "skipped", "no system"),
        ("test_one.py::test_fails", "ran", ""),
        ("test_one.py::test_expected", "ran", ""),
    }
