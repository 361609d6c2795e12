"""Writes down what became of each test, so that a check in several steps can name the tests that no step ran.

`WINNOW_TEST_RECORD` names the file; `python -m tools.unrun FILE` reads it.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "WINNOW_TEST_RECORD"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One line for a test that was skipped, or that ran."""
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected:
        _write(report.nodeid, "skipped", report.longrepr)
    elif report.when == "call":
        _write(report.nodeid, "ran", None)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """One line for a file that was skipped as a whole."""
    if report.skipped:
        _write(report.nodeid, "skipped", report.longrepr)


def _write(test: str, outcome: str, why: Any) -> None:
    record = os.environ.get(VARIABLE)
    if not record or "PYTEST_XDIST_WORKER" in os.environ:  # its controller reports
        return
    reason = str(why[2]).removeprefix("Skipped: ") if isinstance(why, tuple) else ""
    with Path(record).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"test": test, "outcome": outcome, "reason": reason}) + "\n")
